"""Rows of a study file, stored one after another with new IDs, at constant memory."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db import DataError, IntegrityError, connection
from django.db.models import Exists, ForeignKey, Model, OuterRef, Q
from django.db.models.expressions import RawSQL
from django.utils.dateparse import parse_datetime
from psycopg2.extensions import adapt

from accounts.models import LONGEST_NAME, User
from annotation.assignments.queries import newest_annotation
from annotation.calibration.actions.training import read_gold, read_minimum
from annotation.choosing.queries.samples import is_readable
from annotation.labels.queries.screening import screening_taxonomies
from annotation.labels.screening import fits
from annotation.models import (
    Annotation,
    Assignment,
    AuditEvent,
    Export,
    Membership,
    Plan,
    Remark,
    Round,
    RoundItem,
    RoundRater,
    Sample,
    Study,
)
from annotation.models.assignment_kinds import RATERS, is_rater_sql
from annotation.studies.actions.primary import wrong_in_brought
from annotation.studies.actions.studies import wrong_words
from annotation.transfer.actions.row_checks import check_row
from annotation.transfer.queries import rows as study_rows
from annotation.transfer.study_file import StudyFile, rejection
from ingest.access import require_readable
from ingest.models import Comment, Issue, Snapshot
from ingest.upsert import study_import
from shared.disk_space import require_room
from shared.names import IMPORTED, folded
from taxonomy.actions.arriving import category_ids, ids_by_key, take_taxonomy
from taxonomy.models import Category, Dimension, Taxonomy, TaxonomyVersion
from taxonomy.queries import document, published_version

PEOPLE_MOST = 20_000
AROUND = ("study", "people", "taxonomy", "taxonomyversion", "dimension", "category")
OF_ISSUES = ("repositories", "issues", "comments", "snapshots", "closingchanges", "activities")
MAPS: Mapping[type[Model], str] = {
    User: "map_people",
    Taxonomy: "map_taxonomy",
    TaxonomyVersion: "map_taxonomyversion",
    Dimension: "map_dimension",
    Category: "map_category",
    Issue: "map_issues",
    Snapshot: "map_snapshots",
    Comment: "map_comments",
}
NOWHERE = -1
"""Stands for a row that is not in the file; the database refuses it."""
WITHHELD = (
    "The study reads {} in another state than is stored here. Its repository was fetched from GitHub, and files of "
    "those who may not fetch with this server's tokens add no state to it. Ask someone named in FETCHERS to import it."
)
COUNT_AGAIN = f"""
UPDATE annotation_roundrater w SET n_assigned = greatest(w.n_assigned, held.n),
    n_finished = greatest(w.n_finished, held.n_done)
FROM (
    SELECT a.round_id, a.rater_id, count(*) FILTER (WHERE r.mode <> %(planned)s OR a.state <> %(withdrawn)s) AS n,
        count(*) FILTER (WHERE a.state = ANY(%(finished)s)) AS n_done
    FROM annotation_assignment a JOIN annotation_round r ON r.id = a.round_id
    WHERE r.study_id = %(study)s GROUP BY a.round_id, a.rater_id) held
WHERE held.round_id = w.round_id AND held.rater_id = w.rater_id
    AND (w.n_assigned < held.n OR w.n_finished < held.n_done);
UPDATE annotation_rounditem p SET n_free = least(p.n_free, given.n_left), n_aside = least(p.n_aside, given.n_left)
FROM (
    SELECT p.id, greatest(p.n_raters - count(a.id), 0) AS n_left
    FROM annotation_rounditem p JOIN annotation_round r ON r.id = p.round_id
    LEFT JOIN annotation_assignment a ON a.round_id = p.round_id AND a.item_id = p.item_id
        AND {is_rater_sql("a")} AND a.state <> %(withdrawn)s
    WHERE r.study_id = %(study)s AND (p.n_free > 0 OR p.n_aside > 0) GROUP BY p.id) given
