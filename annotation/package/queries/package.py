"""Package writer: gathers the data of a study and writes them as one archive."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from django.conf import settings

import agreement
from annotation.analysis.queries.attributes import attribute_names
from annotation.calibration.queries.training import visible_gold
from annotation.charts.drawing import draw_each
from annotation.choosing.queries.samples import flow, frame_rows
from annotation.core.access import Seat
from annotation.core.archive import ZipArchive
from annotation.core.bulk_jobs import job_of
from annotation.core.errors import ConcordError, Conflict, Invalid
from annotation.core.issue_texts import change_rows, issue_rows
from annotation.exports.package_options import LICENCES, TEXTS
from annotation.exports.queries import rows
from annotation.exports.queries.requests import ExportKind, ExportProgress, ExportRequest
from annotation.labels.resolution_notes import NOTES
from annotation.methods import checklist_as_markdown, whole_markdown
from annotation.methods.queries.methods import methods
from annotation.models import Round, Sample
from annotation.package import descriptor, readme_and_citation
from annotation.package.dictionary import AGREEMENT, frame_of, tables
from annotation.package.figures import agreement_figures
from annotation.package.pdf import in_order
from annotation.package.queries import tables as queries
from annotation.package.queries.people import PEOPLE, PackagePeople
from annotation.package.queries.results import agreement_document, agreement_rows, analyses, training_document
from annotation.package.tables import PackageColumn, PackageTable, Row, TableWriter
from ingest.selections import FOLDER as SELECTIONS
from ingest.selections import selections
from shared.names import wrong_in
from taxonomy import kinds, schema
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import appendix_of, compare_versions, document, published_version
from taxonomy.ready_made import presets
from taxonomy.tree import TreeDimension

RECOMPUTE = Path(__file__).resolve().parents[1] / "recompute.py"
FORMULAS = Path(agreement.__file__).parent
"""What the script computes coefficients with."""
TELL_ROWS = 1000
REFUSED = "Package not created."
DEFAULTS: Mapping[str, Any] = {"texts": "referenced", "pseudonymise": True, "licence": "CC-BY-4.0", "authors": []}
AUTHORS_MOST, LONGEST = 100, 200


class WholeRoundSeat(Seat):
    """A seat that sees whole rounds only: one of which an item is withheld is hidden as a blind one is."""

    @cached_property
    def blind_round_ids(self) -> frozenset[int]:
        seat = Seat(self.user, self.study, self.membership)
        return seat.blind_round_ids | {each for each, _ in seat.withheld}

    @property
    def withheld(self) -> frozenset[tuple[int, int]]:
        return frozenset()


def in_sight(seat: Seat) -> list[Round]:
    """The rounds that a package made by this person holds, screening ones included."""
    shown = Round.objects.filter(study=seat.study).exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE])
    hidden = WholeRoundSeat(seat.user, seat.study, seat.membership).blind_round_ids
    found = shown.select_related("taxonomy_version__taxonomy").order_by("number")
    return [each for each in found if each.pk not in hidden]


def read_options(seat: Seat, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a package is asked for with. Raises Invalid with the fields, and Conflict where there is nothing to pack."""
    found, fields = dict(DEFAULTS), {}
    for name, value in given.items():
        if name not in DEFAULTS:
            fields[name] = ["A package does not have this option."]
        elif value is None or value == "":
            continue
        elif name == "authors":
            found[name], fields = _authors(value, fields)
        elif name == "pseudonymise":
            found[name] = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
            if not isinstance(found[name], bool):
                fields[name] = ["Use true or false."]
        elif name == "texts" and value not in tuple(TEXTS):
            fields[name] = [f"Use one of {', '.join(TEXTS)}."]
        elif name == "licence" and value not in tuple(LICENCES):
            fields[name] = [f"Use one of {', '.join(LICENCES)}."]
        else:
            found[name] = value
    if fields:
        raise Invalid(REFUSED, fields=fields)
    _rounds_to_pack(seat)
    return found


