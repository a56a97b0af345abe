"""Files that a job makes: asked for, made once whatever happens, blind where its owner is, and whose they are."""

import hashlib
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.storage import FileSystemStorage, default_storage
from django.test import Client
from django.utils import timezone

from annotation.core.errors import Conflict
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import AT_WORK_MOST, cancel_export, remove_export, request_export
from annotation.exports.queries.kinds import KINDS
from annotation.members.actions.members import add_member
from annotation.models import AuditEvent, Export, Study
from annotation.rounds.actions.rounds import resolve_round
from shared import jobs as job_base
from shared.job_holds import JobLockKind, hold_job
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db
EXPORTS = "studies/study/exports/"
OF_ROWS = [what for what in KINDS if what not in ("package", "study")]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, settings: LazySettings) -> Path:
    """The storage of each test is a folder of its own."""
    folder = tmp_path / "files"
    options = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": folder}}
    settings.STORAGES = {**settings.STORAGES, "default": options}
    return folder


def build_study() -> Study:
    """Two items that bob and carol rated, of the second differently."""
    made = make.study()
    make.rate(make.open_round(made, 2), "item bob carol\n1 crash crash\n2 crash hang")
    return made


def made(study: Study, what: str = "ratings", format: str = "csv", **options: Any) -> Export:
    """An export of the owner that has been worked on."""
    export = request_export(seat=make.owner_seat(study), what=what, format=format, options=options, send=False)
    export_jobs.work(export.pk)
    export.refresh_from_db()
    return export


def bytes_of(export: Export) -> bytes:
    with export.file.open("rb") as file:
        return file.read()


def stored(folder: Path) -> list[str]:
    return [each.name for each in folder.rglob("*") if each.is_file()]


def test_a_script_asks_for_a_file_and_takes_it_home(study: Study) -> None:
    olga = Script("olga")
    asked = olga.send("POST", EXPORTS, {"what": "ratings", "format": "csv", "round": 1})
    export = asked.json()
    assert (asked.status_code, export["state"], export["options"], export["download"]) == (
        202, "queued", {"round": 1}, None,
    )  # fmt: skip
    assert olga.refused("GET", f"exports/{export['id']}/download/", None, 409) == {}
    export_jobs.work(Export.number_of(export["id"]) or 0)
    done = olga.send("GET", f"exports/{export['id']}/").json()
    assert (done["state"], done["rows"], done["rounds"], done["left_out"], done["error"]) == ("done", 4, [1], [], None)
    answer = olga.client.get(done["download"], headers=olga.headers)
    sent = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert (len(sent), hashlib.sha256(sent).hexdigest()) == (done["bytes"], done["sha256"])
    assert answer["Content-Disposition"] == 'attachment; filename="study-ratings-1.csv"'
    streamed = olga.client.get("/api/v1/studies/study/ratings/?format=csv&round=1", headers=olga.headers)
    assert sent == b"".join(streamed.streaming_content)  # type: ignore[attr-defined]
    assert [each["id"] for each in olga.send("GET", EXPORTS).json()["results"]] == [export["id"]]


@pytest.mark.parametrize("what", OF_ROWS)
def test_two_files_of_the_same_state_are_equal_to_the_byte(study: Study, what: str) -> None:
    for format in KINDS[what].formats:
        first, second = made(study, what, format), made(study, what, format)
        assert (first.state, first.error, second.state) == ("done", "", "done")
        assert first.sha256 == second.sha256 == hashlib.sha256(bytes_of(second)).hexdigest()
        assert first.number != second.number and first.file.name != second.file.name


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "what"),
        ({"what": "secrets"}, "what"),
        ({"what": ["labels"]}, "what"),
        ({"what": "labels", "format": "xlsx"}, "format"),
        ({"what": "labels", "format": {}}, "format"),
        ({"what": "labels", "version": 9}, "version"),
        ({"what": "labels", "version": True}, "version"),
        ({"what": "labels", "round": -1}, "round"),
        ({"what": "labels", "dimension": 3}, "dimension"),
        ({"what": "labels", "dimension": "\x00"}, "dimension"),
        ({"what": "labels", "revision": "blind"}, "revision"),
        ({"what": "ratings", "revision": "last"}, "revision"),
        ({"what": "issues", "round": 1}, "round"),
        ({"what": "labels", "colour": "red"}, "colour"),
    ],
)
def test_nonsense_is_refused_in_words(study: Study, body: dict[str, Any], field: str) -> None:
    assert field in Script("olga").refused("POST", EXPORTS, body, 422)
    assert not Export.objects.exists()