WHERE given.id = p.id AND (p.n_free > given.n_left OR p.n_aside > given.n_left);
"""  # noqa: S608
"""Corrects counts of raters and free slots that can't be: someone who leaves would bring them below 0 or above all."""
NO_MIGRATION = (
    "The table round contains relabeling rounds that no row of the table plan names in its column worklist_id: round "
    "{}. Only a migration makes a relabeling round. Export the study again where it comes from, and import that file "
    "unchanged."
)
_MAPPED = "(SELECT coalesce({into}, '{nothing}') FROM {parts} LEFT JOIN {map} m ON m.old = p.old)"
RENUMBERED = """(
    SELECT coalesce(jsonb_object_agg(word.key, CASE
        WHEN word.key = 'exclude_sample' AND jsonb_typeof(word.value) = 'array' THEN (
            SELECT coalesce(jsonb_agg(m.new ORDER BY m.new), '[]')
            FROM jsonb_array_elements_text(word.value) AS p (old) JOIN {map} m ON m.old::text = p.old)
        WHEN word.key IN ('left_out_of', 'screened_out_of')
            OR (word.key = 'exclude_sample' AND word.value #>> '{{}}' <> 'all') THEN
            coalesce((SELECT to_jsonb(m.new) FROM {map} m WHERE m.old::text = word.value #>> '{{}}'), 'null')
        ELSE word.value END), '{{}}')
    FROM jsonb_each({filter}) AS word)"""
"""A filter whose words name samples by ID, in the IDs that these samples have now."""
_BY_IMPORTED = (
    "CASE WHEN {value} ->> 'by' <> '' THEN jsonb_set({value}, '{{by}}', to_jsonb(({value} ->> 'by') || ' (imported)')) "
    "ELSE {value} END"
)
"""A document that names who gave a reason: someone of the other server."""
OTHERWISE: Mapping[tuple[type[Model], str], str] = {
    (Round, "gate"): _BY_IMPORTED.format(value="row.gate"),
    (RoundRater, "admission"): _BY_IMPORTED.format(value="row.admission"),
    (Membership, "user_id"): "NULL",
    (Membership, "formerly_id"): (
        "(SELECT m.new FROM map_people m WHERE m.old = coalesce(row.user_id, row.formerly_id))"
    ),
    (Membership, "name"): (
        "coalesce((SELECT u.shown FROM map_people u WHERE u.old = row.user_id), "
        "(SELECT u.shown || ' (imported)' FROM map_people u WHERE u.old = row.former_user_id), "
        "(SELECT u.shown FROM map_people u WHERE u.old = row.formerly_id), row.name)"
    ),
    (Sample, "frame"): _MAPPED.format(
        into=f"array_agg(coalesce(m.new, {NOWHERE}) ORDER BY p.place)",
        nothing="{}",
        parts="unnest(row.frame) WITH ORDINALITY AS p (old, place)",
        map="map_snapshots",
    ),
    (Sample, "filter"): RENUMBERED.format(filter="row.filter", map="map_sample"),
    (Plan, "stand_ins"): _MAPPED.format(
        into="jsonb_agg(m.new ORDER BY p.place)",
        nothing="[]",
        parts="(SELECT e.value::bigint AS old, e.place FROM jsonb_array_elements_text(row.stand_ins) "
        "WITH ORDINALITY AS e (value, place)) AS p",
        map="map_membership",
    ),
    (Export, "state"): "CASE row.state WHEN 'done' THEN 'removed' ELSE row.state END",
    (Export, "file"): "''",
    (Export, "hidden"): "'[]'",
    (Annotation, "request_digest"): "''",
    (AuditEvent, "detail"): (
        "CASE jsonb_typeof(row.detail -> 'sample') WHEN 'number' THEN jsonb_set(row.detail, '{sample}', coalesce("
        "(SELECT to_jsonb(m.new) FROM map_sample m WHERE m.old = (row.detail ->> 'sample')::numeric), 'null')) "
        "ELSE row.detail END"
    ),
}
"""Columns that don't come as they were: what holds ids, who signs in, files that stayed where they are."""


@dataclass
class StudyImportResult:
    """What came of a file."""

    study: Study
    n_rows: dict[str, int] = field(default_factory=dict)
    n_people: int = 0
    n_new_issues: int = 0
    n_issues: int = 0
    n_new_snapshots: int = 0
    n_new_repositories: int = 0
    taxonomies: list[dict[str, Any]] = field(default_factory=list)


Told = Callable[[int, str], None]