def _authors(value: Any, fields: dict[str, list[str]]) -> tuple[list[str], dict[str, list[str]]]:
    lines = value.splitlines() if isinstance(value, str) else value
    if not isinstance(lines, list) or not all(isinstance(each, str) and len(each) <= LONGEST for each in lines):
        return [], fields | {"authors": [f"Enter one name per line, at most {LONGEST} characters each."]}
    names = [name for each in lines if (name := " ".join(each.split()))]
    if len(names) > AUTHORS_MOST:
        return [], fields | {"authors": [f"Enter at most {AUTHORS_MOST} names."]}
    if wrong := list(filter(None, map(wrong_in, names))):
        return [], fields | {"authors": wrong}
    return names, fields


def rounds_of(seat: Seat, options: Mapping[str, Any]) -> Sequence[Round]:
    """The rounds whose answers come into the package."""
    return in_sight(seat)


def _rounds_to_pack(seat: Seat) -> list[Round]:
    found = in_sight(seat)
    if not queries.n_answers(found):
        hidden = (
            ""
            if not WholeRoundSeat(seat.user, seat.study, seat.membership).blind_round_ids
            else ", or you are still a rater in it"
        )
        raise Conflict(
            f"Nothing to package yet: no round of this study has labels{hidden}. You can create a package as "
            "soon as raters submit labels."
        )
    return found


def write_package(asked: ExportRequest, seat: Seat, file: IO[bytes], progress: ExportProgress) -> None:
    """Writes the archive in steady memory: tables lie in temporary files until they go into it.

    The same state of the study and the same options give the same bytes; files in it are of the day on which the last
    answer or decision was given. Raises Conflict where there is nothing to pack.
    """
    rounds = _rounds_to_pack(seat)
    sight = WholeRoundSeat(seat.user, seat.study, seat.membership)
    at = queries.newest_answer(rounds)
    assert at is not None
    day = at.astimezone(UTC).date()
    people = PackagePeople(seat.study, is_on=bool(asked.options["pseudonymise"]))
    with ZipArchive(file, day) as archive:
        package = _Package(asked.options, sight, rounds, archive, progress, people)
        package.write()
        cover = package.cover(day)
        resources = [
            (each, archive.sizes[f"{each.path}.csv"], archive.digests[f"{each.path}.csv"]) for each in package.resources
        ]
        archive.add("datapackage.json", descriptor.as_json(_descriptor(cover, resources, at.isoformat())))
        archive.add("README.md", readme_and_citation.readme(cover))
        archive.add("CITATION.cff", readme_and_citation.citation(cover))
        archive.add("LICENSE.md", readme_and_citation.license_note(cover))
        archive.add("recompute.py", RECOMPUTE.read_bytes())
        for path in sorted(FORMULAS.glob("*.py")):
            archive.add(f"agreement/{path.name}", path.read_bytes())
        for path in kinds.sources():
            archive.add(f"kinds/{path.name}", path.read_bytes())


def _descriptor(
    cover: readme_and_citation.Cover, resources: Sequence[tuple[PackageTable, int, str]], created: str
) -> dict[str, Any]:
    title, address = LICENCES[cover.licence]
    licence = None if cover.licence == "none" else {"name": cover.licence, "title": title, "path": address}
    return descriptor.descriptor(
        name=f"{cover.slug}-replication-package",
        title=cover.full_title,
        description=cover.abstract,
        version=cover.version,
        created=created,
        keywords=readme_and_citation.keywords(cover),
        licence=licence,
        authors=cover.authors,
        resources=resources,
    )