def test_a_round_that_is_not_there_is_not_found(study: Study) -> None:
    Script("olga").refused("POST", EXPORTS, {"what": "labels", "round": 9}, 404)


def test_who_may_have_files_made_and_take_them_home(study: Study) -> None:
    make.study("other", text=make.SYMPTOMS.replace("slug: symptoms", "slug: others"), owner="mallory")
    export = made(study)
    for name, status in (("ada", 403), ("bob", 403), ("rea", 403), ("mallory", 404)):
        script = Script(name)
        for method, path, body in (
            ("GET", EXPORTS, None),
            ("POST", EXPORTS, {"what": "labels"}),
            ("GET", f"exports/{export.public_id}/", None),
            ("GET", f"exports/{export.public_id}/download/", None),
            ("POST", f"exports/{export.public_id}/cancel/", {}),
            ("DELETE", f"exports/{export.public_id}/", None),
        ):
            assert script.send(method, path, body).status_code == status, (name, method, path)
    assert Script("olga", scope="read").send("POST", EXPORTS, {"what": "labels"}).status_code == 403
    assert Script("olga", scope="read").send("GET", f"exports/{export.public_id}/download/").status_code == 200
    for nonsense in ("0", "x", "9" * 30, str(export.pk + 1)):
        assert Script("olga").send("GET", f"exports/{nonsense}/").status_code == 404
    assert Client().get(f"/api/v1/exports/{export.public_id}/download/").status_code == 401
    make.user("stan", staff=True)
    assert Script("stan").send("GET", f"exports/{export.public_id}/download/").status_code == 403
    labels = made(study, "labels")
    assert Script("stan").send("GET", f"exports/{labels.public_id}/download/").status_code == 200
    Export.objects.filter(pk=labels.pk).delete()
    assert Script("stan").send("DELETE", f"exports/{export.public_id}/").status_code == 403
    assert Export.objects.get().state == "done"


def test_the_same_asked_twice_is_made_once(study: Study) -> None:
    seat = make.owner_seat(study)
    first = request_export(seat=seat, what="labels", format="csv", send=False)
    assert request_export(seat=seat, what="labels", format="csv", options={"round": ""}, send=False) == first
    assert request_export(seat=seat, what="labels", format="jsonl", send=False) != first
    export_jobs.work(first.pk)
    assert request_export(seat=seat, what="labels", format="csv", send=False) != first


def test_nobody_fills_the_disk_with_files_that_wait(study: Study) -> None:
    seat = make.owner_seat(study)
    for number in range(AT_WORK_MOST):
        request_export(seat=seat, what="labels", format="csv", options={"dimension": f"d{number}"}, send=False)
    with pytest.raises(Conflict, match="are running"):
        request_export(seat=seat, what="labels", format="csv", send=False)


# Blindness


@pytest.fixture
def blind(study: Study) -> Study:
    """Round 2 is open, and the owner rates in it, as does bob, who has answered."""
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 1, raters=("olga", "bob"), first=3)
    quote = {"dimension": "symptom", "category": "slow", "where": "body", "quote": "secret"}
    make.submit(round_, "bob", 3, {"symptom": ["slow"]}, memo="secret", evidence=[quote])
    return study


def test_how_far_a_file_of_others_is_stays_hidden_from_who_is_blind(blind: Study) -> None:
    """How long a package takes follows from labels, as the number of its figures does."""
    add_member(seat=make.owner_seat(blind), username="rea", roles=["owner"])
    export = request_export(seat=make.seat(blind, "rea"), what="labels", format="csv", send=False)
    client = Client()
    client.force_login(make.user("olga"))
    paths = [f"exports/{export.public_id}/{end}" for end in ("", "cancel/", "download/")]

    def told() -> list[Any]:
        rest = [
            Script("olga").send("GET", EXPORTS), Script("olga").send("GET", paths[0]),
            Script("olga").send("DELETE", paths[0]), Script("olga").send("POST", paths[1]),
            Script("olga").send("GET", paths[2]),
        ]  # fmt: skip
        pages = [client.get("/studies/study/exports/"), client.get(f"/studies/study/exports/{export.number}/state/")]
        pages += [client.post(f"/studies/study/exports/{export.number}/{act}/") for act in ("cancel", "remove")]
        bodies = [re.sub(r"(?i)csrf[^>]*>", "", page.content.decode()) for page in pages]
        return [[(each.status_code, each.json()) for each in rest], [page.status_code for page in pages], bodies]

    queued = told()
    assert [status for status, _ in queued[0]] == [200, 200, 403, 403, 403] and queued[0][1][1]["state"] == "hidden"
    for state in ("running", "failed"):
        Export.objects.filter(pk=export.pk).update(state=state, error="why", step="what", done_at=timezone.now())
        assert told() == queued, state
    Export.objects.filter(pk=export.pk).update(state="queued", error="", step="", done_at=None)
    export_jobs.work(export.pk)
    assert told() == queued
    assert Script("rea").send("GET", paths[0]).json()["state"] == "done"
    for number in range(AT_WORK_MOST):
        asked = {"dimension": f"d{number}"}
        request_export(seat=make.seat(blind, "rea"), what="labels", format="csv", options=asked, send=False)
    assert request_export(seat=make.owner_seat(blind), what="labels", format="csv", send=False).is_at_work


