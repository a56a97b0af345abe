"""Studies are duplicated, archived, taken out again and deleted, by their owner alone."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command, get_commands
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.actions import make_token
from annotation.choosing.actions import samples as sample_actions
from annotation.core.access import changing, get_item, get_seat
from annotation.core.errors import ConcordError, Conflict, Forbidden, Invalid, NotFound, WrongState
from annotation.discussion.actions import write_remark
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.labeling.actions.answers import submit_annotation
from annotation.members.actions.members import add_member
from annotation.models import (
    Annotation,
    Arrival,
    BulkJob,
    Deletion,
    Export,
    Item,
    Meeting,
    Membership,
    Proposal,
    ProposalOutcome,
    Rating,
    Remark,
    Resolution,
    Round,
    Study,
)
from annotation.overview.queries.waiting import rounds_to_resolve
from annotation.plans.actions import preview_plan, run_plan
from annotation.proposals.actions import settle_proposals
from annotation.resolving.actions.meetings import state_meeting
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions.rounds import close_round, open_round, resolve_round
from annotation.studies.actions.archive import archive_study, take_out_of_archive
from annotation.studies.actions.studies import change_study
from annotation.studies.queries.studies import studies_of, visible_studies
from annotation.transfer import jobs as transfer_jobs
from annotation.transfer.actions import life, study_import
from tests import builders as make
from tests.annotation.transfer.test_study_import import brought as whole_file
from tests.asserts import assert_queries, wait_until_someone_waits_for_a_lock

WORK = (Annotation, Remark, Resolution, Meeting, ProposalOutcome)
pytestmark = pytest.mark.django_db
LADDER = {"olga": 200, "ada": 403, "bob": 403, "rea": 403, "mallory": 404}


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def rest(name: str, method: str, path: str, body: Any = None) -> Any:
    token = make_token(user=make.user(name), name="t", scope="manage")[1]
    ask = getattr(Client(), method)
    more = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    return ask(f"/api/v1/{path}", headers={"Authorization": f"Bearer {token}"}, **more)


def over(study: Study) -> Study:
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang\n2 slow slow")
    close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    return study


def whole_export(study: Study, name: str = "olga") -> Export:
    made = request_export(seat=make.seat(study, name), what="study", send=False)
    export_jobs.work(made.pk)
    made.refresh_from_db()
    return made


def drawn_with_controls() -> Study:
    """Sample 1; 2 of what its filter excluded; 3 of what was screened out of it; 4 without 1 and 3; 5 without all."""
    study = make.study()
    make.issues(12)
    seat, here = make.owner_seat(study), {"repository": ["acme/rocket"]}
    first = sample_actions.draw_sample(seat=seat, filter=here | {"labels": ["bug"]}, size=3, seed=1)
    sample_actions.draw_sample(seat=seat, filter=here | {"left_out_of": first.pk}, size=2, seed=1)
    names = [row.issue.identifier for row in first.drawn.select_related("issue__repository")]
    sample_actions.screen_items(seat=seat, screening="out", reason="Spam", items=names)
    out = sample_actions.draw_sample(seat=seat, filter=here | {"screened_out_of": str(first.pk)}, size=2, seed=1)
    both = [str(first.pk), out.pk]
    sample_actions.draw_sample(seat=seat, filter=here | {"exclude_sample": both}, size=1, seed=1)
    sample_actions.draw_sample(seat=seat, filter=here | {"exclude_sample": "all"}, size=1, seed=1)
    return study


def filters_of(study: Study) -> tuple[dict[int, int], dict[int, dict[str, Any]]]:
    """The IDs of a study's samples by number, and the words of their filters that name samples."""
    rows = list(study.samples.order_by("number"))
    return {row.number: row.pk for row in rows}, {
        row.number: {word: value for word, value in row.filter.items() if word not in ("repository", "labels")}
        for row in rows
    }


