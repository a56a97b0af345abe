"""Existing data that an import needs: people, items, and stored answers."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any, TypeVar

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Lower

from accounts.models import User
from annotation.core.access import Seat
from annotation.imports.sheets import ItemName
from annotation.labels.consensus import PENDING, Values
from annotation.labels.queries.verdicts import resolution_values
from annotation.models import Assignment, Item, Membership, Resolution, Round, RoundItem, Spelling, Study
from annotation.models.assignment_kinds import THIRD_RATERS
from ingest.models import Issue, Repository, lower_name, names_after
from shared.names import folded
from taxonomy.tree import VersionTree

CODE = re.compile(r"R[1-9]\d{0,4}")
CHUNK = 1_000
REPOSITORIES_AT_ONCE = 50


def decided_spellings(seat: Seat) -> dict[tuple[str, str], str]:
    """Dimension key and spelling → the category's key, "PENDING" or "" for no rating, as was decided last.

    Only this person's own decisions while answers are hidden from them: others decide about values of their sheets.
    """
    rows = Spelling.objects.filter(study=seat.study).order_by("pk")
    if seat.sealed_round_ids or seat.withheld:
        rows = rows.filter(decided_by=seat.user)
    return {(each.dimension_key, each.spelling): PENDING if each.is_pending else each.category_key for each in rows}


def are_under_way(study: Study, items: Any, *, apart: Collection[Round]) -> bool:
    """Whether one of these items (ids, or a query) is in a round that is open or resolving, and not `apart`; one query.

    Nobody shall tell from what follows which items are in a relabeling queue: of one all items count that it can hold,
    those of rounds before it.
    """
    rounds = Round.objects.filter(study=study).exclude(pk__in=[each.pk for each in apart])
    under_way = rounds.filter(state__in=[Round.State.OPEN, Round.State.RESOLVING])
    return RoundItem.objects.filter(round__in=_rounds_of(rounds, under_way), item__in=items).exists()


def are_being_labeled(study: Study, items: Collection[int]) -> bool:
    """The same, but resolving rounds of sheets count only for items that a third rater still has to answer; one query.

    Nobody else labels anything there.
    """
    rounds = Round.objects.filter(study=study)
    of_sheet = Q(opened_at=F("resolving_at"))  # as `Round.is_from_sheet`
    under_way = rounds.filter(Q(state=Round.State.OPEN) | (Q(state=Round.State.RESOLVING) & ~of_sheet))
    places = RoundItem.objects.filter(round__in=_rounds_of(rounds, under_way), item__in=items)
    asked = Assignment.objects.filter(THIRD_RATERS, round__study=study, item__in=items)
    asked = asked.filter(state__in=Assignment.UNFINISHED)
    return places.order_by().values("pk").union(asked.order_by().values("pk"), all=True).exists()


def _rounds_of(rounds: QuerySet[Round], under_way: QuerySet[Round]) -> QuerySet[Round, int]:
    """Those `under_way` that are no relabeling queues, and those before such a queue."""
    later_queues = under_way.filter(kind=Round.Kind.RELABEL, opened_at__gt=OuterRef("opened_at"))
    before = rounds.filter(Exists(later_queues)).exclude(kind=Round.Kind.SCREENING)
    plain = under_way.exclude(kind=Round.Kind.RELABEL)
    return plain.values_list("pk", flat=True).union(before.values_list("pk", flat=True))


def members_by_name(study: Study) -> dict[str, Membership]:
    """Members by rater code, by user name, and by name, as `folded`; in this order.

    What looks like a code is no name. Who left is found by code and user name: the name is a full name there.
    """
    members = list(Membership.objects.filter(study=study).select_related("user", "invited_user", "former_user"))
    found = {folded(member.code): member for member in members if member.code}
    for names in (
        [(member.former_user.username if member.former_user else member.user_name, member) for member in members],
        [("" if member.left_at else member.name, member) for member in members],
    ):
        for name, member in names:
            if name and not CODE.fullmatch(name.upper()):
                found.setdefault(folded(name), member)
    return found


def users_by_name(names: Collection[str]) -> dict[str, User]:
    """Users by their names as `folded`."""
    found: dict[str, User] = {}
    for chunk in _chunks(names):
        found |= {folded(user.username): user for user in User.named(*chunk)}
    return found


def stored_issues(user: User, names: Iterable[ItemName]) -> dict[str, Issue]:
    """Of these items those that are stored issues which the user may take into a study, by the item's key."""
    wanted: dict[tuple[str, str, str], dict[int, str]] = {}
    for name in names:
        if name.issue:
            host, owner, repository, number = name.issue
            wanted.setdefault((host.lower(), owner.lower(), repository.lower()), {})[number] = name.key
    found: dict[str, Issue] = {}
    for chunk in _chunks(list(wanted), REPOSITORIES_AT_ONCE):
        for former, now in names_after(chunk).items():
            wanted.setdefault(lower_name(now), {}).update(wanted[former])
    for chunk in _chunks(wanted, REPOSITORIES_AT_ONCE):
        named = reduce(
            or_, (Q(host__iexact=host, owner__iexact=owner, name__iexact=name) for host, owner, name in chunk)
        )
        homes = {
            home.pk: wanted[home.host.lower(), home.owner.lower(), home.name.lower()]
            for home in Repository.objects.filter(named)
        }
        numbers = {number for keys in homes.values() for number in keys}
        for some in _chunks(numbers):
            issues = Issue.objects.takeable_by(user).filter(repository__in=list(homes), number__in=some)
            for issue in issues.select_related("repository"):
                if key := homes[issue.repository_id].get(issue.number):
                    found[key] = issue
    return found


def items_by_key(study: Study, names: Mapping[str, ItemName], issues: Mapping[str, Issue]) -> dict[str, Item]:
    """The study's items of these names, by key: found by their issue, else by their identifier."""
    found: dict[str, Item] = {}
    for chunk in _chunks([key for key, name in names.items() if name.issue]):
        items = Item.objects.annotate(folded=Lower("identifier")).filter(study=study, folded__in=chunk)
        found |= {item.identifier.casefold(): item for item in items}
    for chunk in _chunks([name.identifier for name in names.values() if not name.issue]):
        found |= {item.identifier: item for item in Item.objects.filter(study=study, identifier__in=chunk)}
    keys = {issue.pk: key for key, issue in issues.items()}
    for some in _chunks(keys):
        linked = Item.objects.filter(study=study, issue__in=some)
        found |= {keys[item.issue_id]: item for item in linked if item.issue_id}
    return found


def standing_assignments(round_: Round, items: Sequence[int]) -> dict[tuple[int, int], Assignment]:
    """Assignments of these items with their current answers, by item and rater."""
    found = Assignment.objects.filter(round=round_, item__in=items).select_related("current")
    return {(each.item_id, each.rater_id): each for each in found}


def standing_decisions(
    round_: Round, tree: VersionTree, items: Sequence[int]
) -> dict[tuple[int, int, str], tuple[Resolution, Values]]:
    """The newest resolutions of these items with their values, by item, part and dimension key."""
    newest = list(
        Resolution.objects.filter(round=round_, item__in=items)
        .order_by("item_id", "part", "dimension_id", "-revision")
        .distinct("item_id", "part", "dimension_id")
    )
    values = resolution_values(tree, newest)
    return {
        (each.item_id, each.part, tree.by_id[each.dimension_id].key): (each, values.get(each.pk, ())) for each in newest
    }


T = TypeVar("T")


def _chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[tuple[T, ...]]:
    left = iter(values)
    while chunk := tuple(islice(left, size)):
        yield chunk
