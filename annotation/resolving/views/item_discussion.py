"""Discussion part of an item page: comments, all labels side by side, and who else is there."""

import json
from collections.abc import Sequence
from hashlib import sha256

from django.core.cache import cache
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from annotation.discussion import queries
from annotation.discussion.mentions import mark_mentions
from annotation.discussion.queries import AnswersTable, DiscussionItem, DiscussionProgress, MemberNames
from annotation.labels.consensus import Verdict
from annotation.labels.queries.verdicts import ItemVerdicts
from annotation.labels.resolution_options import as_value
from annotation.models import Annotation, Assignment, Item, Membership, Remark, Resolution, Round
from annotation.resolving.queries.queue import Queue, QueueLine
from annotation.resolving.views.queue_position import QueuePosition
from ingest.rendering.markdown import render_markdown
from shared.foreign_requests import is_opened_elsewhere
from taxonomy.kinds import LONGEST_TEXT

HERE_SECONDS = 30
MOST_REMARKS = 200
"""On the page of an item; REST has all."""


def discussion(here: QueuePosition, item: Item, standing: ItemVerdicts, place: Verdict | None) -> dict[str, object]:
    """What the page of an item shows of the discussion: thread, table of answers, one's own answer; nine queries."""
    taking_part = queries.people(here.seat, here.round)
    found = queries.remarks(here.round, item)
    said = list(reversed(found.reverse()[: MOST_REMARKS + 1]))
    n_remarks = len(said) if len(said) <= MOST_REMARKS else found.count()
    said = said[-MOST_REMARKS:]
    table = queries.answers_table(here.seat, here.round, item, standing.verdicts)
    own = queries.own_answer(here.seat, here.round, item)
    return {
        "table": table,
        "people": taking_part,
        "names": taking_part.names_of_codes,
        "remarks": [remark(here, each, taking_part) for each in said],
        "n_remarks": n_remarks,
        "n_earlier": n_remarks - len(said),
        "to_mention": taking_part.to_mention(here.seat.membership.pk if here.seat.membership else None),
        "places": places(here, standing.verdicts, place),
        "longest_remark": LONGEST_TEXT,
        "after": said[-1].public_id if said else "",
        "own": _own(here, item, own, table, place),
        "talk_urls": {name: url(here, item, f"discuss_{name}") for name in ("say", "take")},
    } | news(here, item, taking_part, queries.newest(here.round, item), said[-1].pk if said else 0)


def url(here: QueuePosition, item: Item, name: str) -> str:
    return reverse(name, args=[here.seat.study.slug, here.round.number, item.pk])


def places(here: QueuePosition, verdicts: Sequence[Verdict], place: Verdict | None) -> list[tuple[str, str, bool]]:
    """What a remark can be about: the item, or one place; the one that is looked at is chosen."""
    several = any(verdict.part > 1 for verdict in verdicts)
    found = [("", "the whole item", place is None)]
    for verdict in verdicts:
        title = here.tree.by_key[verdict.dimension].title
        words = f"{title}, bug {verdict.part}" if several else title
        found.append((f"{verdict.part}.{verdict.dimension}", words, verdict is place))
    return found


def remark(here: QueuePosition, remark: Remark, taking_part: MemberNames) -> dict[str, object]:
    about = here.tree.by_key[remark.dimension.key] if remark.dimension else None
    html: SafeString = mark_safe(mark_mentions(render_markdown(remark.text), taking_part.by_name))  # sanitised there
    return {
        "id": remark.public_id,
        "code": remark.author.code or "",
        "label": taking_part.label(remark.author),
        "html": html,
        "about": about.title if about else "",
        "hue": here.hue(about.key) if about else 0,
        "part": remark.part,
        "at": remark.created_at,
        "is_own": here.seat.membership is not None and remark.author_id == here.seat.membership.pk,
    }


def _own(
    here: QueuePosition, item: Item, own: Assignment | None, table: AnswersTable, place: Verdict | None
) -> dict[str, object] | None:
    """One's own answer at the place that is looked at, and where to change it."""
    if own is None or own.current is None:
        return None
    column = next((number for number, each in enumerate(table.columns) if each.is_own), None)
    row = next((r for r in table.rows if place and (r.part, r.dimension) == (place.part, place.dimension)), None)
    cell = row.cells[column] if row is not None and column is not None else None
    may_change = here.round.state == Round.State.RESOLVING
    return {
        "words": "skipped" if own.current.skip_reason else (cell.words if cell and cell.words else "no label here"),
        "blind": cell.blind if cell else "",
        "value": as_value(cell.values) if cell and cell.values is not None else "",
        "revision": own.current.revision,
        "may_change": may_change,
        "may_take": may_change and place is not None and not own.current.skip_reason,
        "url": reverse("label_one", args=[here.seat.study.slug, here.round.number, own.public_id]),
    }


def news(
    here: QueuePosition,
    item: Item,
    taking_part: MemberNames,
    since: DiscussionProgress,
    after: int,
    meanwhile: queries.ConcurrentChange | None = None,
) -> dict[str, object]:
    """Who else looks at the item now, what happened meanwhile, and where to ask again."""
    present = [taking_part.words(each) for each in _present(here, item, taking_part)]
    decided, answered = (meanwhile.decided, meanwhile.answered) if meanwhile else ((), ())
    sentences = [f"{who} resolved “{title}” while you were reading." for who, title in dict.fromkeys(decided)]
    sentences += [
        f"{taking_part.words(rater)} {'changed their label' if revision > 1 else 'labeled this issue'}."
        for rater, revision in answered
    ]
    mark = sha256(json.dumps([present, sentences]).encode()).hexdigest()[:16]
    resolution, answer = Resolution.public_id_of(since.resolution), Annotation.public_id_of(since.annotation)
    asked = f"after={Remark.public_id_of(after)}&decided={resolution}&answered={answer}&told={mark}"
    return {
        "present": present,
        "meanwhile": sentences,
        "mark": mark,
        "news_url": f"{url(here, item, 'discuss_news')}?{asked}",
        "item_url": here.item_url(item.pk),
    }


def _present(here: QueuePosition, item: Item, taking_part: MemberNames) -> list[Membership]:
    """Others who look at the item now; and says that this person does. Kept for half a minute.

    A page of another site can open an address without its reader, so it says nothing.
    """
    own = here.seat.membership.pk if here.seat.membership else 0
    keys = {f"here:{here.round.pk}:{item.pk}:{each.pk}": each for each in taking_part.members if each.user_id}
    if not is_opened_elsewhere():
        cache.set(f"here:{here.round.pk}:{item.pk}:{own}", 1, HERE_SECONDS)
    found = cache.get_many([key for key, each in keys.items() if each.pk != own])
    return [each for key, each in keys.items() if key in found]


def neighbors(
    here: QueuePosition, waiting: Queue, item: Item
) -> tuple[list[QueueLine | DiscussionItem], list[QueueLine | DiscussionItem]] | None:
    """The items before this one and from it on, where one goes through all or the flagged ones; else None."""
    if not here.walk:
        return None
    rows = queries.round_items(here.round, flagged=here.walk == "flagged", without=here.hidden)
    before, onwards = queries.neighboring_items(here.round, rows, item)
    differing = {line.item: line for line in waiting.lines}
    return [differing.get(each.item, each) for each in before], [differing.get(each.item, each) for each in onwards]
