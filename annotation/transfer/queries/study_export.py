"""Study export: all rows, taxonomies, and issue snapshots of a study as one file."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC
from typing import IO, Any

import orjson
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import QuerySet

from accounts.models import User
from annotation.core.access import Seat, hidden_drafts
from annotation.core.archive import ZipArchive
from annotation.core.errors import Blind, Conflict, Forbidden, Invalid
from annotation.core.issue_states import may_read_frame, readable_states
from annotation.exports.queries.requests import ExportKind, ExportProgress, ExportRequest
from annotation.models import Membership, Plan, Round, Sample, Study
from annotation.transfer.queries import rows as study_rows
from annotation.transfer.study_file import FORMAT, KIND, MANIFEST, path_of
from taxonomy.actions.arriving import version_rows
from taxonomy.models import Category, Dimension, Taxonomy, TaxonomyVersion

BUFFER_LINES = 2000
TELL_LINES = 2000
STUDY_COLUMNS_LEFT_OUT = ("deleted_at", "created_by_id")
PEOPLE = ("id", "username", "first_name", "last_name")
ISSUES = "leaving_issues"
SNAPSHOTS = "leaving_snapshots"
NAMED = "leaving_people"
INVITED_AGAIN = (
    'CASE WHEN numbered."left_at" IS NOT NULL THEN '
    '(SELECT m.invited_user_id FROM annotation_membership m WHERE m.id = numbered."id") END'
)
"""Who left and was invited again: the invitation stays here, and the file has them as someone who left."""


def read_options(seat: Seat, given: Mapping[str, Any]) -> dict[str, Any]:
    """A whole study takes no options. Raises Invalid, Blind, Forbidden, Conflict."""
    if fields := {name: ["A full export has no options."] for name, value in given.items() if value not in (None, "")}:
        raise Invalid("Full export not created.", fields=fields)
    require_whole(seat)
    return {}


def rounds_of(seat: Seat, options: Mapping[str, Any]) -> Sequence[Round]:
    """All rounds: none can be left out."""
    return list(Round.objects.filter(study=seat.study).order_by("number"))


def require_whole(seat: Seat) -> None:
    """Raises Blind, Forbidden or Conflict where this person may not take the study away as a whole just now."""
    if seat.blind_round_ids or seat.withheld:
        raise Blind(
            "A full export contains labels of others from a round in which you are a rater. It is hidden "
            "from you until the round closes. Ask another owner."
        )
    if Plan.objects.filter(study=seat.study, state__in=Plan.AT_WORK).exists():
        raise Conflict("A migration is running. Wait until it is done.")
    if seat.membership is None:  # the operator's shell
        return
    plan = Plan.objects.filter(study=seat.study, to_version__in=hidden_drafts(seat)).order_by("number").first()
    if plan is not None:
        raise Forbidden(
            f"Migration {plan.number} contains a draft of the taxonomy that you can't see. Ask one of the taxonomy's "
            "maintainers to publish it, or to export the study."
        )
    others = Sample.objects.filter(study=seat.study).exclude(created_by=seat.user)
    for sample in others.defer("frame").order_by("pk"):
        if not may_read_frame(seat, sample):
            raise Forbidden(
                f"The frame of sample {sample.number} contains issues of a private repository that you can't "
                "see. Ask the person who drew it to export the study."
            )


def write_study(asked: ExportRequest, seat: Seat, file: IO[bytes], progress: ExportProgress) -> None:
    """Writes the file in steady memory, as the study stood at one moment; the same state gives the same bytes."""
    require_whole(seat)
    study = seat.study
    with _one_moment() as moment, ZipArchive(file, study.created_at.astimezone(UTC).date()) as archive:
        _gather(moment, study, seat)
        told: list[dict[str, Any]] = []
        n_rows = 0
        expected = sum(study_rows.counts(study, seat.user).values())

        def counted(lines: Iterator[bytes]) -> Iterator[bytes]:
            nonlocal n_rows
            for line in lines:
                yield line
                n_rows += 1
                if n_rows % TELL_LINES == 0:
                    progress(n_rows, n_expected=max(expected, n_rows))

        for name, lines in _tables(moment, study, seat):
            progress(n_rows, step=f"writing {name}")
            path = path_of(name)
            n_lines = archive.add_lines(path, counted(lines))
            told.append(
                {"name": name, "path": path, "rows": n_lines, "bytes": archive.sizes[path]}
                | {"sha256": archive.digests[path]}
            )
        manifest = {
            "kind": KIND,
            "format": FORMAT,
            "concord": settings.CONCORD_VERSION,
            "slug": study.slug,
            "title": study.title,
            "tables": told,
            "left_out": dict(study_rows.STAYS),
        }
        archive.add(MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        progress(n_rows, n_expected=n_rows)


@contextmanager
def _one_moment() -> Iterator[Any]:
    """A connection on which everything is read as it stood at one moment; the own one where a transaction is open."""
    if connection.in_atomic_block:
        yield connection
        return
    with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as beside:
        beside.set_autocommit(False)
        with beside.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield beside
        beside.rollback()


def _run(moment: Any, statement: str, *values: Any) -> None:
    with moment.cursor() as cursor:
        cursor.execute(statement, values)


def _gather(moment: Any, study: Study, seat: Seat) -> None:
    """The ids of issues, snapshots and people that the study names, in tables that end with the transaction.

    The newest state of an issue is among them where its exporter may read it.
    """
    for name in (ISSUES, SNAPSHOTS, NAMED):
        _run(moment, f"CREATE TEMP TABLE IF NOT EXISTS {name} (id bigint PRIMARY KEY) ON COMMIT DROP; TRUNCATE {name}")
    _run(
        moment,
        f"""
        INSERT INTO {SNAPSHOTS}
        SELECT snapshot_id FROM annotation_item WHERE study_id = %s AND snapshot_id IS NOT NULL
        UNION SELECT a.snapshot_id FROM annotation_annotation a JOIN annotation_membership m ON m.id = a.rater_id
        WHERE m.study_id = %s AND a.snapshot_id IS NOT NULL
        UNION SELECT f.id FROM annotation_sample s, unnest(s.frame) AS f (id) WHERE s.study_id = %s
        """,  # noqa: S608
        *[study.pk] * 3,
    )
    _run(
        moment,
        f"""
        INSERT INTO {ISSUES}
        SELECT issue_id FROM annotation_item WHERE study_id = %s AND issue_id IS NOT NULL
        UNION SELECT d.issue_id FROM annotation_sampleissue d JOIN annotation_sample s ON s.id = d.sample_id
        WHERE s.study_id = %s
        UNION SELECT issue_id FROM ingest_snapshot WHERE id IN (SELECT id FROM {SNAPSHOTS})
        """,  # noqa: S608
        *[study.pk] * 2,
    )
    readable, values = readable_states(seat).order_by().values_list("pk").query.sql_with_params()
    _run(
        moment,
        f"""
        INSERT INTO {SNAPSHOTS} SELECT current_snapshot_id FROM ingest_issue
        WHERE id IN (SELECT id FROM {ISSUES}) AND current_snapshot_id IN ({readable}) ON CONFLICT DO NOTHING
        """,  # noqa: S608
        *values,
    )
    rows_of = {table.model: _leaving(table, seat) for table in study_rows.study_tables()} | _of_versions(study, seat)
    for model, leaving in rows_of.items():
        if model not in study_rows.NUMBERED or not study_rows.is_named(model):
            continue
        name, rows = _numbers_of(model), leaving.order_by().values_list("pk")
        _run(
            moment,
            f"CREATE TEMP TABLE IF NOT EXISTS {name} (id bigint PRIMARY KEY, number bigint) ON COMMIT DROP;"
            f" TRUNCATE {name}",
        )
        inner, values = rows.query.sql_with_params()
        counted = f"SELECT id, row_number() OVER (ORDER BY id) FROM ({inner}) AS found (id)"  # noqa: S608
        _run(moment, f"INSERT INTO {name} {counted}", *values)
    people = [(table.model, _leaving(table, seat)) for table in study_rows.study_tables()]
    for model, rows in [*people, *_of_taxonomies(study, seat)]:
        for column in study_rows.columns_of_people(model):
            inner, values = rows.order_by().values_list(column).distinct().query.sql_with_params()
            _run(
                moment,
                f"INSERT INTO {NAMED} SELECT id FROM ({inner}) AS found (id) WHERE id IS NOT NULL "  # noqa: S608
                "ON CONFLICT DO NOTHING",
                *values,
            )


def _of_taxonomies(study: Study, seat: Seat) -> list[tuple[Any, QuerySet[Any]]]:
    """The taxonomies of the study and of its screening: what of them its owner may read, or its rounds use."""
    versions = TaxonomyVersion.objects.filter(taxonomy__in=_taxonomies(study))
    if seat.membership is not None:
        used = Round.objects.filter(study=study).order_by().values_list("taxonomy_version")
        plans = Plan.objects.filter(study=study).order_by()
        used = used.union(plans.values_list("from_version"), plans.values_list("to_version"))
        versions = versions.filter(pk__in=TaxonomyVersion.objects.readable_by(seat.user)) | versions.filter(
            pk__in=[pk for (pk,) in used]
        )
    pks = list(versions.order_by().values_list("pk", flat=True))
    return [
        (Taxonomy, Taxonomy.objects.filter(pk__in=_taxonomies(study)).order_by("pk")),
        (TaxonomyVersion, TaxonomyVersion.objects.filter(pk__in=pks).order_by("pk")),
    ]


def _of_versions(study: Study, seat: Seat) -> dict[Any, QuerySet[Any]]:
    """The versions of these taxonomies with their dimensions and categories."""
    _, (_, versions) = _of_taxonomies(study, seat)
    within = versions.order_by().values("pk")
    return {
        TaxonomyVersion: versions,
        Dimension: Dimension.objects.filter(version__in=within).order_by("pk"),
        Category: Category.objects.filter(dimension__version__in=within).order_by("pk"),
    }


def _leaving(table: study_rows.StudyTable, seat: Seat) -> QuerySet[Any]:
    return study_rows.leaving(table, seat.study, None if seat.membership is None else seat.user)


def _taxonomies(study: Study) -> list[int]:
    rounds = Round.objects.filter(study=study).order_by()
    found = set(rounds.values_list("taxonomy_version__taxonomy", flat=True).distinct())
    return sorted(found | {each for each in (study.taxonomy_id, study.screening_taxonomy_id) if each is not None})


INGEST = {
    "repositories": """
        SELECT id, host, owner, name, github_id, private FROM ingest_repository
        WHERE id IN (SELECT repository_id FROM ingest_issue WHERE id IN (SELECT id FROM leaving_issues)) ORDER BY id""",
    "issues": """
        SELECT i.id, repository_id, number, s.id AS current_snapshot_id,
               CASE WHEN s.id = current_snapshot_id THEN i.updated_at ELSE s.updated_at END AS updated_at, added_at,
               presence, moved_to, CASE WHEN s.id = current_snapshot_id THEN i.locked ELSE s.locked END AS locked,
               checked_at, changes_known, i.page_url, author_association
        FROM ingest_issue i LEFT JOIN LATERAL (
            SELECT s.id, s.updated_at, s.locked FROM ingest_snapshot s
            WHERE s.issue_id = i.id AND s.id IN (SELECT id FROM leaving_snapshots)
            ORDER BY s.id = i.current_snapshot_id DESC, s.id DESC LIMIT 1
        ) s ON true
        WHERE i.id IN (SELECT id FROM leaving_issues) ORDER BY i.id""",
    "comments": """
        SELECT id, sha256, github_id, author_login, author_id, body, created_at FROM ingest_comment WHERE id IN (
            SELECT comment_id FROM ingest_snapshotcomment WHERE snapshot_id IN (SELECT id FROM leaving_snapshots))
        ORDER BY id""",
    "snapshots": """
        SELECT s.id, issue_id, sha256, title, body, state, state_reason, github_labels, author_login, author_id, locked,
               created_at, updated_at, closed_at, html_url, n_comments, comments_known, fetched_at, ARRAY(
                   SELECT t.comment_id FROM ingest_snapshotcomment t WHERE t.snapshot_id = s.id ORDER BY t.position
               ) AS thread
        FROM ingest_snapshot s WHERE s.id IN (SELECT id FROM leaving_snapshots) ORDER BY s.id""",
    "closingchanges": """
        SELECT id, issue_id, kind, identifier, number, title, html_url, author_login, created_at, merged_at, additions,
               deletions, n_files, paths, path_additions, path_deletions, closes
        FROM ingest_closingchange WHERE issue_id IN (SELECT issue_id FROM annotation_item WHERE study_id = %s)
        ORDER BY id""",
    "activities": """
        SELECT issue_id, told
        FROM ingest_activity WHERE issue_id IN (SELECT issue_id FROM annotation_item WHERE study_id = %s)
        ORDER BY issue_id""",
}  # fmt: skip


def _tables(moment: Any, study: Study, seat: Seat) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Every table of the file with its lines, in the order in which they are stored again."""
    own = [each.column for each in study_rows.columns_of(Study) if each.column not in STUDY_COLUMNS_LEFT_OUT]
    yield "study", _lines(moment, *_selected(Study.objects.filter(pk=study.pk).order_by(), own))
    people = ", ".join(f'"{name}"' for name in PEOPLE)
    named = f"SELECT {people}, elsewhere FROM {User._meta.db_table} WHERE id IN (SELECT id FROM {NAMED}) ORDER BY id"  # noqa: S608
    yield "people", _lines(moment, named, ())
    (_, taxonomies), (_, versions) = _of_taxonomies(study, seat)
    told = ("id", "slug", "title", "created_by_id", "created_at", "discarded_number")
    yield "taxonomy", _lines(moment, *_selected(taxonomies, told))
    numbers = {pk: number for number, pk in enumerate(versions.values_list("pk", flat=True), start=1)}
    documents = version_rows(versions.select_related("taxonomy"))
    yield "taxonomyversion", (orjson.dumps(_numbered(row, numbers)) + b"\n" for row in documents)
    found = _of_versions(study, seat)
    for model, name, columns in (
        (Dimension, "dimension", ("id", "version_id", "key")),
        (Category, "category", ("id", "dimension_id", "key")),
    ):
        selected, values = _selected(found[model], columns)
        yield name, _lines(moment, _renumbered(model, selected, columns), values)
    for name, statement in INGEST.items():
        yield name, _lines(moment, statement, (study.pk,) if "%s" in statement else ())
    for table in study_rows.study_tables():
        own = [each.column for each in study_rows.columns_of(table.model)]
        selected, values = _selected(_leaving(table, seat), own)
        yield table.name, _lines(moment, _renumbered(table.model, selected, own), values)


