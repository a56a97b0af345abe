"""The due date of a round, and a round that was opened by mistake."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import make_token
from annotation.core.errors import WrongState
from annotation.labeling.actions.answers import keep_draft, submit_annotation
from annotation.models import Assignment, AuditEvent, InboxLine, Round, RoundItem, RoundRater
from annotation.rounds.actions import rounds
from annotation.rounds.actions.drafts import return_to_draft
from tests import builders as make
from tests.forms import sent_by
from tests.scripts import Script

pytestmark = pytest.mark.django_db
DUE = (timezone.now() + timedelta(days=9)).date()


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def rest(method: str, path: str, body: Any = None, *, name: str = "olga") -> Any:
    token = make_token(user=make.user(name), name="t", scope="manage")[1]
    send = getattr(Client(), method)
    address = f"/api/v1/studies/study/rounds/{path}"
    return send(address, body, content_type="application/json", headers={"Authorization": f"Bearer {token}"})


def rows(round_: Round) -> Any:
    """What opening makes of a round, whatever the ids."""
    given = Assignment.objects.filter(round=round_).order_by("rater", "position")
    raters = RoundRater.objects.filter(round=round_).order_by("rater")
    return (
        list(given.values_list("item", "rater", "slot", "state", "position")),
        list(raters.values_list("rater", "n_assigned", "n_finished", "walked")),
        list(RoundItem.objects.filter(round=round_).order_by("position").values_list("item", "n_raters", "n_free")),
        InboxLine.objects.filter(round=round_).count(),
    )


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_a_round_that_nobody_answered_returns_to_a_draft_and_opens_as_before(mode: str) -> None:
    study = make.study()
    round_ = make.open_round(study, 5, mode=mode)
    before = rows(round_)
    if mode == "planned":
        assert "Return to draft" in signed_in("olga").get("/studies/study/rounds/1/").content.decode()
        assert signed_in("olga").post("/studies/study/rounds/1/return-to-draft/").status_code == 302
    else:
        assert rest("get", "1/next/", name="bob").status_code == 200
        answer = rest("post", "1/return-to-draft/")
        assert answer.status_code == 200 and answer.json()["state"] == "draft" and answer.json()["n_assignments"] == 0
    round_.refresh_from_db()
    assert (round_.state, round_.opened_at) == ("draft", None) and not rows(round_)[0]
    assert "left to label" not in signed_in("bob").get("/").content.decode()
    line = AuditEvent.objects.get(verb="round returned to draft")
    assert line.detail["round"] == 1 and line.user.username == "olga"
    assert rest("post", "1/open/", {"unregistered": True}).status_code == 200
    assert rows(round_) == before
    if mode == "planned":
        make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    else:
        given = rest("get", "1/next/", name="bob").json()["assignment"]
        body = {"assignment": given, "labels": {"symptom": ["crash"]}}
        submit_annotation(seat=make.seat(study, "bob"), assignment=given, body=body, idempotency_key="")
    answer = rest("post", "1/return-to-draft/")
    assert answer.status_code == 409 and "Someone has answered" in answer.json()["message"]
    page = signed_in("olga").post("/studies/study/rounds/1/return-to-draft/")
    assert page.status_code == 409 and "Return to draft" not in page.content.decode()


def test_a_draft_answer_and_the_state_stand_in_the_way_and_only_owners_return_a_round() -> None:
    study = make.study()
    round_ = make.open_round(study, 3)
    assert rest("post", "1/return-to-draft/", name="bob").status_code == 403
    given = make.assignment(round_, "bob", 1).public_id
    keep_draft(seat=make.seat(study, "bob"), assignment=given, body={"memo": "so far"})
    answer = rest("post", "1/return-to-draft/")
    assert answer.status_code == 409 and "begun to answer" in answer.json()["message"]
    Round.objects.filter(pk=round_.pk).update(state="resolving")
    with pytest.raises(WrongState, match="only an open round"):
        return_to_draft(seat=make.owner_seat(study), number=1)


def test_a_round_in_which_an_adjudicator_proposed_a_category_stays_open_and_is_not_deleted() -> None:
    study = make.study(resolve_when="item")
    round_ = make.open_round(study, 3)
    proposed = {"round": 1, "item": "acme/rocket#1", "dimension": "symptom", "name": "Slow start"}
    assert Script("ada").send("POST", "studies/study/proposals/", proposed).status_code == 201
    answer = rest("post", "1/return-to-draft/")
    assert answer.status_code == 409 and "A category was proposed in round 1" in answer.json()["message"]
    Round.objects.filter(pk=round_.pk).update(state="draft")
    answer = rest("delete", "1/")
    assert answer.status_code == 409 and "Open it again" in answer.json()["message"]
    assert signed_in("olga").post("/studies/study/rounds/1/remove/").status_code == 409


@pytest.mark.parametrize(
    ("page", "button", "address", "path", "body"),
    [
        ("rounds/2/", "Save due date", "rounds/2/due/", "rounds/2/", {"due_on": DUE.isoformat()}),
        ("rounds/2/", "quota of R1", "rounds/2/raters/R1/quota/", "rounds/2/raters/R1/", {"quota": 1}),
        ("members/", "absence of bob", "away/", "away/", {"user": "bob", "until": DUE.isoformat()}),
    ],
)
def test_what_is_sent_as_an_open_page_showed_it_changes_nothing(
    page: str, button: str, address: str, path: str, body: Any
) -> None:
    study = make.study()
    make.open_round(study, 1)
    asked = rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#1"])
    draft = rounds.create_round(seat=make.owner_seat(study), asked=asked)
    olga = signed_in("olga")
    shown = olga.get(f"/studies/study/{page}").content.decode()
    assert f'action="/studies/study/{address}"' in shown

    def stored() -> list[Any]:
        row = RoundRater.objects.get(round=draft, rater__code="R1")
        return [Round.objects.get(pk=draft.pk).due_on, row.quota, make.member(study, "bob").away_until]

    before = stored()
    assert Script("olga").send("POST" if path == "away/" else "PATCH", f"studies/study/{path}", body).status_code == 200
    newer = stored()
    assert newer != before
    sent = sent_by(shown, button)
    assert "Nothing was changed." in olga.post(f"/studies/study/{address}", sent, follow=True).content.decode()
    assert stored() == newer
    (name,) = (each.removeprefix("initial-") for each in sent if each.startswith("initial-"))
    assert olga.post(f"/studies/study/{address}", sent | {name: [""], f"initial-{name}": ["-"]}).status_code == 302
    assert stored() == before


def test_a_due_date_is_set_shown_changed_and_removed() -> None:
    study = make.study()
    make.open_round(study, 3)
    assert rest("patch", "1/", {"due_on": DUE.isoformat()}).json()["due_on"] == DUE.isoformat()
    told = f"{DUE.day} {DUE:%B %Y}"
    assert f"due {told}" in signed_in("bob").get("/").content.decode()
    assert f"Due on {told}" in signed_in("bob").get("/studies/study/").content.decode()
    assert told in signed_in("bob").get("/studies/study/rounds/1/").content.decode()
    yesterday = (timezone.now() - timedelta(days=1)).date()
    for wrong in ("31.5.2027", 5, yesterday.isoformat()):
        answer = rest("patch", "1/", {"due_on": wrong})
        assert answer.status_code == 422 and "due_on" in answer.json()["fields"], wrong
    assert rest("patch", "1/", {}).status_code == 422
    assert rest("patch", "1/", {"due_on": None}, name="bob").status_code == 403
    page = signed_in("olga").post("/studies/study/rounds/1/due/", {"due_on": yesterday.isoformat()})
    assert page.status_code == 422 and "is over" in page.content.decode()
    assert signed_in("olga").post("/studies/study/rounds/1/due/", {"due_on": ""}).status_code == 302
    assert Round.objects.get().due_on is None
    body = {"kind": "main", "raters": ["bob", "carol"], "issues": ["acme/rocket#1"], "due_on": DUE.isoformat()}
    assert rest("post", "", body).json()["due_on"] == DUE.isoformat()
    assert AuditEvent.objects.filter(verb="due date set").count() == 2
    Round.objects.filter(number=1).update(state="closed")
    assert rest("patch", "1/", {"due_on": None}).status_code == 409
    assert isinstance(Round.objects.get(number=2).due_on, date)


def test_an_act_on_a_draft_that_someone_removes_at_that_moment_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make.study()
    draft = make.open_round(study, 1)
    Round.objects.filter(pk=draft.pk).update(state="draft")

    def removed(*asked: Any, **more: Any) -> Any:
        raise Round.DoesNotExist

    monkeypatch.setattr("annotation.rounds.views.rounds.set_due", removed)
    answer = signed_in("olga").post("/studies/study/rounds/1/due/", {"due_on": ""})
    assert answer.status_code == 404 and "Someone may have removed it just now" in answer.content.decode()