def test_a_duplicate_has_the_samples_by_number_but_no_stretch_of_what_another_study_screened_out() -> None:
    made = life.duplicate_study(seat=make.owner_seat(drawn_with_controls()), slug="copy", with_items=True)
    ids, filters = filters_of(made)
    assert filters == {
        1: {}, 2: {"left_out_of": ids[1]}, 4: {"exclude_sample": [ids[1]]}, 5: {"exclude_sample": "all"},
    }  # fmt: skip
    asked = {"filter": {"repository": "acme/rocket", "left_out_of": ids[1]}, "size": 1}
    assert rest("olga", "post", "studies/copy/samples/", asked).status_code == 201


def test_filters_of_an_imported_study_name_its_own_samples() -> None:
    study = drawn_with_controls()
    study_import.bring_study(user=make.user("nina"), file=whole_file(study), slug="brought")
    ids, filters = filters_of(Study.objects.get(slug="brought"))
    assert filters == {
        1: {}, 2: {"left_out_of": ids[1]}, 3: {"screened_out_of": ids[1]}, 4: {"exclude_sample": [ids[1], ids[3]]},
        5: {"exclude_sample": "all"},
    }  # fmt: skip


def test_a_duplicate_has_the_settings_items_and_members_and_no_answer() -> None:
    study = over(make.study(primary={"symptom": {"coefficient": "gwet_ac1", "threshold": 0.7}}, guidelines="Read."))
    change_study(seat=make.owner_seat(study), changes={"majority": True, "names_shown": True})
    sample_actions.draw_sample(seat=make.owner_seat(study), filter={"repository": "acme/rocket"}, size=2, seed=1)
    made = life.duplicate_study(seat=make.owner_seat(study), slug="twin", with_items=True, with_members=True)
    assert (made.guidelines, made.majority, made.names_shown, made.title) == ("Read.", True, True, "Study")
    assert made.primary["symptom"]["coefficient"] == "gwet_ac1" and made.pseudonym_key != study.pseudonym_key
    for name in ("bob", "carol", "ada", "rea"):
        make.accept(name)
    for each in (study, made):
        each.codes = sorted(Membership.objects.filter(study=each).values_list("user__username", "code", "roles"))
        each.texts = sorted(Item.objects.filter(study=each).values_list("identifier", "snapshot"))
        each.drawn = [list(sample.drawn.values_list("issue", "position")) for sample in each.samples.all()]
    assert (study.codes, study.texts, study.drawn) == (made.codes, made.texts, made.drawn)
    assert not made.rounds.exists() and not Annotation.objects.filter(rater__study=made).exists()
    line = made.audit_events.get(verb="duplicated from a study")
    assert line.detail == {"of": "study", "members": True, "items": 2}
    alone = life.duplicate_study(seat=make.owner_seat(study), slug="alone")
    assert [each.user for each in alone.memberships.all()] == [make.user("olga")] and not alone.items.exists()


def test_no_study_is_archived_while_a_job_opens_a_round() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    Round.objects.filter(pk=round_.pk).update(state=Round.State.DRAFT)
    job = BulkJob.objects.create(study=study, kind="opening", round=round_, n_total=9, created_by=study.created_by)
    with pytest.raises(Conflict, match="being prepared"):
        archive_study(seat=make.owner_seat(study))
    job.delete()
    assert archive_study(seat=make.owner_seat(study)).archived_at


def test_nothing_opens_in_a_study_that_was_archived_while_the_request_waited() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    Round.objects.filter(pk=round_.pk).update(state=Round.State.DRAFT)
    with changing():
        seat = get_seat(make.user("olga"), "study")
        Study.objects.filter(pk=study.pk).update(archived_at=timezone.now())
        with pytest.raises(WrongState, match="is archived and read-only"):
            open_round(seat=seat, number=1, unregistered=True)


def test_no_migration_runs_in_a_study_that_was_archived_while_the_request_waited() -> None:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 hang hang")
    close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    plan = preview_plan(seat=make.owner_seat(study), to=2)
    with changing():
        seat = get_seat(make.user("olga"), "study")
        Study.objects.filter(pk=study.pk).update(archived_at=timezone.now())
        with pytest.raises(WrongState, match="is archived and read-only"):
            run_plan(seat=seat, plan=plan)
        with pytest.raises(WrongState, match="is archived and read-only"):
            preview_plan(seat=seat, to=2)