@pytest.mark.parametrize("what", OF_ROWS)
def test_a_blind_owner_gets_a_file_without_the_round_and_reads_that_it_is_missing(blind: Study, what: str) -> None:
    for format in KINDS[what].formats:
        export = made(blind, what, format)
        assert export.state == "done" and b"secret" not in bytes_of(export)
        if export.rounds:
            assert (export.rounds, export.left_out) == ([1], [2])
    if what in ("labels", "ratings", "resolutions", "evidence"):
        assert Script("olga").send("POST", EXPORTS, {"what": what, "round": 2}).status_code == 403


def test_another_owners_file_stays_closed_to_who_is_blind_in_a_round_it_holds(blind: Study) -> None:
    add_member(seat=make.owner_seat(blind), username="rea", roles=["owner"])
    export = request_export(seat=make.seat(blind, "rea"), what="ratings", format="csv", send=False)
    export_jobs.work(export.pk)
    export.refresh_from_db()
    assert export.rounds == [1, 2] and b"secret" in bytes_of(export)
    assert Script("olga").send("GET", f"exports/{export.public_id}/download/").json()["code"] == "blind"
    assert Script("rea").send("GET", f"exports/{export.public_id}/download/").status_code == 200
    resolve_round(seat=make.owner_seat(blind), number=2, withdraw=True)
    assert Script("olga").send("GET", f"exports/{export.public_id}/download/").status_code == 200


def test_the_audit_tells_nobody_the_hash_of_a_removed_file_that_is_closed_to_them(blind: Study) -> None:
    add_member(seat=make.owner_seat(blind), username="rea", roles=["owner"])
    export = request_export(seat=make.seat(blind, "rea"), what="ratings", format="csv", send=False)
    export_jobs.work(export.pk)
    export.refresh_from_db()
    assert Script("rea").send("DELETE", f"exports/{export.public_id}/").status_code == 200

    def read_by(name: str) -> bytes:
        client = Client()
        client.force_login(make.user(name))
        pages = [client.get(f"/studies/study/audit/{end}") for end in ("", "audit.csv", "audit.jsonl")]
        assert {page.status_code for page in pages} == {200}
        return b"".join(b"".join(page) for page in pages)

    digest = export.sha256.encode()
    assert digest not in read_by("olga") and read_by("rea").count(digest) >= 3
    resolve_round(seat=make.owner_seat(blind), number=2, withdraw=True)
    assert read_by("olga").count(digest) >= 3


@pytest.mark.slow
def test_nothing_of_a_file_is_shown_to_who_may_not_open_it(study: Study) -> None:
    """Staff read no single answers of a round that is resolved, and another owner no file of a whole study."""
    add_member(seat=make.owner_seat(study), username="rea", roles=["owner"])
    make.user("stan", staff=True)
    for what, format in (("ratings", "csv"), ("evidence", "csv"), ("study", "zip"), ("labels", "csv")):
        export = made(study, what, format)
        path = f"exports/{export.public_id}/"
        for name in ("olga", "rea", "stan"):
            client = Client()
            client.force_login(make.user(name))
            opens = Script(name).send("GET", f"{path}download/").status_code == 200
            assert opens == (name == "olga" or what == "labels" or (what != "study" and name == "rea")), (name, what)
            row = Script(name).send("GET", path).json()
            assert [row[key] is not None for key in ("rows", "rows_expected", "bytes", "sha256")] == [opens] * 4
            digest = export.sha256
            assert (digest in client.get("/studies/study/exports/").content.decode()) == opens
        assert Script("olga").send("DELETE", path).status_code == 200
        for name in ("olga", "rea", "stan"):
            client = Client()
            client.force_login(make.user(name))
            opens = name == "olga" or what == "labels" or (what != "study" and name == "rea")
            for end in ("audit/", "audit/audit.csv", "audit/audit.jsonl", "exports/"):
                page = b"".join(client.get(f"/studies/study/{end}"))
                assert (export.sha256.encode() in page) == opens, (name, what, end)


