"""Ratings of a spreadsheet become rounds of a study, and final values become resolutions."""

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from annotation.assignments.actions.finishing import finish_if_done
from annotation.core.access import OWNER, RATER, Seat, get_seat, require_at_work
from annotation.core.audit import record
from annotation.core.database_planner import TABLES, tell_planner
from annotation.core.demo_people import require_may_change_members, require_may_create_studies
from annotation.core.errors import Conflict, Invalid
from annotation.core.imported import IMPORTED, earlier_imports, round_labels
from annotation.core.locks import items_of_open_queue, require_no_plan
from annotation.core.memberships import come_in
from annotation.imports.actions.attributes import keep_attributes
from annotation.imports.actions.chunks import Chunk
from annotation.imports.actions.rows import RoundWriter
from annotation.imports.actions.vocabulary import NewStudy, extend_taxonomy, keep_spellings, make_study
from annotation.imports.queries.ratings import (
    CHUNK,
    CODE,
    are_being_labeled,
    are_under_way,
    decided_spellings,
    items_by_key,
    members_by_name,
    stored_issues,
    users_by_name,
)
from annotation.imports.sheets import GatheredSheet, RejectedRow, SheetRow, ValueReader
from annotation.imports.sheets.gathered_rows import MODEL
from annotation.imports.sheets.missing_values import MARKS
from annotation.imports.sheets.plans import SheetOptions, SheetPlan, guessed_plan, plan_sheet
from annotation.imports.sheets.questions import BLANKS, DUPLICATES, SheetQuestion, scales
from annotation.imports.sheets.rounds import is_trial, number_rounds
from annotation.imports.sheets.values import fold_value
from annotation.labels.answers import digest
from annotation.labels.queries.verdicts import has_open_disagreements, n_open_proposals
from annotation.model_raters.actions import LONGEST
from annotation.models import Item, Membership, Round, RoundItem, Study
from annotation.studies.actions.study_ids import require_available
from ingest.access import hold_repositories
from ingest.models import Issue, Repository
from ingest.upsert.copying import copy, new_ids
from shared.disk_space import require_room
from shared.names import folded
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import newest_published, published_version

Progress = Callable[[int, int], None]
"""Told how many answers of how many items are stored."""
APART: Mapping[str, str] = {
    Round.Kind.RELABEL: "a relabeling round, which only a migration makes",
    Round.Kind.SCREENING: "a screening round, which has its own dimensions",
}
"""Kinds of rounds of a file whose ratings no import takes, and why."""


@dataclass(frozen=True)
class ImportedRound:
    """A round that rows went into; `label` is what the sheet calls it."""

    number: int
    label: str
    state: str
    is_new: bool
    n_items: int
    is_newest: bool = False


@dataclass
class ImportReport:
    """What became of a sheet. Values that were refused are counted and listed; everything else is stored."""

    study: str
    is_new: bool
    taxonomy: str = ""
    version: int = 0
    n_rows: int = 0
    n_rows_without_label: int = 0
    n_ratings: int = 0
    n_resolutions: int = 0
    n_left_blank: int = 0
    n_unchanged: int = 0
    """Answers and resolutions of the sheet that were there before."""
    n_ratings_unchanged: int = 0
    n_attributes: int = 0
    n_items: int = 0
    n_raters: int = 0
    unblinded: list[str] = field(default_factory=list)
    """Codes of raters whom the sheet brings into a round of Concord after they could read answers there."""
    rounds: list[ImportedRound] = field(default_factory=list)
    refusals: list[RejectedRow] = field(default_factory=list)

    @property
    def n_refused(self) -> int:
        return len(self.refusals)

    @property
    def is_something(self) -> bool:
        """Whether anything of the sheet is in the study, from now or from before."""
        return bool(self.n_ratings or self.n_resolutions or self.n_left_blank or self.n_unchanged or self.n_attributes)

    def as_document(self) -> dict[str, Any]:
        """The report as the API and the command show it."""
        counts = (
            "rows",
            "rows_without_label",
            "ratings",
            "resolutions",
            "left_blank",
            "unchanged",
            "ratings_unchanged",
            "attributes",
            "items",
            "raters",
        )
        return {
            "study": self.study,
            "new": self.is_new,
            "taxonomy": {"slug": self.taxonomy, "version": self.version},
            **{f"n_{name}": getattr(self, f"n_{name}") for name in (*counts, "refused")},
            "unblinded": self.unblinded,
            "rounds": [
                {
                    "number": each.number,
                    "label": each.label,
                    "state": each.state,
                    "new": each.is_new,
                    "n_items": each.n_items,
                    "newest": each.is_newest,
                }
                for each in self.rounds
            ],
            "refusals": [
                {"line": each.line, "reason": each.reason, "row": each.row}
                | ({"sheet": each.sheet} if each.sheet else {})
                for each in self.refusals
            ],
        }


