"""Queue position of an adjudicator: the round, and its queue as they have filtered it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from accounts.models import User
from annotation.assignments.actions.reading_log import PAGE, note_reading
from annotation.core.access import ADJUDICATOR, OWNER, Seat, get_round, get_seat
from annotation.models import Resolution, Round
from annotation.resolving.queries import queue as queries
from annotation.resolving.queries.queue import Queue, QueueFilter, queue_of
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree


@dataclass(frozen=True)
class QueuePosition:
    """Where an adjudicator is: a round, as they have narrowed its queue."""

    seat: Seat
    round: Round
    tree: VersionTree
    narrowed: QueueFilter
    walk: str = ""

    @property
    def decides(self) -> bool:
        """Whether this person decides here; raters of the round look on and discuss."""
        return self.seat.has_role(ADJUDICATOR, OWNER)

    @property
    def hidden(self) -> frozenset[int]:
        """Items of the round of which nothing is shown, because this person is to answer them as an arbiter."""
        return self.seat.withheld_in(self.round)

    def queue_url(self, **more: str) -> str:
        return add_queries(reverse("resolve", args=[self.seat.study.slug, self.round.number]), self._asked | more)

    def item_url(self, item: int, **more: str) -> str:
        return add_queries(
            reverse("resolve_item", args=[self.seat.study.slug, self.round.number, item]), self._asked | more
        )

    def elsewhere(self, decision: Resolution) -> str:
        """The place of an earlier decision, in whatever round of the study it was taken."""
        address = reverse("resolve_item", args=[self.seat.study.slug, decision.round.number, decision.item_id])
        return add_queries(address, {"place": f"{decision.part}.{decision.dimension.key}"})

    @property
    def _asked(self) -> dict[str, str]:
        return {"dimension": self.narrowed.dimension, "clash": self.narrowed.clash, "walk": self.walk}

    def queue(self) -> Queue:
        """What waits, without the items that this person is yet to answer as a third rater."""
        return queue_of(self.round).without(self.hidden)

    def hue(self, key: str) -> int:
        return self.tree.by_key[key].position % 8 + 1

    @property
    def context(self) -> dict[str, object]:
        place = {"seat": self.seat, "study": self.seat.study, "round": self.round, "narrowed": self.narrowed}
        return place | {"decides": self.decides}


def queue_position(request: HttpRequest, slug: str, number: int) -> QueuePosition:
    seat = get_seat(cast(User, request.user), slug)
    round_ = get_round(seat, number)
    seat.require_discussion(round_)
    tree = published_version(round_.taxonomy_version_id)
    dimension = request.GET.get("dimension", "")
    narrowed = QueueFilter(dimension, request.GET.get("clash", "")) if dimension in tree.by_key else QueueFilter()
    walk = request.GET.get("walk", "")
    return QueuePosition(seat, round_, tree, narrowed, walk if walk in ("all", "flagged") else "")


def log_reading(here: QueuePosition) -> None:
    """Records that someone reads answers of the round; called once it is known that they are shown."""
    note_reading(here.seat, [here.round], "answers on the resolving pages", PAGE)


def may_look(here: QueuePosition) -> bool:
    """Answers are shown when the round is over, or item by item where the study says so."""
    if here.round.state == Round.State.OPEN:
        return here.seat.study.is_resolved_by_item
    return here.round.state not in (Round.State.DRAFT, Round.State.UNDONE)


def add_queries(address: str, asked: Mapping[str, str]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"{address}?{query}" if query else address


def clash_words(here: QueuePosition, key: str, clash: str) -> str:
    return queries.clash_words(here.tree.by_key[key], clash)


def clash_at(here: QueuePosition) -> str:
    return clash_words(here, here.narrowed.dimension, here.narrowed.clash) if here.narrowed.clash else ""
