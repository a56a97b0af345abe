"""Resolving page of one item: the issue, its labels, and the open disagreement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from annotation.core.access import OWNER
from annotation.core.errors import NotFound, WrongState
from annotation.discussion.queries import AnswersTable
from annotation.labels import resolution_options
from annotation.labels.consensus import Decision, Verdict
from annotation.labels.queries.resolution_facts import arbiters_of
from annotation.labels.queries.verdicts import round_verdicts
from annotation.labels.resolution_methods import MEETING, majority, third_answers
from annotation.labels.resolution_notes import NO_NOTES, NOTES, ResolutionNotes
from annotation.models import Item, Meeting, Resolution
from annotation.resolving.queries import queue as queries
from annotation.resolving.queries.queue import Queue, QueueFilter
from annotation.resolving.views.item_discussion import discussion, neighbors
from annotation.resolving.views.queue_position import QueuePosition, clash_at
from annotation.resolving.views.third_raters_and_faults import matching, side_panel
from ingest.queries import closing_changes
from taxonomy.queries import published_version
from taxonomy.tree import TreeCategory, TreeDimension

BEHIND, AHEAD = 12, 40
METHODS: Mapping[str, str] = {
    MEETING: "discussed in a meeting",
    Resolution.Method.DISCUSSION: "discussion",
    Resolution.Method.THIRD_RATER: "third rater",
    Resolution.Method.MAJORITY: "majority",
    Resolution.Method.OWNER: "the owner’s decision",
    Resolution.Method.IMPORTED: "imported",
    Resolution.Method.REOPENED: "reopened",
    Resolution.Method.ADJUDICATOR: "adjudicator",
}
STATED = {
    Resolution.Method.THIRD_RATER: "Third rater’s label",
    Resolution.Method.MAJORITY: "Majority of the raters",
    Resolution.Method.OWNER: "Owner’s decision",
}
"""What can be stated of a resolution, where it is so; without it Concord looks at the remarks."""


@dataclass
class FilledForm:
    """What was filled in, to be shown again with what is wrong with it."""

    choice: str = ""
    other: Sequence[str] = ()
    several: Sequence[str] = ()
    method: str = ""
    notes: ResolutionNotes = NO_NOTES
    held_on: str = ""
    participants: str = ""
    errors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_stale: bool = False


def room(
    here: QueuePosition,
    item: Item,
    *,
    wanted: str = "",
    filled: FilledForm | None = None,
    just: Mapping[str, str] | None = None,
    only_decision: bool = False,
) -> dict[str, object]:
    """Everything on an item's page; `wanted` is the place to be decided (part.dimension), else the first open one."""
    standing = next(iter(round_verdicts(here.round, items=[item.pk])), None)
    if standing is None:
        raise NotFound(f"{item.identifier} is not in round {here.round.number}.")
    if not standing.is_complete:
        raise WrongState(f"The raters of {item.identifier} have not finished it yet.")
    waiting = here.queue()
    heard = queries.voices(here.round, item)
    told, met = queries.history(here.round, item)
    place = _place_at(standing.verdicts, here.narrowed, wanted)
    context = here.context | _queue_column(here, waiting, item)
    context |= {
        "item": item,
        "queue": waiting,
        "queue_url": here.queue_url(),
        "just": just,
        "n_parts": max((verdict.part for verdict in standing.verdicts), default=1),
        "rows": [_row(here, item, verdict, verdict is place) for verdict in standing.verdicts],
        "place": _place(here, item, place, heard, told, met, filled or FilledForm()) if place else None,
        "clash": clash_at(here),
    }
    talk = discussion(here, item, standing, place)
    context |= talk | {"flags": _flags(cast(AnswersTable, talk["table"]), place)}
    if here.decides and any(voice.n_parts > 1 for voice in heard.values()):
        context["matching"] = matching(here, item)
    if not only_decision:
        snapshot, comments = queries.what_was_read(item, heard)
        is_newest = snapshot is None or item.issue is None or item.issue.current_snapshot_id == snapshot.pk
        context |= {
            "issue": item.issue,
            "snapshot": snapshot,
            "comments": comments,
            "closing_changes": closing_changes(item.issue) if item.issue else [],
            "changed_since": not is_newest,
            "read_otherwise": [v.code for v in heard.values() if snapshot and v.snapshot not in (None, snapshot.pk)],
        }
    return context


