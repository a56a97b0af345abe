"""Every action leaves a line in the audit of its study or in the server's, or it is said here why not."""

import ast
from pathlib import Path

import pytest

BASE_DIR = Path(__file__).resolve().parents[3]
APPS = ("accounts", "annotation", "ingest", "taxonomy")
ACTIONS = [
    path
    for app in APPS
    for path in sorted((BASE_DIR / app).rglob("*.py"))
    if "actions" in (path.stem, path.parent.name)
]
WRITES_ITSELF = "its own rows, which are only ever appended, say who and when"
NOTHING_LASTS = "it changes nothing that lasts, or what only its own person sees"
RUN_SAYS = "the row of the run says who, what and when"
ELSEWHERE = "the line is written by what it calls or is called by in another module"
WITHOUT = {
    "transfer.study_import.take_study": "the arrival's row says it until the study is stored",
    "transfer.rows.store_study": ELSEWHERE,
    "imports.attributes.keep_attributes": ELSEWHERE,
    "choosing.batches.start_job": ELSEWHERE,
    "choosing.samples.fetch_selection": "the run of the fetch says who and when",
    "discussion.write_remark": WRITES_ITSELF,
    "discussion.take_over": WRITES_ITSELF,
    "choosing.duplicates.exclude_duplicates": ELSEWHERE,
    "imports.ratings.import_ratings": ELSEWHERE,
    "imports.ratings.import_sheet": ELSEWHERE,
    "imports.ratings.import_plan": ELSEWHERE,
    "imports.ratings.plan_import": NOTHING_LASTS,
    "inbox.read_lines": NOTHING_LASTS,
    "labeling.answers.submit_annotation": WRITES_ITSELF,
    "labeling.answers.keep_draft": NOTHING_LASTS,
    "labels.part_matches.carry_match": ELSEWHERE,
    "plans.preview_plan": NOTHING_LASTS,
    "members.reader_links.open_reader_link": NOTHING_LASTS,
    "choosing.screening_rounds.screening_version": ELSEWHERE,
    "labeling.screening_answers.answer_screening": WRITES_ITSELF,
    "labeling.screening_answers.set_maybe": NOTHING_LASTS,
    "labeling.screening_answers.set_own_keywords": NOTHING_LASTS,
    "overview.first_study.take_demo_issues": RUN_SAYS,
    "overview.first_study.start_study": ELSEWHERE,
    "overview.first_study.set_raters": ELSEWHERE,
    "overview.first_study.open_first_round": ELSEWHERE,
    "labeling.next_item.take_beside_maybes": "the assignment says it",
    "labeling.next_item.take_following": "the assignment says it",
    "labeling.next_item.take_next": "the assignment says it",
    "calibration.training.passed_gate": NOTHING_LASTS,
    "imports.workbooks.take_workbook": "the workbook's row says it until the import writes its line",
    "imports.workbooks.keep_choices": NOTHING_LASTS,
    "imports.workbooks.confirm_workbook": "the import writes its line when it is done",
    "imports.workbooks.import_later": "the import writes its line when it is done",
    "imports.workbooks.throw_away": NOTHING_LASTS,
    "ingest.deliveries.take_delivery": "the delivery's row, and that of its run",
    "ingest.fetches.start_fetch": RUN_SAYS,
    "ingest.fetches.start_check": RUN_SAYS,
    "ingest.fetches.start_closing_fetch": RUN_SAYS,
    "ingest.fetches.start_asked": RUN_SAYS,
    "ingest.fetches.run_now": RUN_SAYS,
    "ingest.fetches.estimate_asked": NOTHING_LASTS,
    "ingest.fetches.queue_run": RUN_SAYS,
    "ingest.uploads.take_file": RUN_SAYS,
    "ingest.uploads.start_file_fetch": RUN_SAYS,
    "ingest.uploads.confirm_upload": RUN_SAYS,
    "ingest.uploads.take_upload": NOTHING_LASTS,
    "ingest.uploads.choose_sheet": NOTHING_LASTS,
    "ingest.uploads.throw_away": NOTHING_LASTS,
    "taxonomy.drafts.replace_draft": "the draft counts its revisions and says who wrote the last one",
    "taxonomy.drafts.keep_unfinished": "the draft counts its revisions and says who wrote the last one",
    "accounts.touch_token": "the token's row says it",
    "accounts.choose_theme": NOTHING_LASTS,
    "accounts.choose_keys": NOTHING_LASTS,
    "accounts.choose_image_hosts": NOTHING_LASTS,
    "accounts.choose_mails": NOTHING_LASTS,
    "accounts.end_session": NOTHING_LASTS,
    "accounts.end_other_sessions": NOTHING_LASTS,
    "accounts.told_of_links": "the link's row says who made it and when",
}


OF_NO_ROUND = {
    "plan run": "its number of items is hidden from people from whom a label is withheld",
    "plan undone": "it names versions",
    "export asked for": "it names what was asked for",
    "export cancelled": "it names the file",
    "export removed": "the hash is hidden from people who may not open the file",
    "AuditEvent.DOWNLOADED": "it names what was asked for",
    "saved an analysis": "it names the kind",
    "ANALYSIS_REMOVED": "it names the kind",
    "absence set": "it names a rater",
}
"""Lines that name no round, and why nobody reads an answer of an open round in them."""
SETTINGS = ("studies", "members", "invitations", "transfer", "choosing")
"""Features whose lines are about people, settings and items. Those about a round name it there, too."""


RECORD = {"record", "record_of_member"}


def lines_without_round(path: Path) -> set[str]:
    """The verbs that a module records without naming one round or several."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in RECORD:
            given = {each.arg: each.value for each in node.keywords}
            if not given.keys() & {"round", "rounds"}:
                found.add(ast.unparse(given["verb"]).strip("'"))
    return found


def silent(path: Path) -> set[str]:
    """Actions of a module in which nothing writes a line, neither there nor in a function of the module they call."""
    functions = {each.name: each for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)}
    called = {name: _called(function) for name, function in functions.items()}
    telling = {name for name, calls in called.items() if calls & RECORD}
    while more := {name for name, calls in called.items() if calls & telling} - telling:
        telling |= more
    public = {name for name, each in functions.items() if each.args.kwonlyargs and not name.startswith("_")}
    return {f"{called_by(path)}.{name}" for name in public - telling}


def called_by(path: Path) -> str:
    """`labeling.answers` for annotation/labeling/actions/answers.py, `plans` for annotation/plans/actions.py."""
    parts = path.relative_to(BASE_DIR).with_suffix("").parts
    return ".".join(part for part in parts if part not in ("annotation", "actions"))


def _called(function: ast.FunctionDef) -> set[str]:
    found = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in found}


@pytest.mark.parametrize("path", ACTIONS, ids=called_by)
def test_an_action_leaves_a_line_or_has_its_reason(path: Path) -> None:
    assert silent(path) - set(WITHOUT) == set()


def test_no_reason_is_given_for_an_action_that_is_not_there_or_leaves_a_line() -> None:
    assert set(WITHOUT) - {name for path in ACTIONS for name in silent(path)} == set()


def test_a_line_about_answers_names_its_rounds() -> None:
    """The log hides it from everyone from whom the answers of one of them are hidden."""
    paths = [path for path in (BASE_DIR / "annotation").rglob("*.py") if not set(path.parts) & set(SETTINGS)]
    assert {verb for path in paths for verb in lines_without_round(path)} == set(OF_NO_ROUND)