def plan_import(
    *,
    user: User,
    study: str,
    file: BinaryIO | bytes,
    name: str = "",
    options: SheetOptions,
    create: bool = False,
    shows: bool = False,
) -> SheetPlan:
    """Reads a file for a study that `user` owns, or is to own; nothing is stored.

    With `shows` columns that are missing are a question, and the file is read as the page would guess it. Raises as
    `import_ratings`.
    """
    for option, given, known in (
        ("duplicates", options.duplicates, DUPLICATES),
        ("blank", options.blank, BLANKS),
        ("decimal", options.decimal, MARKS),
    ):
        if given and given not in known:
            raise Invalid("Sheet not imported.", fields={option: [f"Use one of {', '.join(known)}."]})
    for text in {*map(fold_value, options.missing)} & {*map(fold_value, options.not_missing)} - {""}:
        sentence = f"“{text}” can't be both missing and not missing."
        raise Invalid(f"Sheet not imported. {sentence}", fields={"missing": [sentence]})
    if isinstance(file, bytes):
        file = io.BytesIO(file)
    if create:
        require_may_create_studies(user)
        require_available(study, user)
    if not create:
        get_seat(user, study).require(OWNER)
    tree = None if create else _tree_of(get_seat(user, study))
    try:
        return plan_sheet(file, name, options, tree)
    except Invalid as missing:
        if not shows or missing.code != "columns":
            raise
        return guessed_plan(file, name, options, tree, missing)


def _tree_of(seat: Seat) -> ValueReader:
    """A reader of the study's newest version, with what was decided about spellings."""
    taxonomy = seat.study.taxonomy
    version = newest_published(taxonomy)
    if version is None:
        raise Conflict(f"The taxonomy “{taxonomy.slug}” has no published version. Publish one first.")
    return ValueReader(published_version(version.pk), spellings=decided_spellings(seat))


def import_ratings(
    *,
    user: User,
    study: str,
    file: BinaryIO | bytes,
    name: str = "",
    mapping: Mapping[str, str] | None = None,
    dimensions: Sequence[str] = (),
    attributes: Sequence[str] = (),
    several: Sequence[str] = (),
    final: str = "final",
    create: bool = False,
    guess: bool = False,
    duplicates: str = "",
    blank: str = "",
    missing: Sequence[str] = (),
    not_missing: Sequence[str] = (),
    decimal: str = "",
    adds_accounts: bool = False,
) -> ImportReport:
    """Takes the ratings of a CSV, XLSX or Parquet file into a study that `user` owns; all of it in one transaction.

    `mapping` says which column holds a field; `dimensions` names columns with one dimension each, none for the long
    form; `attributes` name columns that describe the item itself, and a sheet that has them and no answers is a
    list of items of the study. Rows of the rater `final` become resolutions. With `create` the study and its taxonomy
    are made from the sheet. What Label Studio and doccano export is known by what is in it; with `guess` all sheets are
    read as the page would guess them. `duplicates` and `blank` answer what is asked about labels that were given twice,
    and about blanks of dimensions that take several values; `missing`, `not_missing` and `decimal` what is asked about
    values that may be missing, and about numbers with a comma.

    Importing the same rows again changes nothing; rows that complete an imported answer (a spelling was corrected)
    append a revision; rows that contradict what is there are refused. A sheet, or a round of one, of which everything
    is refused leaves nothing behind.

    A rater who is not a member is a name only, unless `adds_accounts` (the shell) or staff make the account of that
    name a member.

    Raises Unreadable, Invalid (columns, or `questions` that are open), NotFound, Forbidden, and Conflict where `create`
    finds the ID not available, or a plan of the study is at work.
    """
    options = SheetOptions(
        mapping or {},
        dimensions,
        attributes,
        several,
        final,
        guess,
        duplicates,
        blank,
        missing=missing,
        not_missing=not_missing,
        decimal=decimal,
    )
    plan = plan_import(user=user, study=study, file=file, name=name, options=options, create=create)
    return import_plan(user=user, study=study, plan=plan, name=name, create=create, adds_accounts=adds_accounts)