def _place_at(verdicts: Sequence[Verdict], narrowed: QueueFilter, wanted: str) -> Verdict | None:
    """The verdict that is asked for, else the first open one (of the narrowed dimension first), disputed one, any."""
    part, _, key = wanted.partition(".")
    asked = [verdict for verdict in verdicts if str(verdict.part) == part and verdict.dimension == key]
    waiting = [verdict for verdict in verdicts if verdict.state == "open"]
    fitting = [verdict for verdict in waiting if verdict.dimension == narrowed.dimension]
    disputed = [verdict for verdict in verdicts if verdict.reason is not None]
    return next(iter([*asked, *fitting, *waiting, *disputed, *verdicts]), None)


def _flags(table: AnswersTable, place: Verdict | None) -> list[tuple[str, str]]:
    """Who wants to talk about the item, with the memo where it does not stand under an answer anyway."""
    said = {given.memo for given in place.ratings} if place else set()
    return [(each.code, "" if each.memo in said else each.memo) for each in table.columns if each.is_flagged]


def _queue_column(here: QueuePosition, waiting: Queue, item: Item) -> dict[str, object]:
    """The items around this one, as far as the queue is narrowed to them, and those before and behind."""
    before, onwards = neighbors(here, waiting, item) or waiting.around(item.pk, here.narrowed)
    own = [line for line in onwards if line.item == item.pk]
    ahead = onwards[len(own) :]
    shown = [*before[-BEHIND:], *own, *ahead[:AHEAD]]
    return {
        "lines": [(line, here.item_url(line.item), line.item == item.pk) for line in shown],
        "n_before": max(len(before) - BEHIND, 0),
        "n_behind": max(len(ahead) - AHEAD, 0),
        "previous_item_url": here.item_url(before[-1].item) if before else "",
        "next_item_url": here.item_url(ahead[0].item) if ahead else "",
        "n_left": len(waiting.selected(here.narrowed, "open")),
        "n_decided": waiting.n_places - waiting.n_open,
    }


def _row(here: QueuePosition, item: Item, verdict: Verdict, is_here: bool) -> dict[str, object]:
    """A verdict as a line under the one that is being decided."""
    dimension = here.tree.by_key[verdict.dimension]
    return {
        "verdict": verdict,
        "title": dimension.title,
        "hue": here.hue(verdict.dimension),
        "words": "" if verdict.state == "open" else _stands(dimension, verdict),
        "url": here.item_url(item.pk, place=f"{verdict.part}.{verdict.dimension}"),
        "is_here": is_here,
    }


def _stands(dimension: TreeDimension, verdict: Verdict) -> str:
    if verdict.decision is not None and verdict.decision.no_part:
        return resolution_options.no_part_words(verdict.part)
    return resolution_options.value_words(dimension, verdict.values or ())


