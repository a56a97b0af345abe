// What can be undone: documents of before, with what was chosen then.

const MOST = 500;

export class History {
  constructor() {
    this.undone = [];
    this.done = [];
    this.group = null;
  }

  /** Notes the state before a change; changes of one group that follow each other are one step. */
  note(state, group = null) {
    this.undone = [];
    if (group && group === this.group) return;
    this.group = group;
    this.done.push(state);
    if (this.done.length > MOST) this.done.shift();
  }

  /** What follows begins a step of its own. */
  close() {
    this.group = null;
  }

  /** The state before the last step, or undefined; `state` is the present one. */
  undo(state) {
    this.close();
    const found = this.done.pop();
    if (found) this.undone.push({ ...state, label: found.label });
    return found;
  }

  redo(state) {
    this.close();
    const found = this.undone.pop();
    if (found) this.done.push({ ...state, label: found.label });
    return found;
  }

  /** Takes the last step back for good: it was begun and not meant. */
  drop() {
    this.close();
    return this.done.pop();
  }
}
