"""Answers: a request's labels read against a version, as values by dimension or errors by field."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from annotation.labels.consensus import PENDING, ProposalRequest, Values
from annotation.labels.evidence import Quote, read_evidence
from shared.wording import did_you_mean
from taxonomy.kinds import LONGEST_TEXT, WrongValue
from taxonomy.tree import Answer, TreeDimension, VersionTree

MOST_PARTS = 50
UNKNOWN_MAX = 100
"""So many unknown dimensions of a part are named."""


@dataclass(frozen=True)
class AnswerPart:
    """One part as read: values per dimension key (PENDING among them where a category is proposed), and all beside."""

    values: Mapping[str, Values]
    proposals: Mapping[str, ProposalRequest] = field(default_factory=dict)
    memo: str = ""
    evidence: Sequence[Quote] = ()


def read_parts(
    tree: VersionTree, body: Mapping[str, object], fields: dict[str, list[str]], *, is_partial: bool = False
) -> list[AnswerPart]:
    """The parts of a request (`labels`, or `parts` with labels each); what is wrong goes into `fields` by its path.

    With `is_partial` a dimension that was left out is unknown, and none has to be there.
    """
    parts = body.get("parts")
    if parts is None:
        return [read_part(tree, body, fields, "", is_partial=is_partial)]
    if not isinstance(parts, list) or not parts or not all(isinstance(part, Mapping) for part in parts):
        fields["parts"] = ['Send a list such as [{"labels": {…}, "memo": ""}, …].']
        return []
    if body.get("labels"):
        fields["parts"] = ["Send either labels or parts, not both."]
        return []
    if len(parts) > MOST_PARTS:
        fields["parts"] = [f"An issue has at most {MOST_PARTS} parts."]
        return []
    return [
        read_part(tree, part, fields, f"parts[{number}].", is_partial=is_partial)
        for number, part in enumerate(parts, start=1)
    ]


def read_part(
    tree: VersionTree,
    body: Mapping[str, object],
    fields: dict[str, list[str]],
    prefix: str = "",
    *,
    is_partial: bool = False,
) -> AnswerPart:
    """One part: every dimension that applies is read, a required one must be there, others must be left out."""
    labels, asked = body.get("labels", {}), body.get("proposals") or {}
    if not isinstance(labels, Mapping):
        fields[f"{prefix}labels"] = ["Send a mapping from dimension to value."]
        labels = {}
    if not isinstance(asked, Mapping):
        fields[f"{prefix}proposals"] = ["Send a mapping from dimension to name and memo."]
        asked = {}
    for key in islice((each for each in [*labels, *asked] if each not in tree.by_key), UNKNOWN_MAX):
        fields[f"{prefix}{key}"] = [f"The version has no dimension “{key}”.{did_you_mean(str(key), tree.by_key)}"]
    values: dict[str, Values] = {}
    answers: dict[str, Answer] = {}
    proposals: dict[str, ProposalRequest] = {}
    for dimension in tree.dimensions:
        path = f"{prefix}{dimension.key}"
        given, proposal = labels.get(dimension.key), asked.get(dimension.key)
        if not (_may_apply(tree, dimension.key, answers) if is_partial else tree.applies(dimension, answers)):
            if not _is_blank(given) or proposal:
                when = dimension.applies_when
                assert when is not None
                fields[path] = [
                    f"“{dimension.title}” doesn't apply here: it depends on the label of “{when.dimension}”."
                ]
            continue
        read = None if given is None else _read(dimension, given, path, fields)
        if proposal is not None and (checked := _proposal(dimension, proposal, path, fields)):
            proposals[dimension.key] = checked
            kept = read if read and dimension.is_set else ()
            read = tuple(sorted({*map(str, kept), PENDING}))
        if read is None and dimension.is_set and not dimension.required and not is_partial:
            read = ()
        if read is not None:
            values[dimension.key] = read
            answers[dimension.key] = dimension.question_kind.as_answer(read)
        elif dimension.required and not is_partial and path not in fields:
            fields[path] = [f"“{dimension.title}” is required."]
    memo = "" if body.get("memo") is None else body["memo"]
    if not isinstance(memo, str) or len(memo) > LONGEST_TEXT:
        fields[f"{prefix}memo"] = [f"A memo has at most {LONGEST_TEXT} characters."]
        memo = ""
    return AnswerPart(values, proposals, memo, read_evidence(tree, body.get("evidence"), values, fields, prefix))


def read_decision(dimension: TreeDimension, given: object, path: str, fields: dict[str, list[str]]) -> Values:
    """The values of a decision: as in an answer, a scalar alone or in a list; blank means that there is no value."""
    if not dimension.has_categories and isinstance(given, list):
        if len(given) > 1:
            fields[path] = [f"“{dimension.title}” takes one value."]
            return ()
        given = given[0] if given else None
    return () if given is None else _read(dimension, given, path, fields) or ()


def applies(tree: VersionTree, key: str, values: Mapping[str, Values]) -> bool:
    """Whether a dimension is asked under these values."""
    answers: dict[str, Answer] = {
        each: tree.by_key[each].question_kind.as_answer(given) for each, given in values.items()
    }
    return tree.applies(key, answers)


def _may_apply(tree: VersionTree, key: str, answers: Mapping[str, Answer]) -> bool:
    """Whether a dimension is asked under these answers, of which others may be unknown."""
    when = tree.by_key[key].applies_when
    if when is None:
        return True
    if when.dimension in answers:
        return tree.applies(key, answers)
    return _may_apply(tree, when.dimension, answers)


def _is_blank(given: object) -> bool:
    return given is None or given == "" or given == []


def _read(dimension: TreeDimension, given: object, path: str, fields: dict[str, list[str]]) -> Values | None:
    """The values of one dimension, or None where it was left blank or is wrong."""
    try:
        return dimension.question_kind.read(dimension, given)
    except WrongValue as wrong:
        fields[path] = wrong.sentences
        return None


def _proposal(
    dimension: TreeDimension, given: object, path: str, fields: dict[str, list[str]]
) -> ProposalRequest | None:
    if isinstance(given, str):
        given = {"name": given}
    name = given.get("name") if isinstance(given, Mapping) else None
    memo = given.get("memo") or "" if isinstance(given, Mapping) else ""
    if not dimension.has_categories:
        fields[path] = [f"“{dimension.title}” has no categories, so none can be proposed."]
    elif not isinstance(name, str) or not name.strip() or len(name) > 200:
        fields[path] = ["A proposal has a name of at most 200 characters."]
    elif not isinstance(memo, str) or len(memo) > LONGEST_TEXT:
        fields[path] = [f"The memo of a proposal has at most {LONGEST_TEXT} characters."]
    else:
        return ProposalRequest(" ".join(name.split()), memo)
    return None


def digest(value: object) -> str:
    """SHA-256 of a JSON value, the same for equal values whatever the order of their keys."""
    return hashlib.sha256(_AS_JSON(value).encode()).hexdigest()


_AS_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=list).encode


def answers_digest(parts: Sequence[Mapping[str, Values]]) -> str:
    """SHA-256 of the labels of all parts: equal answers, equal digest."""
    return digest([{key: list(values) for key, values in part.items()} for part in parts])