def _place(
    here: QueuePosition,
    item: Item,
    verdict: Verdict,
    heard: Mapping[str, queries.RaterContext],
    told: Mapping[tuple[int, str], Sequence[Decision]],
    met: Mapping[int, Meeting],
    filled: FilledForm,
) -> dict[str, object]:
    """The place to be decided: the answers side by side, what else can be chosen, and what was decided before."""
    dimension = here.tree.by_key[verdict.dimension]
    earlier = told.get((verdict.part, verdict.dimension), ())
    columns = resolution_options.options(dimension, verdict, heard, decided=earlier[0].values if earlier else ())
    if not filled.choice and earlier and earlier[0].method != Resolution.Method.REOPENED:
        filled.choice, filled.other = _as_chosen(columns, earlier[0])
    return {
        "verdict": verdict,
        "dimension": dimension,
        "hue": here.hue(verdict.dimension),
        "options": columns,
        "is_wide": len(columns) > 2,
        "reason": resolution_options.reason_words(verdict, heard, _before_words(verdict)),
        "has_other": not dimension.is_two_valued,
        "has_none": all(option.value != "[]" for option in columns) and (verdict.reason != "parts" or dimension.is_set),
        "none_words": resolution_options.none_words(dimension),
        "other_chosen": filled.choice == "other",
        "other_text": filled.other[0] if filled.other and not dimension.has_categories else "",
        "other_keys": filled.other or _shared(columns) if dimension.is_set else filled.other,
        "filled": filled,
        "told": [_told(dimension, verdict.part, decision, met) for decision in earlier],
        "notes": [
            {"name": name, "note": NOTES[name], "words": words, "errors": filled.errors.get(name, ())}
            for name, words in filled.notes.columns().items()
        ],
        "methods": _methods(here, item, verdict) if here.decides else [],
        "expected": Resolution.public_id_of(earlier[0].id) if earlier else "",
        "action": here.item_url(item.pk),
        "several": _several(columns) if dimension.is_set else [],
        "several_keys": filled.several or _shared(columns),
    } | (side_panel(here, item, verdict) if here.decides else {})


def _before_words(verdict: Verdict) -> str:
    """The label of an earlier round that a worklist disagrees with, in the words of its own version."""
    origin = verdict.replaces.origin if verdict.replaces else None
    if origin is None:
        return ""
    return resolution_options.value_words(published_version(origin.version_id).by_key[verdict.dimension], origin.values)


def _several(columns: Sequence[resolution_options.ResolutionOption]) -> list[TreeCategory]:
    """The categories at stake, where more than one can count."""
    found = {category.key: category for option in columns for category in option.categories}
    return sorted(found.values(), key=lambda category: category.position) if len(found) > 1 else []


def _shared(columns: Sequence[resolution_options.ResolutionOption]) -> Sequence[str]:
    """Where several categories count, those that all raters gave are set already."""
    return sorted(columns[0].shared) if columns else ()


def _as_chosen(columns: Sequence[resolution_options.ResolutionOption], decision: Decision) -> tuple[str, Sequence[str]]:
    """An earlier decision as the form would have sent it."""
    if decision.no_part:
        return resolution_options.NO_PART, ()
    values = decision.values
    value = resolution_options.as_value(values)
    if not values or any(option.value == value for option in columns):
        return value, ()
    return "other", [str(each) for each in values]


def _methods(here: QueuePosition, item: Item, verdict: Verdict) -> list[tuple[str, str]]:
    """What can be stated of a resolution at this place: what its answers and the person's roles bear out; one query."""
    arbiters = arbiters_of(here.round, [item.pk]).get(item.pk, set())
    fits = {
        Resolution.Method.THIRD_RATER: bool(third_answers(verdict.ratings, arbiters)),
        Resolution.Method.MAJORITY: majority(verdict.ratings) is not None,
        Resolution.Method.OWNER: here.seat.has_role(OWNER),
    }
    return [(method, words) for method, words in STATED.items() if fits[method]]


def _told(dimension: TreeDimension, part: int, decision: Decision, met: Mapping[int, Meeting]) -> dict[str, object]:
    is_reopened = decision.method == Resolution.Method.REOPENED
    words = (
        resolution_options.no_part_words(part)
        if decision.no_part
        else resolution_options.value_words(dimension, decision.values)
    )
    return {
        "words": "Reopened" if is_reopened else words,
        "is_reopened": is_reopened,
        "method": METHODS[decision.method],
        "meeting": met.get(decision.id),
        "notes": decision.notes.stated(),
        "by": resolution_options.decided_by(decision.method, decision.decided_by),
        "at": decision.decided_at,
    }