@pytest.mark.parametrize(("state", "column"), [("running", "step"), ("queued", "step"), ("failed", "error")])
def test_what_is_done_for_a_file_is_shown_to_who_may_open_it_alone(study: Study, state: str, column: str) -> None:
    """How many figures there are follows from labels."""
    add_member(seat=make.owner_seat(study), username="rea", roles=["owner"])
    export = request_export(seat=make.owner_seat(study), what="study", format="zip", send=False)
    Export.objects.filter(pk=export.pk).update(state=state, **{column: "drawing figure 1 of 6"})
    for name in ("olga", "rea"):
        client = Client()
        client.force_login(make.user(name))
        row = Script(name).send("GET", f"exports/{export.public_id}/").json()
        shown = client.get("/studies/study/exports/").content.decode()
        assert ["figure 1 of 6" in text for text in (str(row), shown)] == [name == "olga"] * 2


def test_a_file_holds_what_its_owner_may_see_when_it_is_made_and_not_when_it_was_asked_for(study: Study) -> None:
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    add_member(seat=make.owner_seat(study), username="rea", roles=["owner"])
    add_member(seat=make.seat(study, "rea"), username="olga", roles=["reader"])
    export_jobs.work(export.pk)
    export.refresh_from_db()
    assert export.state == "failed" and "need the role owner" in export.error and not export.file


# The job


def test_an_export_that_is_worked_on_twice_is_made_once(study: Study) -> None:
    export = made(study)
    before = (export.sha256, export.file.name, export.n_claims, export.done_at)
    export_jobs.work(export.pk)
    export.refresh_from_db()
    assert (export.sha256, export.file.name, export.n_claims, export.done_at) == before


def in_between(monkeypatch: Any, happens: Any) -> None:
    """While the file is written, something happens."""
    before = export_jobs.write_file

    def write_file(*given: Any) -> None:
        before(*given)
        monkeypatch.setattr(export_jobs, "write_file", before)
        happens()

    monkeypatch.setattr(export_jobs, "write_file", write_file)


def test_of_two_workers_only_the_last_one_finishes(study: Study, own_folder: Path, monkeypatch: Any) -> None:
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)

    def another_worker() -> None:
        assert export_jobs.EXPORTS.sweep() == []
        with monkeypatch.context() as patch:  # as if the database had lost sight of the first one
            patch.setattr(job_base, "are_held", lambda kind: set())
            assert export_jobs.EXPORTS.sweep() == [export.pk]
        export_jobs.work(export.pk)

    in_between(monkeypatch, another_worker)
    export_jobs.work(export.pk)
    export.refresh_from_db()
    assert (export.state, export.n_claims) == ("done", 2) and stored(own_folder) == [Path(export.file.name).name]


def test_an_export_that_is_cancelled_while_it_is_made_leaves_no_file(
    study: Study, own_folder: Path, monkeypatch: Any
) -> None:
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    in_between(monkeypatch, lambda: cancel_export(seat=make.owner_seat(study), export=export))
    export_jobs.work(export.pk)
    export.refresh_from_db()
    assert export.state == "cancelled" and not export.file and not stored(own_folder)
    export_jobs.work(export.pk)
    assert Script("olga").send("GET", f"exports/{export.public_id}/download/").status_code == 409
    assert Script("olga").send("POST", f"exports/{export.public_id}/cancel/", {}).json()["state"] == "cancelled"


def test_what_the_clock_finds_lost_or_stale_is_made_again(study: Study) -> None:
    lost = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    assert export_jobs.EXPORTS.sweep() == []
    Export.objects.filter(pk=lost.pk).update(worked_at=timezone.now() - timedelta(seconds=40))
    assert export_jobs.EXPORTS.sweep() == [lost.pk] and export_jobs.EXPORTS.sweep() == []
    Export.objects.filter(pk=lost.pk).update(state="running", worked_at=timezone.now())
    with hold_job(JobLockKind.EXPORT, lost.pk):
        assert export_jobs.EXPORTS.sweep() == []
    assert export_jobs.EXPORTS.sweep() == [lost.pk]
    export_jobs.work(lost.pk)
    lost.refresh_from_db()
    assert lost.state == "done"


