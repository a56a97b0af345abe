"""Items of a study, created from issues by a fixed number of statements."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef
from django.db.models.expressions import RawSQL

from annotation.choosing.queries.samples import standing_counts
from annotation.core.access import Seat, items_by_identifier
from annotation.core.errors import Forbidden, Invalid, NotFound
from annotation.core.issue_states import newest_takeable
from annotation.labels.screening import IN, OPEN, OUT, STANDINGS, UNSCREENED, in_words
from annotation.models import Item, Round, RoundItem, SampleIssue, Study
from ingest.access import hold_repositories
from ingest.identifiers import GITHUB_HOST, Identified, parse_identifier
from ingest.models import Issue, Snapshot
from ingest.upsert.copying import stage

ISSUES_MOST = 100_000
"""So many issues a request names; more are a sample."""
WANTED = "wanted_issues"
"""A temporary table of issues that are to be items, and their places; gone at the end of the transaction."""


def items_for(seat: Seat, issues: Iterable[Issue]) -> list[Item]:
    """The study's items of these issues, in order; made where they are missing. Call it in a transaction.

    An issue that becomes an item is pinned to the newest state that this person may pin; what was an item before
    keeps its own. Raises Forbidden where there is an issue of which they may pin none.
    """
    wanted = [issue.pk for issue in issues]
    stage(WANTED, {"issue_id": "bigint", "place": "int"}, ((pk, n) for n, pk in enumerate(dict.fromkeys(wanted))))
    make_items(seat)
    by_issue = {item.issue_id: item for item in Item.objects.filter(study=seat.study, issue__in=wanted)}
    return [by_issue[pk] for pk in wanted]


def make_items(seat: Seat) -> int:
    """Makes items of the issues in the table of wanted ones, as `items_for` does; how many were none before."""
    study = seat.study.pk
    new = Issue.objects.filter(pk__in=RawSQL("SELECT issue_id FROM new_items", []))
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {WANTED}; DROP TABLE IF EXISTS new_items")
        cursor.execute(_NEW_ITEMS, [study])
        n_new: int = cursor.rowcount
        if not n_new:
            return 0
        cursor.execute("ALTER TABLE new_items ADD state bigint; ANALYZE new_items")
        hold_repositories(new)
        # What most studies hold is public: its current state is read without a look at each issue's other states.
        current = Snapshot.objects.takeable_by(seat.user).filter(pk=OuterRef("current_snapshot"))
        _pin(cursor, new.filter(Exists(current)).values_list("pk", "current_snapshot"))
        others = Issue.objects.filter(pk__in=RawSQL("SELECT issue_id FROM new_items WHERE state IS NULL", []))
        cursor.execute("SELECT EXISTS (SELECT FROM new_items WHERE state IS NULL)")
        if cursor.fetchone()[0]:
            # What became private since it was named is in no sample: a fetch has not seen that it would be read.
            drawn = SampleIssue.objects.filter(sample__study=study, issue=OuterRef("pk"))
            pinned = others.filter(Exists(drawn)).annotate(newest=newest_takeable(seat))
            _pin(cursor, pinned.values_list("pk", "newest"))
            if n := others.filter(current_snapshot__isnull=False).count():
                these = "1 of these issues is" if n == 1 else f"{n} of these issues are"
                raise Forbidden(
                    f"{these} in a private repository that you can’t read. Ask the person who drew the sample "
                    "to do this."
                )
        cursor.execute(_MAKE_ITEMS, [study, study])
        # Some were imported before their issues were stored, or someone else made them, or they are another issue's.
        if cursor.rowcount < n_new:
            cursor.execute(f"SELECT identifier FROM ({_NAMED_ITEMS}) n WHERE NOT EXISTS ({_IS_ITEM}) LIMIT 1", [study])
            if row := cursor.fetchone():
                raise NotFound(f"{row[0]} could not be made an item of the study.")
        return n_new


def _pin(cursor: Any, states: Any) -> None:
    """Sets the states of new items: rows of issue and state."""
    sql, params = states.query.sql_with_params()
    cursor.execute(
        f"UPDATE new_items n SET state = s.state FROM ({sql}) s (issue_id, state) WHERE s.issue_id = n.issue_id", params
    )


_IS_ITEM = "SELECT FROM annotation_item t WHERE t.study_id = %s AND t.issue_id = n.issue_id"
_NEW_ITEMS = f"""
    CREATE TEMP TABLE new_items ON COMMIT DROP AS
    SELECT n.issue_id, n.place FROM {WANTED} n WHERE NOT EXISTS ({_IS_ITEM})
"""
_NAMES = f"""
    SELECT n.issue_id, n.place, n.state,
        CASE r.host WHEN '{GITHUB_HOST}' THEN '' ELSE r.host || '/' END
            || r.owner || '/' || r.name || '#' || i.number AS identifier
    FROM new_items n JOIN ingest_issue i ON i.id = n.issue_id