def test_an_archived_study_is_only_read_at_every_door_and_out_of_everybodys_work() -> None:
    study = over(make.study())
    seat, olga = make.owner_seat(study), signed_in("olga")
    make.open_round(study, 1, first=5)
    with pytest.raises(WrongState, match="Round 2 is open"):
        archive_study(seat=seat)
    resolve_round(seat=seat, number=2, withdraw=True)
    assert [each.number for each in rounds_to_resolve(make.user("olga"))] == [2]
    assert rest("olga", "patch", "studies/study/", {"archived": True}).json()["archived_at"]
    assert not rounds_to_resolve(make.user("olga")) and not studies_of(make.user("bob"))
    assert [each.slug for each in visible_studies(make.user("bob"), archived=True)] == ["study"]
    assert "Study" not in olga.get("/").content.decode()
    assert "study" in olga.get("/studies/?archived=1").content.decode()
    assert not rest("olga", "get", "studies/").json()["results"]
    assert [each["slug"] for each in rest("olga", "get", "studies/?archived=true").json()["results"]] == ["study"]
    for path in ("settings/", "members/", "rounds/new/", "rounds/2/close/", "sample/", "plans/", "import/"):
        answer = olga.post(f"/studies/study/{path}", {"title": "New"})
        assert answer.status_code == 409 and "archived" in answer.content.decode(), path
    for path, body in (("members/", {"user": "nina", "roles": ["rater"]}), ("rounds/2/close/", {}), ("plans/", {})):
        answer = rest("olga", "post", f"studies/study/{path}", body)
        assert (answer.status_code, answer.json()["code"]) == (409, "archived"), path
    assert rest("olga", "patch", "studies/study/", {"title": "New"}).status_code == 409
    assert rest("mallory", "post", "studies/study/members/", {}).status_code == 404
    for path in ("", "settings/", "agreement/", "exports/", "exports/labels.csv", "rounds/1/"):
        assert olga.get(f"/studies/study/{path}").status_code == 200, path
    assert rest("olga", "post", "studies/study/exports/", {"what": "labels"}).status_code == 202
    assert olga.post("/studies/study/unarchive/").status_code == 302
    assert olga.post("/studies/study/settings/", {"title": "New", "resolve_when": "round"}).status_code == 302


CHANGE_NO_STUDY = {
    "add_user", "agreement", "backup", "dump_taxonomy", "export", "fetch", "import_study", "load_taxonomy",
    "password_link", "restore", "token", "up", "upgrade", "uploads",
}  # fmt: skip
"""They read studies, make one, work on what stands around them, or take back all there is."""


def test_a_command_of_the_shell_changes_no_archived_study_either(tmp_path: Path) -> None:
    own = {
        name
        for name, app in get_commands().items()
        if app in ("accounts", "annotation", "config", "ingest", "taxonomy")
    }
    assert own - CHANGE_NO_STUDY == {"import_ratings"}, "a new command: does it change an archived study?"
    study = over(make.study())
    file = tmp_path / "more.csv"
    file.write_text("item,rater,symptom\nx,bob,crash\nx,carol,hang\n")
    archive_study(seat=make.owner_seat(study))
    before = Annotation.objects.count(), study.audit_events.count()
    with pytest.raises(CommandError, match="archived and read-only"):
        call_command("import_ratings", str(file), study="study", dimensions="symptom")
    assert (Annotation.objects.count(), study.audit_events.count()) == before
    take_out_of_archive(seat=make.owner_seat(study))
    call_command("import_ratings", str(file), study="study", dimensions="symptom", stdout=io.StringIO())
    assert Annotation.objects.count() == before[0] + 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", ["answer", "remark", "decision", "meeting", "proposal"])