def import_plan(
    *,
    user: User,
    study: str,
    plan: SheetPlan,
    name: str = "",
    create: bool = False,
    adds_accounts: bool = False,
    dry_run: bool = False,
    on_progress: Progress | None = None,
) -> ImportReport:
    """Takes a file that was read. With `dry_run` nothing is stored. Raises as `import_ratings`."""
    require_answers(plan.questions)
    new = NewStudy(study, several=plan.several, scales=scales(plan.mapping)) if create else None
    return import_sheet(
        user=user,
        study=study,
        sheet=plan.sheet,
        name=name,
        new=new,
        on_progress=on_progress,
        adds_accounts=adds_accounts,
        dry_run=dry_run,
    )


class Unanswered(Invalid):
    """Questions about a sheet are open."""

    questions: Sequence[SheetQuestion] = ()


def require_answers(questions: Sequence[SheetQuestion]) -> None:
    """Raises Unanswered where questions are open, each under the option that answers it."""
    if not questions:
        return
    fields: dict[str, list[str]] = defaultdict(list)
    for each in questions:
        fields[each.option].append(each.in_full)
    n = len(questions)
    refused = Unanswered(
        f"Nothing was saved: {n} question{'s' if n > 1 else ''} about the sheet {'are' if n > 1 else 'is'} open.",
        code="questions",
        fields=dict(fields),
    )
    refused.questions = questions
    raise refused


def import_sheet(
    *,
    user: User,
    study: str,
    sheet: GatheredSheet,
    name: str = "",
    new: NewStudy | None = None,
    meanings: Mapping[tuple[str, str], str] | None = None,
    added: Sequence[tuple[str, str]] = (),
    on_progress: Progress | None = None,
    adds_accounts: bool = False,
    dry_run: bool = False,
) -> ImportReport:
    """Takes rows that were gathered into a study, or a `new` one; all of it in one transaction, as `import_ratings`.

    `meanings` say what values stand for that are no categories (dimension as `loose`, value as `folded` give it), and
    are remembered; `added` (dimension, value) become categories of a new version first. With `dry_run` all of it is
    rolled back.
    """
    seat = None
    if new is None:
        seat = get_seat(user, study)
        seat.require(OWNER)
        require_no_plan(seat.study)
    require_room()
    with transaction.atomic():
        if seat is None:
            assert new is not None
            seat = make_study(user, new, sheet)
        elif added:
            extend_taxonomy(seat, added)
        work = _Import(seat, sheet, name, is_new=new is not None, on_progress=on_progress, adds_accounts=adds_accounts)
        if meanings:
            keep_spellings(seat, work.reader, meanings)
        report = work.run()
        if added and report.is_something:
            work.require_new_categories_in_order()
        if new is None and not report.is_something:
            transaction.set_rollback(True)
        elif new is not None and new.taxonomy and not report.is_something:
            why = report.refusals[0].reason if report.refusals else "The sheets contain no labels."
            raise Invalid(f"Nothing matches the chosen taxonomy, so no study was created. {why}", code="nothing")
        if dry_run:
            transaction.set_rollback(True)
    return report