def _numbers_of(model: Any) -> str:
    return f"leaving_numbers_{model._meta.model_name}"


def _numbered(row: dict[str, Any], numbers: Mapping[int, int]) -> dict[str, Any]:
    """A version with the numbers of the file."""
    return row | {"id": numbers[row["id"]], "parent_id": numbers.get(row["parent_id"])}


def _renumbered(model: Any, statement: str, asked: Sequence[str]) -> str:
    """The same rows of these columns, with numbers of the file for what is NUMBERED."""
    columns = []
    for each in study_rows.columns_of(model):
        if each.column not in asked:
            continue
        named = model if each.primary_key else each.related_model
        own = f'numbered."{each.column}"'
        if (model, each.column) == (Membership, "former_user_id"):
            own = f"coalesce({own}, {INVITED_AGAIN})"
        if named in study_rows.NUMBERED and study_rows.is_named(named):
            own = f"(SELECT n.number FROM {_numbers_of(named)} n WHERE n.id = {own})"  # noqa: S608
        elif named in study_rows.NUMBERED:
            own = f"row_number() OVER (ORDER BY {own})"
        columns.append(f'{own} AS "{each.column}"')
    return f"SELECT {', '.join(columns)} FROM ({statement}) AS numbered"  # noqa: S608


def _selected(rows: QuerySet[Any], columns: Sequence[str]) -> tuple[str, Sequence[Any]]:
    names = {each.column: each.attname for each in study_rows.columns_of(rows.model)}
    statement, values = rows.values_list(*(names[column] for column in columns)).query.sql_with_params()
    return statement, values


def _lines(moment: Any, statement: str, values: Sequence[Any]) -> Iterator[bytes]:
    """Each row as a line of JSON, as the database writes it: times to the microsecond, numbers to the last digit."""
    with moment.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")  # so that a transaction is open
    with closing(moment.connection.cursor(name="leaving")) as cursor:
        cursor.itersize = BUFFER_LINES
        cursor.execute(f"SELECT row_to_json(row)::text FROM ({statement}) AS row", values)  # noqa: S608
        for (line,) in cursor:
            yield line.encode() + b"\n"


def manifest_of(file: IO[bytes]) -> dict[str, Any]:
    """What a file that was made here says of itself, read from its end."""
    with zipfile.ZipFile(file) as archive:
        found: dict[str, Any] = orjson.loads(archive.read(MANIFEST))
    return found


FILE_KIND = ExportKind("The whole study", ("zip",), write_study, read_options, rounds_of, has_single_answers=True)
