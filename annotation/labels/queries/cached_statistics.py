"""Cached statistics, valid for the revisions of the rounds' raters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import Model

from annotation.labels.answers import digest
from annotation.models import Round, RoundRater
from shared.cached_values import find, keep

KEPT_SECONDS = 7 * 24 * 3600
COMPUTATION = 14
"""The version of what computes numbers. Raise it with every change after which the same answers give other numbers.

A test compares the numbers of a study with those that this version gave. A release computes all of them again.
"""

T = TypeVar("T")
Standing = tuple[tuple[int, int, int], ...]
"""The raters of a round: member id, revision, and how many items they have done; equal as long as all counts alike."""


def standings(rounds: Sequence[Round]) -> dict[int, Standing]:
    """By round id, how far its raters' answers have come to count; one query.

    Ask before anything is read that is to be kept: what commits later comes with other revisions, so that it can make
    numbers newer than what they are kept under, never older.
    """
    found: dict[int, list[tuple[int, int, int]]] = {each.pk: [] for each in rounds}
    rows = RoundRater.objects.filter(round__in=list(found)).order_by("round", "rater")
    for round_id, *rater in rows.values_list("round", "rater", "revision", "n_finished"):
        found[round_id].append((rater[0], rater[1], rater[2]))
    return {pk: tuple(raters) for pk, raters in found.items()}


def cached(
    what: str,
    rounds: Sequence[Round],
    standing: Mapping[int, Standing],
    question: object,
    compute: Callable[[], T],
    *,
    again: Callable[[T], T] | None = None,
    also: object = None,
    classes: Sequence[type] = (),
) -> T:
    """What `compute` gives for these rounds, taken from the cache where it was computed before and still holds.

    `what` names the kind of number; `question` holds all that it was asked with (dataclasses, rows by their id, plain
    values; TypeError for anything else). `also` is what it rests on beyond the answers of the rounds' raters, such as
    the newest resolution; `classes` are those of the objects in the answer; `again` makes the answer from one that no
    longer holds. Of each question only the newest answer is kept, with the standing that was read before it; an emptied
    or missing cache costs time alone. Whether someone may see the rounds is decided before. No query.
    """
    key = f"kept:{_key(what, rounds, question)}"
    holds = (tuple((each.pk, standing[each.pk]) for each in rounds), plain(also))
    found = find(key, classes)
    if found is not None and found[0] == holds:
        answer: T = found[1]
        return answer
    computed = again(found[1]) if again is not None and found is not None else compute()
    keep(key, (holds, computed), KEPT_SECONDS, classes)
    return computed


def _key(what: str, rounds: Sequence[Round], question: object) -> str:
    # A round's id alone could be used again by another database with the same cache.
    known = [[each.pk, each.created_at.isoformat(), each.taxonomy_version_id] for each in rounds]
    return digest([settings.CONCORD_VERSION, COMPUTATION, what, known, plain(question)])


def plain(value: object) -> Any:
    """A question as plain values: a dataclass by its fields, a row by its table, id and revision, a set in order."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Model):
        return [value._meta.label, value.pk, getattr(value, "revision", None)]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        # As pairs in their order: a dictionary's keys needn't be texts, and the order of raters tells.
        return [[plain(key), plain(each)] for key, each in value.items()]
    if isinstance(value, set | frozenset):
        return sorted(plain(each) for each in value)
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    raise TypeError(f"Numbers can't be kept by {value!r}.")