def store_study(*, user: User, file: StudyFile, slug: str, told: Told) -> StudyImportResult:
    """Stores a checked file as a study of this slug, in a transaction. Raises Invalid, in words."""
    storing = _RowImport(user, file, slug, told)
    try:
        stored = storing.store()
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        return stored
    except (DataError, IntegrityError) as error:
        if storing.withheld:
            raise rejection(WITHHELD.format(storing.withheld)) from error
        diagnosis = getattr(error.__cause__, "diag", None)
        said = (getattr(diagnosis, "constraint_name", None) or "").replace("_", " ")
        if not said and isinstance(error, IntegrityError):  # a trigger, which says what must hold
            said = (getattr(diagnosis, "message_primary", None) or "").rstrip(".")
        rule = f" (the rule is: {said})" if said else ""
        raise rejection(f"The table {storing.at} contains a row that is not valid{rule}.") from error
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise rejection(f"The table {storing.at} contains a row that can't be read.") from error


class _RowImport:
    """A file on its way into the database; `at` is the table that is being read."""

    def __init__(self, user: User, file: StudyFile, slug: str, told: Told) -> None:
        self.user, self.file, self.slug, self.told = user, file, slug, told
        self.at = ""
        self.withheld = ""
        self.n_done = 0
        self.people: dict[int, int] = {}

    def store(self) -> StudyImportResult:
        (row,) = list(self._rows("study")) or [{}]
        study_import.map_table("map_people", ", shown text")
        study = self._study_without_taxonomy(row)
        self.stored = StudyImportResult(study)
        self._people()
        self._taxonomies(row)
        study.save()
        Study.objects.filter(pk=study.pk).update(created_at=parse_datetime(row["created_at"]) or study.created_at)
        self._fill_people()
        self._issues()
        for table in study_rows.study_tables():
            if table.model is Annotation:
                self._allot(study_rows.tables()["assignment"])
            self._table(table, study)
        with connection.cursor() as cursor:
            told: dict[str, Any] = {"study": study.pk, "planned": str(Round.Mode.PLANNED)}
            told |= {"finished": list(map(str, Assignment.FINISHED)), "withdrawn": str(Assignment.State.WITHDRAWN)}
            cursor.execute(COUNT_AGAIN, told)
        over = Round.objects.filter(study=study).exclude(state=Round.State.OPEN)
        over.update(ruled_until=newest_annotation())
        if Sample.objects.filter(study=study, frame__contains=[NOWHERE]).exists():
            missing = "The frame of a sample names an issue snapshot that is not in the file."
            raise rejection(WITHHELD.format(self.withheld) if self.withheld else missing)
        self.at = "sample"
        if not all(is_readable(sample) for sample in Sample.objects.filter(study=study).defer("frame")):
            raise rejection("The table sample contains a row whose filter, strata or counts can't be read.")
        self.at = "rounditem"
        for place in RoundItem.objects.filter(round__study=study, known__isnull=False).select_related("round"):
            wrong: dict[str, list[str]] = {}
            read_gold(published_version(place.round.taxonomy_version_id), place.known, "known", wrong)
            if wrong:
                raise rejection("The table rounditem contains gold answers that can't be read.")
        self.at = "round"
        of_draft = Round.objects.filter(study=study, taxonomy_version__state=TaxonomyVersion.State.DRAFT)
        if (first := of_draft.order_by("number").first()) is not None:
            raise rejection(f"The table round has round {first.number} under a taxonomy version that is a draft.")
        to_draft = Q(to_version__state=TaxonomyVersion.State.DRAFT) & ~Q(state__in=Plan.OPEN)
        plans = Plan.objects.filter(to_draft | Q(from_version__state=TaxonomyVersion.State.DRAFT), study=study)
        if (plan := plans.order_by("number").first()) is not None:
            raise rejection(f"The table plan has migration {plan.number} from or to a version that is a draft.")
        screening = TaxonomyVersion.objects.filter(
            pk__in=Round.objects.filter(study=study, kind=Round.Kind.SCREENING).values("taxonomy_version")
        )
        if not all(fits(document(version)) for version in screening.select_related("taxonomy")):
            raise rejection(
                "The table round contains a screening round under a version without the screening dimension."
            )
        for round_ in Round.objects.filter(study=study, gold_minimum__isnull=False):
            wrong = {}
            read_minimum(published_version(round_.taxonomy_version_id), {}, round_.gold_minimum, wrong)
            if wrong:
                raise rejection("The table round contains a minimum on calibration items that can't be read.")
        made = Plan.objects.filter(study=study, worklist__isnull=False)
        alone = Round.objects.filter(study=study, kind=Round.Kind.RELABEL).exclude(pk__in=made.values("worklist"))
        numbers = alone.order_by("number").values_list("number", flat=True)
        if numbers:
            raise rejection(NO_MIGRATION.format(", ".join(map(str, numbers))))
        if made.exclude(worklist__kind=Round.Kind.RELABEL).exists():
            raise rejection("The table plan names, in column worklist_id, a round that is no relabeling round.")
        self.at = "roundrater"
        if RoundRater.objects.filter(Q(rater__code="") | Q(rater__code=None), round__study=study).exists():
            raise rejection("The table roundrater contains a rater who has no code in the table membership.")
        if Assignment.objects.filter(Q(rater__code="") | Q(rater__code=None), round__study=study).exists():
            raise rejection("The table assignment contains a rater who has no code in the table membership.")
        held = Assignment.objects.filter(RATERS, round__study=study).exclude(state=Assignment.State.WITHDRAWN)
        rater = RoundRater.objects.filter(round=OuterRef("round"), rater=OuterRef("rater"))
        still_there = Exists(rater.filter(left_at__isnull=True))
        if held.filter(~Exists(rater) | Q(state__in=Assignment.UNFINISHED) & ~still_there).exists():
            raise rejection("The table roundrater lacks a rater who has items in the table assignment, or they left.")
        if Remark.objects.filter(round__study=study, author__kind=Membership.Kind.MACHINE).exists():
            raise rejection("The table remark contains a comment by a model.")
        came = RoundRater.objects.filter(round__study=study, admission__isnull=False)
        if not all(isinstance(each, dict) and "how" in each for each in came.values_list("admission", flat=True)):
            raise rejection("The table roundrater contains an admission that can't be read.")
        require_readable(self.user, Issue.objects.filter(pk__in=RawSQL("SELECT new FROM map_issues", [])))
        return self.stored

    # What stands around the study's own tables

    def _lines(self, name: str) -> Iterable[bytes]:
        self.at = name
        for number, line in enumerate(self.file.lines(name), start=1):
            row = orjson.loads(line)
            if not isinstance(row, dict):
                raise rejection(f"A row of the table {name} is not a JSON object.")
            check_row(name, number, row)
            yield line
            self.n_done += 1
            if self.n_done % 500 == 0:
                require_room()
                self.told(self.n_done, f"storing {name}")

    def _rows(self, name: str) -> Iterable[dict[str, Any]]:
        yield from map(orjson.loads, self._lines(name))

    def _study_without_taxonomy(self, row: Mapping[str, Any]) -> Study:
        words = ("title", "guidelines", "resolve_when", "applies", "pseudonymise", "names_shown", "third_rater")
        given = {name: row[name] for name in (*words, "majority")}
        # Files of earlier versions have no such column: what was screened out stayed.
        given["screened_out"] = row.get("screened_out", Study.ScreenedOut.KEEP)
        given["screening_keywords"] = row.get("screening_keywords", [])
        if fields := wrong_words(given):
            raise rejection(f"The study in the file is not valid: {next(iter(fields))}.")
        key, primary = row["pseudonym_key"], row["primary"]
        if not isinstance(key, str) or len(key) != 64 or not isinstance(primary, dict):
            raise rejection("The study in the file is not valid: its settings can't be read.")
        archived = parse_datetime(row["archived_at"]) if row.get("archived_at") else None
        more: dict[str, Any] = {"primary": primary, "pseudonym_key": key, "archived_at": archived}
        return Study(slug=self.slug, created_by=self.user, **given, **more)

    def _people(self) -> None:
        """Reads who stands in the file; who was joined to an account there, is one person."""
        same = {
            row["formerly_id"]: row["user_id"]
            for row in self._rows("membership")
            if row["formerly_id"] and row["user_id"]
        }
        self.n_done = 0
        named = sorted(self._rows("people"), key=lambda row: bool(row.get("elsewhere")))
        if len(named) > PEOPLE_MOST:
            raise rejection(f"The file names more than {PEOPLE_MOST:,} people.")
        mark, taken = secrets.token_hex(4), set[str]()
        for number, row in enumerate((each for each in named if each["id"] not in same), start=1):
            name = self._name_of_its_own(str(row.get("elsewhere") or row["username"]), taken)
            made = User(
                username=f"elsewhere-{mark}-{number}",
                elsewhere=name,
                first_name=str(row["first_name"])[:150],
                last_name=str(row["last_name"])[:150],
                is_active=False,
            )
            made.set_unusable_password()
            made.save()
            self.people[row["id"]] = made.pk
            self.stored.n_people += 1
        for old, current in same.items():
            self.people[old] = self.people[current]

    def _name_of_its_own(self, name: str, taken: set[str]) -> str:
        """The user name of a person there, marked where another one there has the same: the study was moved before."""
        shown, turn = name[:150], 1
        while folded(shown) in taken or shown.endswith(f"({IMPORTED})"):
            turn += 1
            shown = f"{name[:130]} ({IMPORTED} {turn})"
        taken.add(folded(shown))
        return shown

    def _fill_people(self) -> None:
        room = LONGEST_NAME - len(f" ({IMPORTED})")
        shown = {each.pk: each.name_within(room) for each in User.objects.filter(pk__in=list(self.people.values()))}
        with connection.cursor() as cursor:
            for old, new in self.people.items():
                cursor.execute("INSERT INTO map_people VALUES (%s, %s, %s)", [old, new, shown[new]])

    def _taxonomies(self, study_row: Mapping[str, Any]) -> None:
        study = self.stored.study
        versions: dict[int, list[dict[str, Any]]] = {}
        taxonomies = list(self._rows("taxonomy"))
        for row in self._rows("taxonomyversion"):
            versions.setdefault(row["taxonomy_id"], []).append(row)
        screening = study_row["screening_taxonomy_id"]
        if screening is not None and screening == study_row["taxonomy_id"]:
            raise rejection(
                "The table study names one taxonomy in both columns, taxonomy_id and screening_taxonomy_id."
            )
        here: dict[int, Taxonomy] = {}
        known: dict[int, int] = {}
        for row in taxonomies:
            self.at = "taxonomyversion"
            # Screening rounds write versions, and hide the taxonomy from everyone else: it is this study's alone.
            found, ids, is_new = take_taxonomy(
                user=self.user,
                row=row,
                versions=versions.get(row["id"], []),
                people=self.people,
                may_use=self._may_screen_by if row["id"] == screening else _may_label_by,
                is_further=row["id"] in here or row["id"] not in (study_row["taxonomy_id"], screening),
            )
            here[row["id"]], known = found, known | ids
            is_own = found.maintainers.filter(pk=self.user.pk).exists()
            told = {"there": row["slug"], "here": found.slug, "is_new": is_new, "is_own": is_own}
            self.stored.taxonomies.append(told)
        self._map("map_taxonomyversion", known.items())
        by_key = ids_by_key(known)
        dimensions = {
            row["id"]: pk
            for row in self._rows("dimension")
            if (pk := by_key.get((row["version_id"], row["key"]))) is not None
        }
        self._map("map_dimension", dimensions.items())
        of_key = category_ids(dimensions.values())
        categories = (
            (row["id"], pk)
            for row in self._rows("category")
            if (pk := of_key.get((dimensions.get(row["dimension_id"], 0), row["key"]))) is not None
        )
        self._map("map_category", categories)
        self.at = "study"
        study.taxonomy = here[study_row["taxonomy_id"]]
        if wrong := wrong_in_brought(study.primary, study.taxonomy):
            raise rejection(f"Table study, row 1, column primary: not valid for {wrong[:100]}.")
        study.screening_taxonomy = here[screening] if screening is not None else None

    def _may_screen_by(self, taxonomy: Taxonomy) -> bool:
        """Whether a stored taxonomy can become the one that the study screens by: one of this person, in no use.

        It is that of a study which was deleted and comes back, whose other owners maintain it, too. Any other that has
        other maintainers stays theirs.
        """
        in_use = Study.objects.filter(Q(taxonomy=taxonomy) | Q(screening_taxonomy=taxonomy)).exists()
        maintainers = set(taxonomy.maintainers.all())
        is_closed = screening_taxonomies().filter(pk=taxonomy.pk).exists()
        return not in_use and self.user in maintainers and (is_closed or len(maintainers) == 1)

    def _map(self, name: str, pairs: Iterable[tuple[int, int]]) -> None:
        study_import.map_table(name)
        with connection.cursor() as cursor:
            for old, new in pairs:
                cursor.execute(f"INSERT INTO {name} VALUES (%s, %s)", [old, new])  # noqa: S608

    def _issues(self) -> None:
        stored = self.stored
        stored.n_new_repositories = study_import.store_repositories(self.user, self._lines("repositories"))
        stored.n_new_issues = study_import.store_issues(self.user, self._lines("issues"))
        stored.n_issues = self.file.tables["issues"].rows
        study_import.store_comments(self._lines("comments"))
        stored.n_new_snapshots, self.withheld = study_import.store_snapshots(self.user, self._lines("snapshots"))
        study_import.store_closing_changes(self.user, self._lines("closingchanges"))
        study_import.store_activities(self._lines("activities"))

    # The study's own tables

    def _allot(self, table: study_rows.StudyTable) -> None:
        """Takes ids for the rows of a table that others name before it is stored."""
        study_import.map_table(f"map_{table.name}")
        self.at = table.name
        for batch in study_import.batches(self.file.lines(table.name)):
            self._take_ids(table, study_import.as_array(batch))

    def _take_ids(self, table: study_rows.StudyTable, rows: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO map_{table.name} SELECT (value ->> 'id')::bigint, "  # noqa: S608
                "nextval(pg_get_serial_sequence(%s, 'id')) FROM json_array_elements(%s::json)",
                [table.model._meta.db_table, rows],
            )

    def _table(self, table: study_rows.StudyTable, study: Study) -> None:
        is_allotted = table.model is Assignment
        if not is_allotted:
            study_import.map_table(f"map_{table.name}")
        columns, values = _columns(table.model, study)
        statement = (
            f"INSERT INTO {table.model._meta.db_table} ({columns}) SELECT {values} "  # noqa: S608
            f"FROM json_populate_recordset(NULL::{table.model._meta.db_table}, %s::json) AS row "
            f"JOIN map_{table.name} own ON own.old = row.id ORDER BY own.new"
        )
        n_rows = 0
        for batch in study_import.batches(self._lines(table.name)):
            rows = study_import.as_array(batch)
            if not is_allotted:
                self._take_ids(table, rows)
            with connection.cursor() as cursor:
                cursor.execute(statement, [rows])
                n_rows += cursor.rowcount
        self.stored.n_rows[table.name] = n_rows


