"""Conditions of a search for the database: qualifiers, candidates by lexeme, and the comparison that decides."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.search import SearchVectorField
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Exists, F, Lookup, OuterRef, Q, QuerySet, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, LessThan

from ingest.models import Issue, Repository, SearchText, SnapshotComment, Spelling, Unsearchable, Viewer, or_unknown
from ingest.search.grammar import Condition, Range, Search
from ingest.search.matching import Term, as_tsquery, decide_alone, fold

WAITING_AT_ONCE = 500
LISTED_MOST = 10_000
"""Issues with the lexemes of a search that are listed; no text is read for that."""
COMPARED_MOST = 500
"""Issues whose texts are compared at once; where there are more, a page is full sooner."""
COLUMNS = {
    "created": "current_snapshot__created_at",
    "closed": "current_snapshot__closed_at",
    "updated": "updated_at",
    "comments": "current_snapshot__n_comments",
}
INDEX_BUILDING = (
    "The search index is being built, and too many issues are not in it yet for a complete answer. It is "
    "ready within minutes. Try again then, or search without words and phrases."
)


@dataclass(frozen=True)
class Candidates:
    """About how many issues have the lexemes of a search, and which, with their snapshots, where they are few."""

    n: int
    listed: Sequence[tuple[int, int]] | None = None


@dataclass(frozen=True)
class ListCondition:
    """What issues of a list must be like to have the words of a search; `is_compared`: each issue is looked at."""

    condition: Q
    is_compared: bool = False


@SearchVectorField.register_lookup
class HasLexemes(Lookup):
    """Whether a tsvector fits a tsquery that is written as PostgreSQL reads it."""

    lookup_name = "has"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        left, values = self.process_lhs(compiler, connection)
        right, more = self.process_rhs(compiler, connection)
        return f"{left} @@ {right}::tsquery", [*values, *more]


class Among(Lookup):
    """Whether a number is one of many, which are sent as one array: a list of values would be parsed one by one.

    Where it `is_filter`, no index is used for it.
    """

    lookup_name = "among"

    def __init__(self, column: str, numbers: Iterable[int], *, is_filter: bool = False) -> None:
        super().__init__(F(column), Value(f"{{{','.join(map(str, numbers))}}}"))
        self.is_filter = is_filter

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        left, values = self.process_lhs(compiler, connection)
        right, more = self.process_rhs(compiler, connection)
        return f"{left}{' + 0' if self.is_filter else ''} = ANY({right}::bigint[])", [*values, *more]


def spellings(kind: Spelling.Kind, names: Sequence[str]) -> list[str]:
    """All that are stored of names in any case, and the names as they are; one query."""
    found = Spelling.objects.filter(kind=kind, folded__in=[fold(each) for each in names])
    return sorted({*names, *found.values_list("spelling", flat=True)})


def has_label(*names: str) -> Q:
    """Issues with any of these GitHub labels, in any case; one query at once."""
    return Q(current_snapshot__github_labels__overlap=spellings(Spelling.Kind.LABEL, names))


def is_locked(locked: bool) -> Q:
    """By what GitHub said last, else as the snapshot has it."""
    return Q(locked=locked) | Q(locked__isnull=True, current_snapshot__locked=locked)


def qualifier_condition(search: Search, repositories: QuerySet[Repository]) -> Q:
    """The condition that qualifiers and a number make; of issues that have a current snapshot.

    A repository that is not among `repositories` is one that is not stored: its size changes no plan.
    """
    found = Q() if search.number is None else Q(number=search.number)
    for each in search.conditions:
        condition = _condition(each, repositories)
        found &= ~condition if each.is_negated else condition
    return found


def _condition(condition: Condition, repositories: Any) -> Q:
    name, values = condition.name, condition.values
    if name == "label":
        return has_label(*map(str, values))
    if name == "author":
        return Q(current_snapshot__author_login__in=spellings(Spelling.Kind.LOGIN, list(map(str, values))))
    if name == "repo":
        chosen = repositories.none()
        for named in values:
            assert isinstance(named, tuple)
            chosen |= repositories.called(*named)
        return Q(repository__in=list(chosen.values_list("pk", flat=True)))
    found = Q(pk__in=[])
    for value in values:
        found |= _in_range(name, value) if isinstance(value, Range) else _IS[f"{name}:{value}"]
    return found


_IS = {
    **{f"{name}:{state}": Q(current_snapshot__state=state) for name in ("is", "state") for state in ("open", "closed")},
    "is:locked": is_locked(True),
    "is:unlocked": is_locked(False),
    "is:public": Q(repository__private=False),
    "is:private": Q(repository__private=True),
    "is:issue": Q(current_snapshot__isnull=False),
    "no:label": Q(current_snapshot__github_labels=[]),
}


def _in_range(name: str, wanted: Range) -> Q:
    # Said of what is not known, too: nothing of it is in a range, and everything of it is outside.
    found = Q(**{f"{COLUMNS[name]}__isnull": False})
    if wanted.since is not None:
        found &= Q(GreaterThanOrEqual(_key(name), Value(wanted.since)))
    if wanted.until is not None:
        found &= Q(LessThan(_key(name), Value(wanted.until)))
    return found


def _key(name: str) -> Any:
    """What a list is ordered by, as it is indexed; never null."""
    return or_unknown(COLUMNS[name])


def text_condition(search: Search) -> Q:
    """What a `SearchText` must be like for its issue to have the words of a search."""
    wanted = as_tsquery(search.terms, search.places, search.without)
    found = Q(lexemes__has=wanted) if wanted else Q()
    is_decided = Q(has_all_lexemes=True) if wanted and decide_alone(search.places) else Q(pk__in=[])
    for term in search.terms:
        occurs = _occurs(term, search.places)
        found &= is_decided | occurs if term.has_exact_lexeme else occurs
    for term in search.without:
        occurs = _occurs(term, search.places)
        found &= is_decided | ~occurs if term.has_exact_lexeme else ~occurs
    return found


def _lexemes_decide(search: Search) -> bool:
    """Whether no text has to be compared."""
    terms = (*search.terms, *search.without)
    return bool(search.terms) and decide_alone(search.places) and all(term.has_exact_lexeme for term in terms)


def _occurs(term: Term, places: Sequence[str]) -> Q:
    found = Q()
    for place in places:
        found |= Q(GreaterThan(StrIndex(F(place), Value(term.pattern)), 0))
    return found


def _texts(search: Search) -> QuerySet[SearchText]:
    """The texts that have the words of a search; they count where their snapshot is the current one of its issue."""
    return SearchText.objects.filter(text_condition(search))


def with_words(search: Search, waiting: Sequence[int]) -> Q:
    """Issues that have the words of a search: those the index has, and of the others those that are given."""
    return Q(current_snapshot__in=_texts(search).values("snapshot")) | Q(pk__in=waiting)


class _ExistsForEach(Exists):
    """An EXISTS that is asked of one issue after the other, so that a list of the newest ends with its first page."""

    template = "EXISTS(%(subquery)s OFFSET 0)"


def for_a_list(search: Search, waiting: Sequence[int]) -> ListCondition:
    """The same for the first pages of a list, of issues among which are all that are indexed and have the words.

    Where lexemes decide, or candidates are few, these are looked up at once. Where they are many, each issue is looked
    at in the order of the list until a page is full, of those that have the lexemes where they are listed. Three
    queries at most.
    """
    candidates = _candidates_of(search)
    listed, is_decided = candidates.listed, candidates.listed is not None and _lexemes_decide(search)
    if not is_decided and candidates.n <= COMPARED_MOST:
        listed, is_decided = list(_texts(search).values_list("issue", "snapshot")), True
    found = Q()
    if not is_decided:
        text = _texts(search).filter(issue=OuterRef("pk"), snapshot=OuterRef("current_snapshot"))
        found = Q(_ExistsForEach(text))
    if listed is not None and not search.sort:  # the index of keys gives them in the order of the list
        found &= Q(Among("pk", (issue for issue, _ in listed)))
    if listed is not None and (is_decided or search.sort):
        is_filter = not (is_decided and search.sort)
        found &= Q(Among("current_snapshot_id", (snapshot for _, snapshot in listed), is_filter=is_filter))
    condition = found | Q(pk__in=waiting) if waiting else found
    return ListCondition(condition, is_compared=not is_decided)


def _candidates_of(search: Search) -> Candidates:
    """The issues with the lexemes of a search; listed where the planner, who takes what it does not know for rare,
    expects few and there are few. Two queries at most.
    """
    if not (wanted := as_tsquery(search.terms, search.places, search.without)):
        return Candidates(n_estimated(SearchText.objects.all()))
    texts = SearchText.objects.filter(lexemes__has=wanted)
    if (n := n_estimated(texts)) > LISTED_MOST:
        return Candidates(n)
    chosen = _texts(search) if _lexemes_decide(search) else texts
    listed = list(chosen.order_by().values_list("issue", "snapshot")[: LISTED_MOST + 1])
    return Candidates(len(listed), listed if len(listed) <= LISTED_MOST else None)


def n_estimated(rows: QuerySet[Any]) -> int:
    """How many rows the planner expects, one at least; nothing is read. Shown to nobody: hidden rows count, too."""
    try:
        sql, params = rows.order_by().query.sql_with_params()
    except EmptyResultSet:
        return 1
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        (plan,) = cursor.fetchone()
    return max(1, int((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]["Plan Rows"]))


def waiting_with_words(search: Search, waiting: Sequence[int]) -> list[int]:
    """Of issues that are not indexed yet, those that have the words of a search; reads their texts at flat memory."""
    batches = (waiting[n : n + WAITING_AT_ONCE] for n in range(0, len(waiting), WAITING_AT_ONCE))
    return [pk for pks in batches for pk in _with_words_among(search, pks)]


def _with_words_among(search: Search, pks: Sequence[int]) -> Iterator[int]:
    threads: dict[int, list[str]] = {}
    if "comments" in search.places:
        rows = SnapshotComment.objects.filter(snapshot__in=Issue.objects.filter(pk__in=pks).values("current_snapshot"))
        for snapshot, body in rows.order_by().values_list("snapshot", "comment__body"):
            threads.setdefault(snapshot, []).append(fold(body))
    columns = ("pk", "current_snapshot_id", "current_snapshot__title", "current_snapshot__body")
    issues = Issue.objects.filter(pk__in=pks, current_snapshot__isnull=False).values_list(*columns)
    for pk, snapshot, title, body in issues.iterator():
        if search.is_in({"title": [fold(title)], "body": [fold(body)], "comments": threads.get(snapshot, [])}):
            yield pk


def unindexed(user: Viewer | None = None, at_most: int | None = None) -> list[int]:
    """Issues that wait to be indexed, of those the user may see, the newest first; one query."""
    waiting = Unsearchable.objects.all()
    if user is not None:
        waiting = waiting.filter(issue__in=Issue.objects.visible_to(user))
    return list(waiting.order_by("-pk").values_list("pk", flat=True)[:at_most])


def in_order(issues: QuerySet[Issue], search: Search, words: ListCondition | None) -> QuerySet[Issue]:
    """Issues with `sort_key` and `sort_place`, which order a list where a search has `sort:`."""
    by = search.sort.removeprefix("-")
    if by == "updated":
        return issues.annotate(sort_key=_key(by), sort_place=F("pk"))
    if words is None or words.is_compared:
        # Without this condition the planner has to read issues before their snapshots, which have the index.
        issues = issues.filter(current_snapshot__issue__isnull=False)
    return issues.annotate(sort_key=_key(by), sort_place=F("current_snapshot__issue_id"))