def test_an_export_whose_worker_dies_again_and_again_has_failed(study: Study) -> None:
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    long_ago = timezone.now() - timedelta(hours=1)
    Export.objects.filter(pk=export.pk).update(
        state="running", n_claims=export_jobs.EXPORTS.tries_most, worked_at=long_ago
    )
    assert export_jobs.EXPORTS.sweep() == []
    export.refresh_from_db()
    assert export.state == "failed" and "stopped 5 times" in export.error


class Full(FileSystemStorage):
    """A storage without any room."""

    def _save(self, name: str, content: Any) -> str:
        raise OSError(28, "No space left on device")


class Signing(FileSystemStorage):
    """A storage that signs its addresses."""

    querystring_auth = True

    def url(self, name: str | None, parameters: Any = None) -> str:
        return f"https://files.example/{name}?disposition={parameters['ResponseContentDisposition']}&signed=1"


def test_a_storage_without_room_fails_the_export_in_a_sentence(study: Study, settings: LazySettings) -> None:
    place = {"BACKEND": f"{__name__}.Full"}
    settings.STORAGES = {**settings.STORAGES, "default": place}
    export = made(study)
    assert (export.state, export.file.name) == ("failed", "")
    assert export.error.startswith("The file could not be stored: No space left on device.")


def test_what_goes_wrong_while_writing_is_said_without_its_insides(study: Study, monkeypatch: Any) -> None:
    def broken(*given: Any) -> None:
        raise KeyError("a secret of the code")

    monkeypatch.setattr(export_jobs, "write_file", broken)
    export = made(study)
    assert export.state == "failed" and "KeyError" in export.error and "secret" not in export.error


def test_a_storage_that_has_addresses_of_its_own_is_not_asked_for_one(study: Study, settings: LazySettings) -> None:
    export = made(study)
    place = {**settings.STORAGES["default"], "BACKEND": f"{__name__}.Signing"}
    settings.STORAGES = {**settings.STORAGES, "default": place}
    answer = Script("olga").send("GET", f"exports/{export.public_id}/download/")
    assert answer.status_code == 200 and "Location" not in answer


def test_a_removed_file_is_gone_and_its_hash_stays(
    study: Study, own_folder: Path, django_capture_on_commit_callbacks: Any
) -> None:
    export = made(study)
    olga = Script("olga")
    with django_capture_on_commit_callbacks(execute=True):
        assert olga.send("DELETE", f"exports/{export.public_id}/").json()["state"] == "removed"
    assert olga.send("DELETE", f"exports/{export.public_id}/").status_code == 200
    assert olga.send("GET", f"exports/{export.public_id}/download/").status_code == 404
    assert olga.send("GET", f"exports/{export.public_id}/").json()["sha256"] == export.sha256
    assert not stored(own_folder)
    waiting = request_export(seat=make.owner_seat(study), what="labels", format="csv", send=False)
    assert waiting.number == 2
    assert olga.send("DELETE", f"exports/{waiting.public_id}/").status_code == 409
    cancel_export(seat=make.owner_seat(study), export=waiting)
    remove_export(seat=make.owner_seat(study), export=waiting)
    assert [each["number"] for each in olga.send("GET", EXPORTS).json()["results"]] == [1]


def test_a_file_that_the_storage_lost_is_not_found(study: Study) -> None:
    export = made(study)
    default_storage.delete(export.file.name)
    assert Script("olga").send("GET", f"exports/{export.public_id}/download/").status_code == 404


def test_each_step_is_in_the_audit(study: Study) -> None:
    export = made(study, round=1)
    remove_export(seat=make.owner_seat(study), export=export)
    waiting = request_export(seat=make.owner_seat(study), what="labels", format="csv", send=False)
    cancel_export(seat=make.owner_seat(study), export=waiting)
    said = AuditEvent.objects.filter(verb__startswith="export").order_by("pk").values_list("verb", "detail")
    assert list(said) == [
        ("export asked for", {"export": 1, "what": "ratings", "format": "csv", "options": {"round": 1}}),
        ("export removed", {"export": 1, "sha256": export.sha256}),
        ("export asked for", {"export": 2, "what": "labels", "format": "csv"}),
        ("export cancelled", {"export": 2}),
    ]


def test_the_list_of_exports_costs_the_same_with_many(study: Study) -> None:
    seat = make.owner_seat(study)
    olga = Script("olga")
    for number in range(2):
        for _ in range(1 + number * 8):
            export = request_export(seat=seat, what="labels", format="csv", send=False)
            cancel_export(seat=seat, export=export)
        olga.send("GET", EXPORTS)
        with assert_queries(3):
            olga.send("GET", EXPORTS)