def test_what_comes_while_a_study_is_deleted_is_not_told_to_be_saved(act: str) -> None:
    """The export that the register names does not hold it."""
    study = make.study()
    first = make.rate(make.open_round(study, 3), "item bob carol\n1 crash hang\n2 crash hang")
    for name in ("bob", "carol"):
        make.submit(first, name, 3, {}, proposals={"symptom": {"name": "Stall", "memo": name}})
    second = make.open_round(study, 1, first=4)
    seats = {name: make.seat(study, name) for name in ("ada", "bob", "olga")}
    place: dict[str, Any] = {"round_": Round.objects.get(pk=first.pk), "part": 1, "dimension": "symptom"}
    one, two = (get_item(seats["ada"], f"acme/rocket#{number}") for number in (1, 2))
    resolve(seat=seats["ada"], item=two, **place, values=["hang"], rationale="-", expected=None)
    asked, proposal = make.assignment(second, "bob", 4).public_id, Proposal.objects.earliest("pk").public_id
    meeting = {"held_on": timezone.now().date().isoformat(), "participants": ["ada", "bob"]}
    acts: dict[str, Callable[[], object]] = {
        "answer": lambda: submit_annotation(
            seat=seats["bob"], assignment=asked, body={"labels": {"symptom": ["hang"]}}
        ),
        "remark": lambda: write_remark(seat=seats["bob"], round_=place["round_"], item=one, text="Why?"),
        "decision": lambda: resolve(
            seat=seats["ada"], item=one, values=["hang"], expected=None, rationale="-", **place
        ),
        "meeting": lambda: state_meeting(seat=seats["ada"], round_=place["round_"], meeting=meeting),
        "proposal": lambda: settle_proposals(seat=seats["olga"], proposals=[proposal], map_to="hang"),
    }
    whole_export(study)
    refused: list[Exception] = []

    def run() -> None:
        try:
            acts[act]()
        except ConcordError as error:
            refused.append(error)
        finally:
            connection.close()

    before = [model.objects.count() for model in WORK]
    with transaction.atomic():
        life.delete_study(seat=make.owner_seat(study), typed="study", send=False)
        acting = Thread(target=run)
        acting.start()
        wait_until_someone_waits_for_a_lock()
    acting.join()
    assert [type(each) for each in refused] in ([NotFound], [Forbidden]), refused
    assert [model.objects.count() for model in WORK] == before


def test_a_study_is_deleted_only_typed_out_and_after_an_export_of_its_present_state() -> None:
    study = over(make.study())
    seat = make.owner_seat(study)
    with pytest.raises(Conflict, match="no full export"):
        life.delete_study(seat=seat, typed="study", send=False)
    whole_export(study)
    with pytest.raises(Invalid):
        life.delete_study(seat=seat, typed="Study", send=False)
    change_study(seat=seat, changes={"title": "Changed"})
    with pytest.raises(Conflict, match="was changed after"):
        life.delete_study(seat=seat, typed="study", send=False)
    export = whole_export(study)
    add_member(seat=seat, username=make.user("ida").username, roles=["owner"])
    assert signed_in("ida").get(f"/studies/study/exports/{export.number}/download/").status_code == 403
    export = whole_export(study)
    assert signed_in("olga").get(f"/studies/study/exports/{export.number}/download/").status_code == 200
    assert signed_in("olga").get("/studies/study/exports/ratings.csv?round=1").status_code == 200
    assert study.audit_events.filter(verb="downloaded").count() == 2
    in_future = timezone.now() + timedelta(hours=1)  # as the file of a study may have brought it
    Membership.objects.filter(study=study, user__username="bob").update(created_at=in_future)
    deletion = life.delete_study(seat=seat, typed="study", send=False)
    assert (deletion.sha256, deletion.title) == (export.sha256, "Changed")
    for name in ("olga", "bob"):
        with pytest.raises(NotFound):
            get_seat(make.user(name), "study")
        assert not studies_of(make.user(name))
    with pytest.raises(NotFound):
        get_seat(make.user("sam", staff=True), "study")
    assert "study" not in [each.slug for each in visible_studies(make.user("sam"))]


