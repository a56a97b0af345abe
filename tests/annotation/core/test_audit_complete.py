"""Every action leaves a line in the audit of its study or in the server's, or it is said here why not."""

import ast
from pathlib import Path

import pytest

BASE_DIR = Path(__file__).resolve().parents[3]
APPS = ("annotation", "ingest", "taxonomy")
ACTIONS = [path for app in APPS for path in sorted((BASE_DIR / app / "actions").glob("*.py"))]
ACTIONS.append(BASE_DIR / "accounts/actions.py")
WRITES_ITSELF = "its own rows, which are only ever appended, say who and when"
NOTHING_LASTS = "it changes nothing that lasts, or what only its own person sees"
RUN_SAYS = "the row of the run says who, what and when"
ELSEWHERE = "the line is written by what it calls or is called by in another module"
WITHOUT = {
    "arriving.take_study": "the arrival's row says it until the study is stored",
    "arriving_rows.store_study": ELSEWHERE,
    "attributes.keep_attributes": ELSEWHERE,
    "bulk.start_job": ELSEWHERE,
    "choosing.fetch_selection": "the run of the fetch says who and when",
    "discussing.write_remark": WRITES_ITSELF,
    "discussing.take_over": WRITES_ITSELF,
    "duplicates.exclude_duplicates": ELSEWHERE,
    "imports.import_ratings": ELSEWHERE,
    "imports.import_gathered": ELSEWHERE,
    "imports.import_plan": ELSEWHERE,
    "imports.plan_import": NOTHING_LASTS,
    "inbox.read_lines": NOTHING_LASTS,
    "labelling.submit_annotation": WRITES_ITSELF,
    "labelling.keep_draft": NOTHING_LASTS,
    "matching.carry_match": ELSEWHERE,
    "plans.preview_plan": NOTHING_LASTS,
    "reader_links.open_reader_link": NOTHING_LASTS,
    "screening.screening_version": ELSEWHERE,
    "screening_answers.answer_screening": WRITES_ITSELF,
    "screening_answers.set_maybe": NOTHING_LASTS,
    "screening_answers.set_own_keywords": NOTHING_LASTS,
    "own_invitations.decline": ELSEWHERE,
    "starting.take_demo_issues": RUN_SAYS,
    "starting.start_study": ELSEWHERE,
    "starting.set_raters": ELSEWHERE,
    "starting.open_first_round": ELSEWHERE,
    "studies.ask_in": ELSEWHERE,
    "studies.record": "it is the line",
    "taking.take_beside_maybes": "the assignment says it",
    "taking.take_following": "the assignment says it",
    "taking.take_next": "the assignment says it",
    "training.passed_gate": NOTHING_LASTS,
    "workbooks.take_workbook": "the workbook's row says it until the import writes its line",
    "workbooks.keep_choices": NOTHING_LASTS,
    "workbooks.confirm_workbook": "the import writes its line when it is done",
    "workbooks.import_later": "the import writes its line when it is done",
    "workbooks.throw_away": NOTHING_LASTS,
    "deliveries.take_delivery": "the delivery's row, and that of its run",
    "fetches.start_fetch": RUN_SAYS,
    "fetches.start_check": RUN_SAYS,
    "fetches.start_closing_fetch": RUN_SAYS,
    "fetches.start_asked": RUN_SAYS,
    "fetches.run_now": RUN_SAYS,
    "fetches.estimate_asked": NOTHING_LASTS,
    "fetches.queue_run": RUN_SAYS,
    "uploads.take_file": RUN_SAYS,
    "uploads.start_file_fetch": RUN_SAYS,
    "uploads.confirm_upload": RUN_SAYS,
    "uploads.take_upload": NOTHING_LASTS,
    "uploads.choose_sheet": NOTHING_LASTS,
    "uploads.throw_away": NOTHING_LASTS,
    "drafts.replace_draft": "the draft counts its revisions and says who wrote the last one; it holds for nobody yet",
    "drafts.keep_unfinished": "the draft counts its revisions and says who wrote the last one; it holds for nobody yet",
    "actions.touch_token": "the token's row says it",
    "actions.choose_theme": NOTHING_LASTS,
    "actions.choose_keys": NOTHING_LASTS,
    "actions.choose_image_hosts": NOTHING_LASTS,
    "actions.choose_mails": NOTHING_LASTS,
    "actions.end_session": NOTHING_LASTS,
    "actions.end_other_sessions": NOTHING_LASTS,
    "actions.told_of_links": "the link's row says who made it and when",
}


def silent(path: Path) -> set[str]:
    """Actions of a module in which nothing writes a line, neither there nor in a function of the module they call."""
    functions = {each.name: each for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)}
    called = {name: _called(function) for name, function in functions.items()}
    telling = {name for name, calls in called.items() if "record" in calls}
    while more := {name for name, calls in called.items() if calls & telling} - telling:
        telling |= more
    public = {name for name, each in functions.items() if each.args.kwonlyargs and not name.startswith("_")}
    return {f"{path.stem}.{name}" for name in public - telling}


def _called(function: ast.FunctionDef) -> set[str]:
    found = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in found}


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_an_action_leaves_a_line_or_has_its_reason(path: Path) -> None:
    assert silent(path) - set(WITHOUT) == set()


def test_no_reason_is_given_for_an_action_that_is_not_there_or_leaves_a_line() -> None:
    assert set(WITHOUT) - {name for path in ACTIONS for name in silent(path)} == set()
