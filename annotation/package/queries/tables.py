"""Table rows of a package in a stable order, at constant memory."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import BooleanField, Case, Count, Exists, F, Max, OuterRef, Q, Subquery, When

from annotation.analysis.queries.effort import MEASURES
from annotation.calibration.queries.training import gold_parts
from annotation.core.imported import MARK
from annotation.core.member_lists import code_order
from annotation.labels.answers import digest
from annotation.labels.consensus import PENDING
from annotation.labels.queries import rows as label_rows
from annotation.labels.queries.evidence import PLACE
from annotation.labels.queries.item_history import IS_READ_OTHERWISE
from annotation.labels.queries.label_version import label_version, standing_version
from annotation.labels.queries.verdicts import read_values
from annotation.models import (
    Annotation,
    Assignment,
    Evidence,
    Item,
    Membership,
    PartMatch,
    Proposal,
    Rating,
    Resolution,
    Round,
    RoundItem,
    Sample,
    SampleIssue,
    Study,
)
from ingest.errors import Invalid as NotAnIssue
from ingest.identifiers import full_name, parse_identifier
from ingest.models import ClosingChange, Snapshot
from taxonomy.models import Category, CategoryChange, TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

CHUNK = 1000
ITEMS = 500
MEASURED = "SELECT i.id, ({value})::float8 FROM annotation_item i {joined} WHERE i.study_id = %s AND i.id = ANY(%s)"
Row = dict[str, Any]


def versions_of(rounds: Sequence[Round], study: Study) -> list[TaxonomyVersion]:
    """Every version of the taxonomies that the study and these rounds use, drafts left out; by taxonomy and number."""
    used = {study.taxonomy_id, *(each.taxonomy_version.taxonomy_id for each in rounds)}
    found = TaxonomyVersion.objects.filter(taxonomy__in=used).exclude(state=TaxonomyVersion.State.DRAFT)
    return list(found.select_related("taxonomy", "parent").order_by("taxonomy__slug", "number"))


def newest_answer(rounds: Sequence[Round]) -> datetime | None:
    """When the last answer or decision of these rounds was given: the day of their state; two queries."""
    answered = Annotation.objects.filter(assignment__round__in=rounds).aggregate(at=Max("created_at"))["at"]
    decided = Resolution.objects.filter(round__in=rounds).aggregate(at=Max("created_at"))["at"]
    return max((each for each in (answered, decided) if each), default=None)


def n_answers(rounds: Sequence[Round]) -> int:
    """How many answers these rounds hold; one query."""
    return Assignment.objects.filter(round__in=rounds, current__isnull=False).count()


def round_rows(study: Study, rounds: Sequence[Round], numbers: Mapping[int, int]) -> list[Row]:
    """`numbers` are those that samples have in the package, by id."""
    standing = standing_version(study)
    places = RoundItem.objects.present().filter(round__in=rounds).order_by()
    n_items = dict(places.values_list("round").annotate(n=Count("pk")))
    return [
        {
            "round": each.number,
            "label": each.label or None,
            "kind": each.kind,
            "state": each.state,
            "taxonomy": each.taxonomy_version.taxonomy.slug,
            "taxonomy_version": each.taxonomy_version.number,
            "told_version": label_version(each, standing).number,
            "raters_per_item": each.raters_per_item,
            "double_share": each.double_share,
            "mode": each.mode,
            "seed": each.seed,
            "sample": numbers.get(each.sample_id or 0),
            "n_items": n_items.get(each.pk, 0),
            "due_on": each.due_on.isoformat() if each.due_on else None,
            "opened_at": each.opened_at,
            "resolving_at": each.resolving_at,
            "closed_at": each.closed_at,
        }
        for each in rounds
    ]


def rater_rows(study: Study) -> list[Row]:
    """Everybody with a code, R2 before R10."""
    members = Membership.objects.filter(study=study, code__isnull=False)
    return [
        {
            "rater": each.code,
            "kind": each.kind,
            "machine_name": each.machine_name or None,
            "machine_version": each.machine_version or None,
            "machine_prompt": each.machine_prompt or None,
        }
        for each in sorted(members, key=lambda each: code_order(each.code))
    ]


def dimension_rows(trees: Sequence[VersionTree]) -> list[Row]:
    return [
        {
            "taxonomy": tree.slug,
            "taxonomy_version": tree.number,
            "dimension": each.key,
            "title": each.title,
            "kind": each.kind,
            "required": each.required,
            "applies_when": each.applies_when.dimension if each.applies_when else None,
            "applies_when_is": list(each.applies_when.values) if each.applies_when else None,
            "help": each.help,
        }
        for tree in trees
        for each in tree.dimensions
    ]


def category_rows(trees: Sequence[VersionTree]) -> Iterator[Row]:
    for tree in trees:
        for dimension in tree.dimensions:
            for each in dimension.categories:
                yield {
                    "taxonomy": tree.slug,
                    "taxonomy_version": tree.number,
                    "dimension": dimension.key,
                    "category": each.key,
                    "name": each.name,
                    "parent": each.parent,
                    "path": "/".join(each.keys),
                    "selectable": each.selectable,
                    "definition": each.definition,
                    "include": list(each.include),
                    "exclude": list(each.exclude),
                    "examples": list(each.examples),
                }


def item_rows(study: Study, rounds: Sequence[Round], numbers: Mapping[int, int]) -> Iterator[Row]:
    """The items in the order in which they came into the study; ten queries for each five hundred."""
    rows = Item.objects.filter(study=study).select_related("issue__repository", "snapshot").defer("snapshot__body")
    after = 0
    while chunk := list(rows.filter(pk__gt=after).order_by("pk")[:ITEMS]):
        after = chunk[-1].pk
        drawn: dict[int, list[SampleIssue]] = defaultdict(list)
        issues = [each.issue_id for each in chunk if each.issue_id]
        for each in SampleIssue.objects.filter(sample__in=list(numbers), issue__in=issues).order_by("sample"):
            drawn[each.issue_id].append(each)
        held: dict[int, list[int]] = defaultdict(list)
        places = RoundItem.objects.present().filter(item__in=[each.pk for each in chunk], round__in=rounds)
        for pk, number in places.order_by("round__number").values_list("item", "round__number"):
            held[pk].append(number)
        changes: dict[int, list[ClosingChange]] = defaultdict(list)
        for change in ClosingChange.objects.filter(issue__in=issues).order_by("issue", "identifier"):
            changes[change.issue_id].append(change)
        measured = _measured(study, [each.pk for each in chunk])
        otherwise = _on_other_states(rounds, [each.pk for each in chunk])
        for item in chunk:
            row = _item_row(
                item, drawn[item.issue_id or 0], held[item.pk], changes[item.issue_id or 0], measured, numbers
            )
            yield row | {"n_answers_on_other_states": otherwise.get(item.pk, 0)}


def _on_other_states(rounds: Sequence[Round], items: Sequence[int]) -> dict[int, int]:
    """Of these items how many answers in the tables were given on another state than the pinned one; one query."""
    present = RoundItem.objects.present().filter(round=OuterRef("round"), item=OuterRef("item"))
    given = Assignment.objects.filter(IS_READ_OTHERWISE, Exists(present), round__in=rounds, item__in=items)
    given = given.exclude(state=Assignment.State.WITHDRAWN).exclude(current__idempotency_key__startswith=MARK)
    return dict(given.order_by().values_list("item").annotate(n=Count("pk")))


def _measured(study: Study, items: Sequence[int]) -> dict[str, dict[int, float]]:
    """Of each measure of effort the number of each of these items, as analyses have it; a query for each measure."""
    found: dict[str, dict[int, float]] = {}
    with connection.cursor() as cursor:
        for name, (_, _, value, joined) in MEASURES.items():
            cursor.execute(MEASURED.format(value=value, joined=joined), [study.pk, list(items)])
            found[name] = dict(cursor.fetchall())
    return found


def _item_row(
    item: Item,
    drawn: Sequence[SampleIssue],
    held: Sequence[int],
    changes: Sequence[ClosingChange],
    measured: Mapping[str, Mapping[int, float]],
    numbers: Mapping[int, int],
) -> Row:
    repository, number, url = address_of(item.identifier)
    snapshot = item.snapshot
    return {
        "item": item.identifier,
        "repository": repository,
        "number": number,
        "url": url,
        "screening": item.screening,
        "screening_reason": item.screening_reason or None,
        "samples": [numbers[each.sample_id] for each in drawn],
        "stratum": drawn[-1].stratum or None if drawn else None,
        "rounds": held,
        "snapshot": snapshot.sha256 if snapshot else None,
        "state": snapshot.state if snapshot else None,
        "created_at": snapshot.created_at if snapshot else None,
        "closed_at": snapshot.closed_at if snapshot else None,
        **{name: numbers_of.get(item.pk) for name, numbers_of in measured.items()},
        "merged_at": min((each.merged_at for each in changes if each.merged_at), default=None),
        "attributes": item.attributes or None,
    }


def round_item_rows(rounds: Sequence[Round]) -> Iterator[Row]:
    for round_ in rounds:
        places = RoundItem.objects.present().filter(round=round_).order_by("position")
        rows = places.values_list("item__identifier", "position", "n_raters", "known", "asked")
        last = 0
        while chunk := list(rows.filter(position__gt=last)[:CHUNK]):
            for identifier, last, n_raters, known, asked in chunk:
                yield {
                    "round": round_.number,
                    "item": identifier,
                    "position": last,
                    "n_raters": n_raters,
                    "training": known is not None,
                    "asked": asked,
                }


def training_places(rounds: Sequence[Round]) -> set[tuple[int, str]]:
    """Round and item of every training item; one query."""
    found = RoundItem.objects.filter(round__in=rounds, known__isnull=False)
    return set(found.values_list("round__number", "item__identifier"))


def known_label_rows(rounds: Sequence[Round], known: Mapping[int, Mapping[int, Any]]) -> Iterator[Row]:
    """What is known of training items (by round and item), label by label; a query for each round that has some."""
    for round_ in rounds:
        here = known.get(round_.pk, {})
        names = Item.objects.in_bulk(list(here))
        tree = published_version(round_.taxonomy_version_id)
        for item, answer in here.items():
            for number, part in enumerate(gold_parts(answer), start=1):
                for key, values in sorted(part.items(), key=lambda each: tree.by_key[each[0]].position):
                    yield {
                        "round": round_.number,
                        "item": names[item].identifier,
                        "part": number,
                        "dimension": key,
                        "values": list(values),
                        "n_parts": len(answer["parts"]),
                        "taxonomy_version": tree.number,
                        "why": answer["why"] or None,
                    }


def answers_and_ratings(rounds: Sequence[Round]) -> Iterator[tuple[list[Row], list[Row]]]:
    """Item by item the answers that count and their ratings, of training items the first answers, too.

    Six queries for each thousand items, and one more where some of them are training items.
    """
    for round_ in rounds:
        tree = published_version(round_.taxonomy_version_id)
        places = RoundItem.objects.present().filter(round=round_).select_related("item").order_by("position")
        position = 0
        while chunk := list(places.filter(position__gt=position)[:CHUNK]):
            position = chunk[-1].position
            yield from _chunk(round_, tree, chunk)


def _chunk(round_: Round, tree: VersionTree, chunk: Sequence[RoundItem]) -> Iterator[tuple[list[Row], list[Row]]]:
    given: dict[int, list[Assignment]] = defaultdict(list)
    rows = Assignment.objects.filter(round=round_, item__in=[place.item_id for place in chunk]).select_related("rater")
    for each in rows.exclude(state=Assignment.State.WITHDRAWN):
        given[each.item_id].append(each)
    training = [one.pk for place in chunk if place.known is not None for one in given[place.item_id]]
    asked_first = Annotation.objects.filter(assignment__in=training, revision=1).values_list("assignment", "pk")
    first: dict[int, int] = dict(asked_first) if training else {}
    wanted = {pk for each in given.values() for one in each for pk in _counting(one, first)}
    said = Annotation.objects.defer("answers_digest", "request_digest").in_bulk(wanted)
    states = {each.snapshot_id for each in said.values() if each.snapshot_id is not None}
    read: dict[int | None, str | None] = {None: None}
    read |= dict(Snapshot.objects.filter(pk__in=states).values_list("pk", "sha256"))
    values = read_values(tree, list(wanted))
    matched: dict[int, dict[int, int]] = defaultdict(dict)
    for match in PartMatch.objects.filter(annotation__in=wanted):
        matched[match.annotation_id][match.part] = match.agreed_part
    asked: dict[tuple[int, int, str], Proposal] = {}
    with_proposals = [pk for pk, answer in said.items() if answer.n_proposals]
    for proposal in Proposal.objects.filter(annotation__in=with_proposals).order_by("pk"):
        asked[proposal.annotation_id or 0, proposal.part, tree.by_id[proposal.dimension_id].key] = proposal
    for place in chunk:
        answers: list[Row] = []
        ratings: list[Row] = []
        for one in sorted(given[place.item_id], key=lambda each: code_order(each.rater.code)):
            head = {"round": round_.number, "item": place.item.identifier, "rater": one.rater.code}
            revisions = sorted(_counting(one, first), key=lambda pk: said[pk].revision)
            if not revisions:
                answers.append(head | _unanswered(one))
            for pk in revisions:
                answer = said[pk]
                counts = {
                    "first": answer.revision == 1,
                    "blind": pk == one.blind_id,
                    "current": pk == one.current_id,
                    "snapshot": None if answer.idempotency_key.startswith(MARK) else read[answer.snapshot_id],
                }
                answers += [head | counts | row for row in _parts(one, answer, matched[pk])]
                for part in range(1, answer.n_parts + 1):
                    found = sorted(values.get((pk, part), {}).items(), key=lambda each: tree.by_key[each[0]].position)
                    for key, given_values in found:
                        proposing = asked.get((pk, part, key))
                        ratings.append(
                            head
                            | counts
                            | {
                                "revision": answer.revision,
                                "part": part,
                                "dimension": key,
                                "values": list(given_values),
                                "taxonomy_version": tree.number,
                                "proposal": proposing.name if proposing else None,
                                "proposal_memo": proposing.memo or None if proposing else None,
                            }
                        )
        yield answers, ratings


def _counting(one: Assignment, first: Mapping[int, int]) -> set[int]:
    """The revisions (ids) of an answer that go into the tables; `first` has those to training items by assignment."""
    return {pk for pk in (first.get(one.pk), one.blind_id, one.current_id) if pk}


def evidence_rows(rounds: Sequence[Round]) -> Iterator[Row]:
    """Quote by quote what the ratings that count rest on, as they were given; a query for each thousand."""
    answer = "rating__annotation"
    excluded = RoundItem.objects.filter(round=OuterRef("rating__round"), item=OuterRef("rating__item"), excluded=True)
    quotes = Evidence.objects.filter(~Exists(excluded), rating__round__in=rounds).exclude(
        **{f"{answer}__assignment__state": Assignment.State.WITHDRAWN}
    )
    counts = {when: Q(**{f"{answer}__assignment__{when}": F(answer)}) for when in ("blind", "current")}
    training = RoundItem.objects.filter(
        round=OuterRef("rating__round"), item=OuterRef("rating__item"), known__isnull=False
    )
    asked = (
        quotes.filter(counts["blind"] | counts["current"] | Q(Exists(training), **{f"{answer}__revision": 1}))
        .annotate(
            round=F("rating__round__number"),
            item=F("rating__item__identifier"),
            rater=F("rating__rater__code"),
            revision=F(f"{answer}__revision"),
            blind=Case(When(counts["blind"], then=True), default=False, output_field=BooleanField()),
            current=Case(When(counts["current"], then=True), default=False, output_field=BooleanField()),
            part=F("rating__part"),
            dimension=F("rating__dimension__key"),
            category=F("rating__category__key"),
            asks=F("rating__proposal"),
            number=Subquery(PLACE),
            snapshot=F(f"{answer}__snapshot__sha256"),
        )
        .order_by("pk")
        .values()
    )
    after = 0
    while chunk := list(asked.filter(pk__gt=after)[:CHUNK]):
        after = chunk[-1]["id"]
        for row in chunk:
            category = row["category"] if row["asks"] is None else PENDING
            yield {**row, "category": category, "comment": row["number"], "first": row["revision"] == 1}


ROLES = {Assignment.Kind.RATER: "rater", Assignment.Kind.THIRD: "third_rater", Assignment.Kind.MODEL: "machine"}
"""What packages call the kinds of assignments."""


def _unanswered(one: Assignment) -> Row:
    nothing = dict.fromkeys(
        ("agreed_part", "matched", "n_parts", "skip_reason", "memo", "confidence", "seconds", "flagged", "snapshot"),
        None,
    )
    state = {"role": ROLES[one.kind], "state": one.state, "revision": 0, "part": 0}
    state |= dict.fromkeys(("first", "blind", "current"), False)
    return state | nothing


def _parts(one: Assignment, answer: Annotation, matched: Mapping[int, int]) -> Iterator[Row]:
    shared = {
        "role": ROLES[one.kind],
        "state": "skipped" if answer.skip_reason else "submitted",
        "revision": answer.revision,
        "n_parts": 0 if answer.skip_reason else answer.n_parts,
        "skip_reason": answer.skip_reason or None,
        "confidence": answer.confidence,
        "seconds": answer.seconds,
        "flagged": answer.is_flagged,
    }
    if answer.skip_reason:
        yield shared | {"part": 0, "agreed_part": None, "matched": None, "memo": answer.memo or None}
        return
    for part in range(1, answer.n_parts + 1):
        own = answer.part_memos[part - 1] if part <= len(answer.part_memos) else ""
        yield shared | {
            "part": part,
            "agreed_part": matched.get(part, part),
            "matched": part in matched,
            "memo": own or answer.memo or None,
        }


def n_rows_about(study: Study, rounds: Sequence[Round]) -> int:
    """About how many rows the tables of a package will have; two queries."""
    n_ratings = Rating.objects.filter(round__in=rounds).count()
    return n_ratings + 2 * n_answers(rounds) + 3 * Item.objects.filter(study=study).count()


def resolution_rows(rounds: Sequence[Round]) -> Iterator[Row]:
    """Every decision; queries as `results.resolutions`."""
    for row in label_rows.resolutions(rounds):
        yield label_rows.as_dict(row)


def address_of(identifier: str) -> tuple[str | None, int | None, str | None]:
    """Repository, number and address of an item; nothing for an identifier that names no issue."""
    try:
        host, owner, name, number = parse_identifier(identifier)
    except NotAnIssue:
        return None, None, None
    return full_name(host, owner, name), number, f"https://{host}/{owner}/{name}/issues/{number}"


def change_rows(versions: Sequence[TaxonomyVersion]) -> list[Row]:
    """What became of each category from the version before to each of these; one query."""
    changes = CategoryChange.objects.filter(version__in=[each.pk for each in versions]).select_related(
        "version__taxonomy", "version__parent", "old__dimension", "new__dimension"
    )
    return [
        {
            "taxonomy": each.version.taxonomy.slug,
            "from": each.version.parent.number if each.version.parent else None,
            "to": each.version.number,
            "change": each.kind,
            "also": list(each.also),
            "old": _place(each.old),
            "new": _place(each.new),
        }
        for each in changes.order_by("version__taxonomy__slug", "version__number", "pk")
    ]


def _place(category: Category | None) -> Row | None:
    return None if category is None else {"dimension": category.dimension.key, "category": category.key}


def sample_document(sample: Sample, flow: Sequence[Row]) -> Row:
    """A sample as it was drawn, and what became of it."""
    return {
        "sample": sample.number,
        "filter": sample.filter,
        "counts": sample.counts,
        "n_frame": sample.n_frame,
        "size": sample.size,
        "confidence": sample.confidence,
        "margin": sample.margin,
        "seed": sample.seed,
        "stratify_by": sample.stratify_by or None,
        "allocation": sample.allocation,
        "at_least_one": sample.at_least_one,
        "strata": sample.strata,
        "drawn_at": sample.created_at.isoformat(),
        "flow": list(flow),
    }


def is_filter(sample: Sample, filter: Mapping[str, Any]) -> bool:
    """Whether a sample was drawn with the filter of a ready-made selection."""
    return digest(sample.filter) == digest(dict(filter))