"""
_NAMED_ITEMS = f"{_NAMES} JOIN ingest_repository r ON r.id = i.repository_id"
_FORMERLY_NAMED = f"""
    {_NAMES} JOIN ingest_formername r ON r.repository_id = i.repository_id
    WHERE NOT EXISTS (
        SELECT FROM ingest_repository o
        WHERE lower(o.host) = lower(r.host) AND lower(o.owner) = lower(r.owner) AND lower(o.name) = lower(r.name))
"""
_IMPORTED_ITEMS = f"""
    SELECT DISTINCT ON (n.issue_id) n.issue_id, n.state, t.id
    FROM ({_NAMED_ITEMS} UNION ALL {_FORMERLY_NAMED}) n
    JOIN annotation_item t ON t.study_id = %s AND t.issue_id IS NULL AND lower(t.identifier) = lower(n.identifier)
    ORDER BY n.issue_id, t.identifier <> n.identifier, t.id
"""
_MAKE_ITEMS = f"""
    WITH attached AS (
        UPDATE annotation_item i SET issue_id = n.issue_id, snapshot_id = n.state FROM ({_IMPORTED_ITEMS}) n
        WHERE i.id = n.id AND i.issue_id IS NULL
        RETURNING i.issue_id
    )
    INSERT INTO annotation_item (study_id, issue_id, identifier, snapshot_id, screening, screening_reason, attributes)
    SELECT %s, issue_id, identifier, state, 'unscreened', '', '{{}}' FROM ({_NAMED_ITEMS}) n
    WHERE issue_id NOT IN (SELECT issue_id FROM attached) ORDER BY place
    ON CONFLICT DO NOTHING
"""
"""Items that were imported before their issues were stored get them, by names that have no case; the others are new."""


def named_items(
    seat: Seat, study: Study, names: object, fields: dict[str, list[str]], standings: Sequence[str]
) -> list[Item]:
    """The items of these names, in one of these screening states; without `standings`, items to screen (again).

    Not while another screening round has them: its end would tell the raters of this one what others said.
    """
    to_screen = not standings
    if not isinstance(names, list | tuple) or not names:
        fields["issues"] = ["Name at least one issue, as owner/name#number."]
        return []
    if len(names) > ISSUES_MOST:
        fields["issues"] = [f"Name at most {ISSUES_MOST:,} issues. You sent {len(names):,}. Or draw a sample of them."]
        return []
    wanted = list(dict.fromkeys(str(name) for name in names))
    known = items_by_identifier(study, wanted)
    identified: dict[str, Identified] = {}
    for name in wanted:
        if name in known:
            if known[name].screening == Item.Screening.OUT and not to_screen and OUT not in standings:
                reason = known[name].screening_reason
                fields.setdefault("issues", []).append(f"“{name}” is screened out ({reason}). Screen it in first.")
            if known[name].issue_id is not None:
                continue
        try:
            identified[name] = parse_identifier(name)
        except Invalid as error:
            if name not in known:
                fields.setdefault("issues", []).append(error.message)
    if to_screen:
        places = RoundItem.objects.filter(
            item__in=[item.pk for item in known.values()],
            round__kind=Round.Kind.SCREENING,
            round__state__in=[Round.State.DRAFT, Round.State.OPEN, Round.State.RESOLVING],
        )
        for name, number in places.order_by("position").values_list("item__identifier", "round__number"):
            fields.setdefault("issues", []).append(f"“{name}” is in screening round {number}, which is not closed.")
    stored = Issue.objects.takeable_by(seat.user).all_identified(list(identified.values())) if identified else {}
    for name, each in identified.items():
        if each not in stored and name not in known:
            fields.setdefault("issues", []).append(f"“{name[:100]}” is not stored. Fetch it first (owner/name#number).")
    n_new = len({each for name, each in identified.items() if each in stored and name not in known})
    if not to_screen and (other := _not_taken(known, n_new=n_new, standings=standings)):
        fields["screening"] = [other]
    if fields:
        return []
    made = {item.issue_id: item for item in items_for(seat, stored.values())} if stored else {}
    items = [known[name] if name in known else made[stored[identified[name]].pk] for name in wanted]
    return list(dict.fromkeys(items))


def _not_taken(known: Mapping[str, Item], *, n_new: int, standings: Sequence[str]) -> str:
    """How many of the named issues have another screening state, as a sentence; empty if all may be taken.

    What is out was named one by one before.
    """
    if {IN, UNSCREENED, OPEN} <= set(standings):
        return ""
    counts = standing_counts(Item.objects.filter(pk__in=[item.pk for item in known.values()])) if known else {}
    counts[UNSCREENED] = counts.get(UNSCREENED, 0) + n_new
    others = {each: counts[each] for each in (IN, UNSCREENED, OPEN) if counts.get(each) and each not in standings}
    if not others:
        return ""
    return (
        f"Of these issues, {in_words(others)}. Screen them first, or choose what to include under "
        f"“screening”: a list of {', '.join(STANDINGS)}."
    )
