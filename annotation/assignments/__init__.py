"""Assignments: who labels which item, and exactly N raters for each item.

* Planned rounds: `planning.py` gives each pair of raters equally many items, by seed and within quotas. A unique
  constraint on round, item, and slot keeps N.
* Pools: a rater walks through the round's order once (`labeling/actions/next_item.py`). The item's row is locked with
  SKIP LOCKED, and expired leases are released. Slots that became free behind a rater are found at the end.
* Leaving: `rounds/actions/raters.py` locks the round, withdraws unfinished assignments, and gives their slots to raters
  who never had the item. What nobody can take is counted as free. Held and free slots add up to N.
* Third raters and model raters have no slot. Training items go to every rater.

Only `actions/states_and_leases.py` moves an assignment from one state to another.
"""