class _Import:
    """One import while it runs."""

    def __init__(
        self,
        seat: Seat,
        sheet: GatheredSheet,
        name: str,
        *,
        is_new: bool,
        on_progress: Progress | None = None,
        adds_accounts: bool = False,
    ) -> None:
        self.adds_accounts = adds_accounts
        self.seat = seat
        studies = Study.objects.select_for_update(of=("self",), no_key=True).select_related("taxonomy")
        self.study = studies.get(pk=seat.study.pk)
        seat.require_again()
        require_at_work(self.study)
        self.sheet = sheet
        self.name = name
        self.version = self._newest_version()
        self.report = ImportReport(
            seat.study.slug,
            is_new,
            self.version.taxonomy.slug,
            self.version.number,
            n_rows=sheet.n_rows,
            n_rows_without_label=sheet.n_rows_without_label,
        )
        self.readers: dict[int, ValueReader] = {}
        self.on_progress = on_progress
        self.n_done = 0
        self.new: list[Round] = []
        """Rounds that the import makes."""
        self.told: set[tuple[int, int | None]] = set()
        """Item and rater of everything with a label, as chunks list it."""
        self.n_total = len(sheet.part_labels)
        self.answers: dict[tuple[str, str], list[tuple[str, list[SheetRow]]]] = defaultdict(list)
        for (label, item, rater), rows in sheet.answers.items():
            self.answers[label, item].append((rater, rows))
        self.later: dict[tuple[str, str], list[tuple[str, list[SheetRow]]]] = defaultdict(list)
        for (label, item, rater), rows in sheet.later.items():
            self.later[label, item].append((rater, rows))

    def _newest_version(self) -> TaxonomyVersion:
        version = newest_published(self.study.taxonomy)
        if version is None:
            raise Conflict(f"The taxonomy “{self.study.taxonomy.slug}” has no published version. Publish one first.")
        version.taxonomy = self.study.taxonomy
        return version

    @property
    def reader(self) -> ValueReader:
        """Of the newest version, without what was decided about spellings."""
        return ValueReader(published_version(self.version.pk))

    def run(self) -> ImportReport:
        self.spellings = decided_spellings(self.seat)
        if not self.report.is_new:
            self._check_dimensions()
        self.members = self._members()
        self.items = self._items()
        self.report.n_attributes, described = keep_attributes(
            user=self.seat.user, study=self.study, sheet=self.sheet, items=self.items
        )
        numbers = self._numbers()
        for number, label in sorted((number, label) for label, number in numbers.items()):
            with transaction.atomic():
                if not self._import_round(label, number):
                    transaction.set_rollback(True)
                    del numbers[label]
        newest = max(round_labels(self.study), default=0)
        self.report.rounds = [replace(each, is_newest=each.number == newest) for each in self.report.rounds]
        self.report.n_items = len({item for item, _ in self.told} | described)
        self.report.n_raters = len({rater for _, rater in self.told} - {None})
        sheets = list(dict.fromkeys(refusal.sheet for refusal in self.sheet.refusals))
        self.report.refusals = sorted(
            self.sheet.refusals, key=lambda refusal: (sheets.index(refusal.sheet), refusal.line)
        )
        tell_planner(max(self.report.n_ratings, self.report.n_items), (*TABLES, "item"))
        record(
            study=self.study,
            user=self.seat.user,
            verb=IMPORTED,
            file=self.name,
            rows=self.report.n_rows,
            ratings=self.report.n_ratings,
            resolutions=self.report.n_resolutions,
            **({"attributes": self.report.n_attributes} if self.report.n_attributes else {}),
            refused=self.report.n_refused,
            rounds=numbers,
            places=self._places(),
        )
        return self.report

    def _check_dimensions(self) -> None:
        """A sheet without a single known dimension is another study's; that is said at once and not per row."""
        reader = self._reader(self.version.pk)
        readers = [reader]
        if self.study.screening_taxonomy and (asked := newest_published(self.study.screening_taxonomy)):
            readers.append(self._reader(asked.pk))
        if self.sheet.dimensions and not any(
            each.dimension(name) for name in self.sheet.dimensions for each in readers
        ):
            known = ", ".join(dimension.key for dimension in reader.tree.dimensions)
            named = ", ".join(list(self.sheet.dimensions)[:10])
            raise Invalid(
                f"The study's taxonomy has none of these dimensions: {named}. It has: {known}.",
                code="dimensions",
                fields={"dimension": [f"None of these is a dimension of {self.version.taxonomy.slug}: {named}."]},
            )

    def _reader(self, version_id: int) -> ValueReader:
        if version_id not in self.readers:
            tree = published_version(version_id)
            screening = self.study.screening_taxonomy
            takes_proposals = screening is None or tree.slug != screening.slug
            self.readers[version_id] = ValueReader(tree, takes_proposals, self.spellings)
        return self.readers[version_id]

    # Who and what

    def _members(self) -> dict[str, Membership]:
        """A member of the study for every rater: one who is there, a user by that name, or only the name.

        Raises Forbidden where the people of the demo would add a member or a role.
        """
        there = members_by_name(self.study)
        names = {rater: folded(spelling) for rater, spelling in self.sheet.raters.items()}
        found = {rater: there[name] for rater, name in names.items() if name in there}
        missing = [rater for rater in names if rater not in found]
        users = self._accounts([names[rater] for rater in missing if not CODE.fullmatch(rater.upper())])
        models = {rater for (_, _, rater), role in self.sheet.beside.items() if role == MODEL}
        taken = {member.code for member in there.values() if member.code}
        wanted = {rater.upper() for rater in missing if CODE.fullmatch(rater.upper())} - taken
        number = 1
        for rater, spelling in self.sheet.raters.items():
            member = found.get(rater) or Membership(study=self.study, name=spelling, roles=[])
            if member.pk is None and names[rater] in users and rater not in models:
                member.name = ""
                come_in(member, users[names[rater]])
            if member.pk is None and rater in models:
                member.kind, member.machine_name = Membership.Kind.MACHINE, spelling[: LONGEST["name"]]
            if not member.code:
                member.code = rater.upper() if rater.upper() in wanted else ""
                while not member.code:
                    free, number = f"R{number}", number + 1
                    member.code = "" if free in taken | wanted else free
                taken.add(member.code)
            if RATER not in member.roles:
                require_may_change_members(self.seat.user)
                member.roles = [role for role in Membership.Role.values if role == RATER or role in member.roles]
                member.save(update_fields=["roles", "code"] if member.pk else None)
            found[rater] = member
        return {rater: found[rater] for rater in self.sheet.raters}

    def _accounts(self, names: Sequence[str]) -> dict[str, User]:
        """The accounts that the sheet may make members, by their names as `folded`.

        Any account from the shell and for staff, else only one's own: nobody is added to a study by a sheet unasked,
        and no sheet tells who has an account.
        """
        own = self.seat.user
        if self.adds_accounts or own.is_staff:
            return users_by_name(names)
        return {name: own} if (name := folded(own.username)) in names else {}

    def _items(self) -> dict[str, Item]:
        """An item of the study for every name; issues that are stored are linked."""
        names = self.sheet.items
        issues = stored_issues(self.seat.user, names.values())
        held = hold_repositories(Issue.objects.filter(pk__in=[issue.pk for issue in issues.values()]))
        readable = set(Repository.objects.visible_to(self.seat.user).filter(pk__in=held).values_list("pk", flat=True))
        issues = {key: issue for key, issue in issues.items() if issue.repository_id in readable}
        found = items_by_key(self.study, names, issues)
        linked = []
        for key, item in found.items():
            if item.issue_id is None and key in issues:
                item.issue, item.snapshot_id = issues[key], issues[key].current_snapshot_id
                linked.append(item)
        Item.objects.bulk_update(linked, ["issue", "snapshot"], batch_size=CHUNK)
        made = [
            Item(
                study=self.study,
                issue=issues.get(key),
                snapshot_id=issues[key].current_snapshot_id if key in issues else None,
                identifier=issues[key].identifier if key in issues else name.identifier,
            )
            for key, name in names.items()
            if key not in found
        ]
        for item, number in zip(made, new_ids("annotation_item", len(made)), strict=True):
            item.pk = number
        copy(
            "annotation_item",
            ["id", "study_id", "issue_id", "snapshot_id", "identifier", "screening", "screening_reason", "attributes"],
            (
                (
                    item.pk,
                    self.study.pk,
                    item.issue_id,
                    item.snapshot_id,
                    item.identifier,
                    str(item.screening),
                    "",
                    "{}",
                )
                for item in made
            ),
        )
        made_in_order = iter(made)
        return {key: found.get(key) or next(made_in_order) for key in names}

    # Rounds

    def _numbers(self) -> dict[str, int]:
        """Round label → number. A sheet without rounds is a round of its own, unless the same raters and items came
        before.
        """
        if "" in self.sheet.rounds:
            for detail in earlier_imports(self.study):
                rounds = detail.get("rounds")
                if isinstance(rounds, dict) and "" in rounds and detail.get("places") == self._places():
                    return {"": int(rounds[""])}
        return number_rounds(self.sheet.rounds, round_labels(self.study), self.sheet.round_labels)

    def _places(self) -> str:
        """Which rater rated which item where the sheet names no round, as a digest."""
        return digest(sorted([item, rater] for label, item, rater in self.sheet.answers if not label))

    def _round(self, label: str, number: int) -> tuple[Round, bool]:
        found = Round.objects.select_for_update().filter(study=self.study, number=number).first()
        if found is not None:
            return found, False  # Locked: its raters wait, so that nobody's place or count is lost.
        planned = [place for place in self.sheet.answers if place not in self.sheet.beside]
        per_item = Counter(item for each, item, _ in planned if each == label)
        most = max(per_item.values(), default=1)
        now = timezone.now()
        name = self.sheet.round_labels.get(label, label)
        kind = Round.Kind.PILOT if is_trial(name) else Round.Kind.MAIN
        if self.sheet.round_kinds.get(label) in (Round.Kind.PILOT, Round.Kind.MAIN):
            kind = Round.Kind(self.sheet.round_kinds[label])
        made = Round.objects.create(
            study=self.study,
            number=number,
            label=name,
            kind=kind,
            taxonomy_version=self._version_of(label),
            raters_per_item=most,
            double_share=sum(n == most for n in per_item.values()) / len(per_item) if per_item and most > 1 else 1.0,
            state=Round.State.RESOLVING,
            created_by=self.seat.user,
            opened_at=now,
            resolving_at=now,
        )
        return made, True

    def _version_of(self, label: str) -> TaxonomyVersion:
        """The version that a new round is labeled under: as a file of Concord has it, else the newest one."""
        number = self.sheet.versions.get(label, self.version.number)
        published = TaxonomyVersion.State.PUBLISHED, TaxonomyVersion.State.RETIRED
        found = self.study.taxonomy.versions.filter(number=number, state__in=published).first()
        return found or self.version

    def _import_round(self, label: str, number: int) -> bool:
        """Whether the round is to stay: a new one of which everything was refused is not."""
        round_, is_new = self._round(label, number)
        told: set[int] = set()
        if is_new:
            self._refuse_apart(label, number)
        self._refuse_other_kinds(label)
        keys = [item for each, item in self.sheet.part_labels if each == label and item in self.sheet.items]
        if round_.state == Round.State.DRAFT:
            for key in keys:
                self._refuse_all(label, key, f"Round {number} is a draft. Open it before labels are imported.")
        elif round_.state == Round.State.UNDONE:
            for key in keys:
                self._refuse_all(label, key, f"Round {number} was undone and accepts no labels.")
        else:
            keys = self._not_queued(round_, label, keys)
            reader = self._reader(round_.taxonomy_version_id)
            writer = RoundWriter(round_, reader.tree, self.seat.user, is_new)
            if is_new:
                writer.start_unblinded([self.members[rater] for each, rater in self.sheet.unblinded if each == label])
            else:
                visible = [key for key in keys if not self._hides(round_, self.items[key].id)]
                items = [self.items[key].id for key in visible]
                writer.mark_unblinded(self._raters_of(label, visible), items)
            for start in range(0, len(keys), CHUNK):
                chunk = Chunk(
                    self.sheet,
                    label,
                    round_,
                    is_new,
                    keys[start : start + CHUNK],
                    self.answers,
                    self.members,
                    self.items,
                    self.later,
                    reader,
                    self._hides,
                )
                chunk.write(writer)
                self.told |= chunk.told
                told |= {item for item, _ in chunk.told}
                self.report.n_unchanged += chunk.n_unchanged
                self.report.n_ratings_unchanged += chunk.n_ratings_unchanged
                self.n_done += len(chunk.keys)
                require_room()
                if self.on_progress:
                    self.on_progress(self.n_done, self.n_total)
            writer.finish()
            if is_new and not (writer.n_ratings or writer.n_decided or writer.n_left_blank):
                return False
            if self.adds_accounts or self.seat.sees_all_results(round_.pk):  # the rest tells who read answers
                self.report.unblinded += writer.marked
            self.report.n_ratings += writer.n_ratings
            self.report.n_resolutions += writer.n_decided
            self.report.n_left_blank += writer.n_left_blank
            self._move_on(round_, is_new)
        self.report.rounds.append(ImportedRound(number, label, round_.state, is_new, len(told)))
        return True

    def _not_queued(self, round_: Round, label: str, keys: list[str]) -> list[str]:
        """Refuses items that would come into an open round while a relabeling queue is open that can hold them."""
        of_open = [self.items[key].id for key in keys] if round_.state == Round.State.OPEN else []
        found = items_of_open_queue(self.study.pk, of_open) if of_open else None
        if found is None:
            return keys
        here = RoundItem.objects.filter(round=round_, item__in=of_open).values_list("item_id", flat=True)
        queued = set(found[1]) - set(here)
        for key in keys:
            if self.items[key].id in queued:
                queue = f"Round {found[0]}, a relabeling queue, is open, and this item was labeled before it."
                self._refuse_all(label, key, f"{queue} Import it once labeling in the queue has ended.")
        return [key for key in keys if self.items[key].id not in queued]

    def _refuse_apart(self, label: str, number: int) -> None:
        """Refuses the ratings of a round that no import makes; what was agreed there can be imported."""
        why = APART.get(self.sheet.round_kinds.get(label, ""))
        for place in [place for place in self.sheet.answers if place[0] == label] if why else ():
            for row in (*self.sheet.answers.pop(place), *self.sheet.later.pop(place, ())):
                self.sheet.refuse(row, f"Round {number} of the file is {why}. Import its agreed labels instead.")
            self.answers.pop(place[:2], None)
            self.later.pop(place[:2], None)

    def _refuse_other_kinds(self, label: str) -> None:
        """Refuses what a file has as a person's in the name of a model rater of the study, and the other way round."""
        for place, role in self.sheet.beside.items():
            if place[0] != label or place not in self.sheet.answers:
                continue
            member = self.members[place[2]]
            if member.is_machine == (role == MODEL):
                continue
            here, there = ("a model rater", "a person") if member.is_machine else ("a person", "a model rater")
            for row in self.sheet.answers[place]:
                self.sheet.refuse(row, f"{member} is {here} in this study and {there} in the file.")
            for rows in (self.answers, self.later):
                rows[place[:2]] = [each for each in rows.get(place[:2], ()) if each[0] != place[2]]

    def _hides(self, round_: Round, item: int) -> bool:
        """Whether the labels of an item are hidden from the importer: in a relabeling queue all, if any are.

        Otherwise the report on rows with visible items would show who is in the queue.
        """
        if self.adds_accounts:
            return False
        return round_.pk in self.seat.withheld_queues or self.seat.hides(round_, item)

    def _raters_of(self, label: str, keys: Sequence[str]) -> list[Membership]:
        return list(
            {rater: self.members[rater] for key in keys for rater, _ in self.answers.get((label, key), ())}.values()
        )

    def _move_on(self, round_: Round, is_new: bool) -> None:
        """A new round is closed at once where nothing is left to decide; an open one may have got its last answer.

        Not while an item of it is under way in a round that was there before: from people who label it there, or read
        by a link, it is withheld whether its raters differ.
        """
        if is_new:
            self.new.append(round_)
            if are_under_way(self.study, round_.round_items.order_by().values("item"), apart=self.new):
                return
            if not n_open_proposals(round_) and not has_open_disagreements(round_):
                round_.state, round_.closed_at = Round.State.CLOSED, timezone.now()
                round_.save(update_fields=["state", "closed_at"])
        elif round_.state == Round.State.OPEN:
            finish_if_done(round_.pk)
            round_.refresh_from_db(fields=["state"])

    def require_new_categories_in_order(self) -> None:
        """Raises Conflict where values become categories for no new round, or while an item is being labeled."""
        if not self.new:
            raise Conflict(
                "Rounds that exist keep their version of the taxonomy, so no value of theirs becomes a new category. "
                "Give the rows another round, or take the value as a proposal.",
                code="no_new_round",
            )
        if are_being_labeled(self.study, [each.pk for each in self.items.values()]):
            raise Conflict(
                "A value can't become a new category while an item of the sheet is in another round that is not "
                "closed: the new version would show this label to people who label the item. Take the value as a "
                "proposal, or import the sheet when that round is closed.",
                code="item_under_way",
            )

    def _refuse_all(self, label: str, key: str, reason: str) -> None:
        rows = [row for _, each in self.answers.get((label, key), ()) for row in each]
        for row in (*rows, *self.sheet.finals.get((label, key), ())):
            self.sheet.refuse(row, reason)