def test_a_deletion_that_is_killed_anywhere_goes_on_and_leaves_nothing_but_the_register(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = over(make.study())
    other = over(make.study("other", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more")))
    n_kept = (Rating.objects.filter(round__study=other).count(), Item.objects.filter(study=other).count())
    whole_export(study)
    BulkJob.objects.create(
        study=study, kind="round", state="done", round=study.rounds.get(), created_by=make.user("olga")
    )
    deletion = life.delete_study(seat=make.owner_seat(study), typed="study", send=False)
    monkeypatch.setattr(transfer_jobs, "BATCH", 2)
    job = transfer_jobs.DELETIONS.claim(deletion.pk)
    assert job is not None and all(transfer_jobs._batch(job) for _ in range(3))
    assert transfer_jobs.DELETIONS.sweep() == [deletion.pk]
    transfer_jobs.work(deletion.pk)
    transfer_jobs.work(deletion.pk)
    deletion = Deletion.objects.get(pk=deletion.pk)
    assert deletion.done_at and deletion.study is None and deletion.counts["rating"] == 4
    assert not Study.objects.filter(slug="study").exists()
    assert n_kept == (Rating.objects.filter(round__study=other).count(), Item.objects.filter(study=other).count())
    lines = signed_in("olga").get("/deleted-studies/").content.decode()
    assert deletion.sha256 in lines
    assert deletion.sha256 not in signed_in("mallory").get("/deleted-studies/").content.decode()


def test_the_file_that_a_study_came_from_is_deleted_with_it_and_its_import_tells_nothing_of_what_it_held() -> None:
    file = whole_file(over(make.study())).getvalue()
    for slug in ("comes", "stays"):
        made = study_import.take_study(user=make.user("olga"), file=ContentFile(file, "s.zip"), slug=slug, send=False)
        study_import.take_in(made.pk)
    comes, stays = Arrival.objects.order_by("pk")
    kept = [each.file.name for each in (comes, stays)]
    whole_export(Study.objects.get(slug="comes"))
    deletion = life.delete_study(seat=get_seat(make.user("olga"), "comes"), typed="comes", send=False)
    transfer_jobs.work(deletion.pk)
    assert Deletion.objects.get(pk=deletion.pk).done_at is not None
    assert [default_storage.exists(name) for name in kept] == [False, True]
    for each in (comes, stays):
        each.refresh_from_db()
    assert (comes.study, comes.file.name, comes.report) == (None, "", None)
    assert stays.file.name == kept[1] and stays.report["study"] == "stays"
    page = signed_in("olga").get(f"/studies/import/whole/{comes.pk}/").content.decode()
    assert "imported as comes. That study has since been deleted." in page
    assert study_import.remove_old_files() == 0


@pytest.mark.parametrize("name", [*LADDER, None])
def test_the_life_of_a_study_is_its_owners(name: str | None) -> None:
    make.study()
    make.study("other", owner="mallory", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    client = signed_in(name) if name else Client()
    expected = LADDER[name] if name else 302
    bob = Membership.objects.get(study__slug="study", user__username="bob").pk
    for path in ("duplicate/", "delete/"):
        assert client.get(f"/studies/study/{path}").status_code == expected, path
        assert client.get(f"/studies/nonsense/{path}").status_code == (404 if name else 302)
    for path in ("duplicate/", "delete/", "archive/", "unarchive/", "export-whole/", f"members/{bob}/join/"):
        status = client.post(f"/studies/study/{path}", {"typed": "nonsense"}).status_code
        done = 422 if path in ("duplicate/", "delete/") else 302
        assert status == (done if expected == 200 else expected), path
    assert client.post("/studies/study/archive/").status_code == (302 if expected == 200 else expected)


def test_lists_of_studies_cost_the_same_at_any_length() -> None:
    study = make.study()
    olga = signed_in("olga")
    for slug in ("b", "c", "d"):
        life.duplicate_study(seat=make.owner_seat(study), slug=slug)
    archive_study(seat=make.owner_seat(study))
    with assert_queries(6):
        olga.get("/studies/?archived=1")
    for slug in ("b", "c", "d"):
        archive_study(seat=get_seat(make.user("olga"), slug))
    with assert_queries(6):
        olga.get("/studies/?archived=1")