def _columns(model: type[Model], study: Study) -> tuple[str, str]:
    """The columns of a table, and what goes into each."""
    names, values = [], []
    columns = study_rows.columns_of(model)
    for column in model._meta.concrete_fields:
        if column not in columns and (model, column.column) not in OTHERWISE:
            continue
        names.append(f'"{column.column}"')
        values.append(_value(model, column, study))
    return ", ".join(names), ", ".join(values)


def _value(model: type[Model], column: Any, study: Study) -> str:
    name = f'row."{column.column}"'
    if (model, column.column) in OTHERWISE:
        return OTHERWISE[model, column.column]
    if column.primary_key:
        return "own.new"
    if isinstance(column.db_default, bool | int | str | list):  # a file of an earlier version lacks it
        return f"coalesce({name}, {adapt(column.db_default).getquoted().decode()})"
    if not isinstance(column, ForeignKey):
        return name
    if column.related_model is Study:
        return str(study.pk)
    related: Any = column.related_model
    found = MAPS.get(related) or f"map_{related._meta.model_name}"
    return (
        f"CASE WHEN {name} IS NULL THEN NULL "  # noqa: S608
        f"ELSE coalesce((SELECT m.new FROM {found} m WHERE m.old = {name}), {NOWHERE}) END"
    )


def _may_label_by(taxonomy: Taxonomy) -> bool:
    return not screening_taxonomies().filter(pk=taxonomy.pk).exists()


def table_names() -> list[str]:
    """The names of all tables of a study's file."""
    return [*AROUND, *OF_ISSUES, *(table.name for table in study_rows.study_tables())]