@dataclass
class _Package:
    """A package while it is written: what went in so far."""

    options: Mapping[str, Any]
    seat: Seat
    rounds: Sequence[Round]
    archive: ZipArchive
    progress: ExportProgress
    people: PackagePeople

    def write(self) -> None:
        study = self.seat.study
        self.versions = queries.versions_of(self.rounds, study)
        self.trees = [published_version(each.pk) for each in self.versions]
        self.files: list[tuple[str, str]] = []
        self.resources: list[PackageTable] = []
        self.counts: dict[str, int] = {}
        self.n_ratings = self.n_labels = 0
        self.n_rows = 0
        self.known = visible_gold(self.seat, self.rounds)
        self.own = [each for each in self.versions if each.taxonomy_id == study.taxonomy_id]
        titles = {each.key: each.title for tree in self.trees for each in tree.dimensions}
        self.raters = queries.rater_rows(study)
        codes = [each["rater"] for each in self.raters]
        self.tables = tables(
            list(titles.items()), codes, self._wide(), texts=self.options["texts"], attributes=attribute_names(study)
        )
        samples = Sample.objects.filter(study=study).defer("frame").order_by("pk").prefetch_related("bulk_jobs")
        self.samples = [each for each in samples if job_of(each) is None]  # without those that are still being drawn
        self.progress(0, n_expected=queries.n_rows_about(study, self.rounds), step="reading the study")
        self._write_tables()
        self._write_taxonomies()
        self._write_samples()
        self._write_results(titles)

    # Tables

    def _wide(self) -> list[PackageColumn]:
        """A column for each dimension of the study's taxonomy, as its newest version has it, with all categories."""
        found: dict[str, tuple[TreeDimension, dict[str, str]]] = {}
        for version in sorted(self.own, key=lambda each: -each.number):
            for dimension in published_version(version.pk).dimensions:
                _, categories = found.setdefault(dimension.key, (dimension, {}))
                for each in dimension.categories:
                    categories.setdefault(each.key, each.name)
        return [
            PackageColumn(
                key,
                dimension.question_kind.table_type,
                f"{dimension.title} ({dimension.kind}), in terms of the version that labels are told in.",
                list(categories.items()) if dimension.takes_one_category else [],
                is_ordered=dimension.has_steps,
                is_set=dimension.is_set,
            )
            for key, (dimension, categories) in found.items()
        ]

    def _write_tables(self) -> None:
        study, numbers = self.seat.study, {each.pk: each.number or 0 for each in self.samples}
        simple: list[tuple[str, Iterable[Row]]] = [
            ("rounds", queries.round_rows(study, self.rounds, numbers)),
            ("raters", self.raters),
            ("dimensions", queries.dimension_rows(self.trees)),
            ("categories", queries.category_rows(self.trees)),
            ("items", self._items(numbers)),
            ("round_items", queries.round_item_rows(self.rounds)),
            ("known_labels", self._known_labels()),
        ]
        for name, found in simple:
            with self._open(name) as (writer,):
                for row in found:
                    self._row(writer, row)
        training = queries.training_places(self.rounds)
        with self._open("answers", "ratings") as (answers, ratings):
            for given, said in queries.answers_and_ratings(self.rounds):
                for row in given:
                    self._row(answers, self.people.told(row, "memo", "skip_reason"))
                for row in said:
                    self._row(ratings, self.people.told(row, "proposal", "proposal_memo"))
                    self.n_ratings += (row["round"], row["item"]) not in training
        if "evidence" in self.tables:
            with self._open("evidence") as (writer,):
                for row in queries.evidence_rows(self.rounds):
                    self._row(writer, self.people.told(row, "quote"))
        with self._open("resolutions") as (writer,):
            for row in queries.resolution_rows(self.rounds):
                told = self.people.told(row, *NOTES)
                told["decided_by"] = self.people.member(row["decided_by"])
                told["meeting_participants"] = self.people.participants(row["meeting_participants"])
                self._row(writer, told)
        with self._open("labels", "labels_wide") as (long, wide):
            for _, found in rows.labels(self.seat):
                self._labels(long, wide, found)
        if "issues" in self.tables:
            with self._open("issues") as (writer,):
                for _, issue in issue_rows(study):
                    if issue.repository is not None:
                        self._row(writer, self._issue(issue))

        if "changes" in self.tables:
            names = [column.name for column in self.tables["changes"].columns]
            with self._open("changes") as (writer,):
                for _, found in change_rows(study):
                    for change in found:
                        told = self.people.change(change) | {"url": change["html_url"]}
                        self._row(writer, {name: told[name] for name in names})

    def _items(self, numbers: Mapping[int, int]) -> Iterator[Row]:
        for row in queries.item_rows(self.seat.study, self.rounds, numbers):
            yield {**self.people.told(row, "screening_reason"), "attributes": self.people.attributes(row["attributes"])}

    def _known_labels(self) -> Iterator[Row]:
        for row in queries.known_label_rows(self.rounds, self.known):
            yield self.people.told(row, "why")

    def _labels(self, long: TableWriter, wide: TableWriter, found: Sequence[Any]) -> None:
        parts: dict[int, dict[str, Any]] = {}
        types = self._types
        for label in found:
            row = vars(label)
            self._row(long, row)
            is_set = types[label.dimension] == "list"
            self.n_labels += bool(label.values) or (is_set and label.values is not None)
            part = parts.setdefault(label.part, {"item": label.item, "part": label.part})
            part[label.dimension] = _one(label.values, types[label.dimension])
        for _, part in sorted(parts.items()):
            self._row(wide, {**dict.fromkeys(types), **part})

    @property
    def _types(self) -> dict[str, str]:
        return {column.name: column.type for column in self.tables["labels_wide"].columns[2:]}

    def _issue(self, issue: Any) -> Row:
        _, _, url = queries.address_of(issue.item)
        told = self.people.issue(issue)
        names = {column.name for column in self.tables["issues"].columns}
        return {name: value for name, value in {**vars(told), "url": url}.items() if name in names}

    def _row(self, writer: TableWriter, row: Row) -> None:
        writer.write(row)
        self.n_rows += 1
        if self.n_rows % TELL_ROWS == 0:
            self.progress(self.n_rows)

    @contextmanager
    def _open(self, *names: str) -> Iterator[list[TableWriter]]:
        """Writers of tables, whose files go into the archive at the end."""
        with self._tables([self.tables[name] for name in names]) as writers:
            self.progress(self.n_rows, step=f"writing {self.tables[names[0]].title.lower()}")
            yield writers

    @contextmanager
    def _tables(self, wanted: Sequence[PackageTable]) -> Iterator[list[TableWriter]]:
        with ExitStack() as stack:
            writers = [
                TableWriter(each, {format: stack.enter_context(tempfile.TemporaryFile()) for format in each.formats})
                for each in wanted
            ]
            yield writers
            for writer in writers:
                writer.close()
                for format, file in writer.files.items():
                    self.archive.add_file(f"{writer.table.path}.{format}", file)
                self.counts[writer.table.name] = writer.n_rows
                self.resources.append(writer.table)

    # Taxonomies, samples, results

    def _write_taxonomies(self) -> None:
        for each in self.versions:
            name = f"taxonomy/{each.taxonomy.slug}-v{each.number}.yaml"
            self._add(name, schema.dump(document(each)), f"version {each.number} of the taxonomy {each.taxonomy.slug}")
            if each.parent is not None and each.parent.state != TaxonomyVersion.State.DRAFT:
                old, slug = each.parent, each.taxonomy.slug
                name = f"taxonomy/{slug}-v{old.number}-to-v{each.number}"
                found = compare_versions(old, each)
                self._add(f"{name}.md", appendix_of(found), "what changed between the two versions, as text")
        changes = queries.change_rows(self.versions)
        if changes:
            words = "the change of each category from a version to the next"
            self._add("taxonomy/changes.json", descriptor.as_json(changes), words)
        slugs = {each.taxonomy.slug for each in self.versions}
        for preset in presets():
            if preset.document.slug in slugs:
                self._add(
                    f"taxonomy/preset-{preset.name}.yaml", preset.text, "the ready-made taxonomy of the same name"
                )
        if self.seat.study.guidelines.strip():
            self._add("GUIDELINES.md", self.people.text(self.seat.study.guidelines), "what raters were told")

    def _write_samples(self) -> None:
        for each in self.samples:
            number = each.number or 0
            told = queries.sample_document(each, [vars(line) for line in flow(each)])
            self._add(
                f"sample/sample-{number}.json",
                descriptor.as_json(told),
                f"sample {number}: query, counts at each step, seed, strata, screening",
            )
            for selection in selections():
                if selection.filter and queries.is_filter(each, selection.filter):
                    text = (SELECTIONS / f"{selection.slug}.yaml").read_text(encoding="utf-8")
                    self._add(
                        f"sample/preset-{selection.slug}.yaml", text, f"the ready-made selection of sample {number}"
                    )
            try:
                found = frame_rows(self.seat, each)
            except ConcordError:
                continue  # Drawn before frames were kept, or with issues that this person may not see.
            with self._tables([frame_of(number)]) as (writer,):
                for row in found:
                    self._row(writer, row)
            could = f"all issues that sample {number} could have drawn, by repository and number"
            self.files.append((f"sample/sample-{number}-frame.csv", f"{could}, and the place of each in the draw"))

    def _write_results(self, titles: Mapping[str, str]) -> None:
        def step(words: str) -> None:
            self.progress(self.n_rows, step=words)

        found = agreement_document(self.seat, step)
        self._add(
            "results/agreement.json", descriptor.as_json(found), "every coefficient, by category, by pair, confusion"
        )
        with self._tables([AGREEMENT]) as (writer,):
            for row in agreement_rows(found["entries"]):
                self._row(writer, row)
        self.files.append(("results/agreement.csv", "the coefficients alone, a row for each"))
        if self.known:
            self._add(
                "results/training.json",
                descriptor.as_json(training_document(self.rounds, self.known)),
                "how raters did on the known labels of training items, before and after the feedback",
            )
        without = PEOPLE if self.options["pseudonymise"] else frozenset()
        told = analyses(self.seat, step, without=without)
        self._add(
            "results/analyses.json",
            descriptor.as_json(told.document),
            "counts, cross tables, flows, marks and effort over the agreed labels, and the analyses that were saved",
        )
        for name, text in told.tables.items():
            self._add(f"tables/{name}.tex", text, "a table of a saved analysis, for LaTeX with booktabs")
        self._draw({**agreement_figures(found["entries"], titles, self.seat.study.primary), **told.figures}, step)

    def _draw(self, figures: Mapping[str, Mapping[str, Any]], step: Callable[[str], None]) -> None:
        wanted = [(name, spec, format) for name, spec in figures.items() for format in ("svg", "pdf")]
        drawn = draw_each([(spec, format) for _, spec, format in wanted])
        for place, ((name, _, format), file) in enumerate(zip(wanted, drawn, strict=True), start=1):
            step(f"drawing figure {place} of {len(wanted)}")
            self.archive.add(f"figures/{name}.{format}", in_order(file) if format == "pdf" else file)
        self.files += [(f"figures/{name}.svg, .pdf", "a figure in the size of print") for name in figures]

    def _add(self, path: str, content: str, means: str) -> None:
        self.archive.add(path, content)
        self.files.append((path, means))

    def cover(self, day: Any) -> readme_and_citation.Cover:
        """What the papers are written from."""
        study = self.seat.study
        facts = replace(methods(self.seat), hidden=[])
        hidden = Round.objects.filter(study=study, pk__in=self.seat.blind_round_ids).order_by("number")
        return readme_and_citation.Cover(
            slug=study.slug,
            title=study.title,
            day=day,
            software=f"Concord {settings.CONCORD_VERSION} ({settings.CONCORD_COMMIT})",
            taxonomy=study.taxonomy.title,
            tables=self.tables,
            counts=self.counts,
            methods=f"{whole_markdown(facts)}\n### Checklist\n\n{checklist_as_markdown(facts)}",
            n_items=facts.n_items,
            n_raters=len({*facts.raters, *(code for code, _ in facts.third)}),
            n_ratings=self.n_ratings,
            n_labels=self.n_labels,
            has_agreement=facts.n_double > 0 and bool(facts.measured),
            licence=self.options["licence"],
            authors=self.options["authors"],
            texts=self.options["texts"],
            is_pseudonymized=self.options["pseudonymise"],
            hidden=list(hidden.values_list("number", flat=True)),
            files=self.files,
        )


def _one(values: Sequence[Any] | None, type: str) -> Any:
    """An agreed value as a cell of the wide table."""
    if values is None or type == "list":
        return values
    return values[0] if values else None


FILE_KIND = ExportKind(
    "Replication package", ("zip",), write_package, read_options, rounds_of, has_single_answers=True, has_frames=True
)
