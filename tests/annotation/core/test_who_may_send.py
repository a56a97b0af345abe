"""What each role may not send: one table of addresses, for pages and for scripts."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from annotation.models import AuditEvent, Resolution, Round, Study
from tests.annotation import permission_study
from tests.annotation.permission_study import BASE, PAGES, Visitor
from tests.annotation.stored_rows import everything

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(600)]

FOUR = {"item": "acme/rocket#4", "round": 2}
TWO = {"item": "acme/rocket#2", "round": 1}
PLACE = {"dimension": "symptom", "part": 1}
NOT_IN_ROUND_2 = "dan olga sam rea"
"""Who is blind in round 2, and who only reads."""
NOT_OWNERS = "dan carol ada rea sam"

SENT: list[tuple[str, str, dict[str, Any], str]] = [
    ("api", "resolutions/", FOUR | PLACE | {"values": ["slow"]}, NOT_IN_ROUND_2),
    ("api", "resolutions/", TWO | PLACE | {"values": ["slow"]}, "dan carol rea sam"),
    ("api", "resolutions/", TWO | PLACE | {"reopen": True, "rationale": "No."}, "dan carol rea sam"),
    ("api", "matches/", FOUR | {"rater": "R1", "parts": [1]}, NOT_IN_ROUND_2),
    ("api", "matches/", TWO | {"rater": "R1", "parts": [1]}, "dan carol rea sam"),
    ("api", "third-raters/", FOUR, NOT_IN_ROUND_2),
    ("api", "third-raters/", TWO, "dan carol rea sam"),
    ("api", "remarks/", FOUR | {"text": "What did you say?"}, NOT_IN_ROUND_2),
    ("api", "remarks/", {"item": "acme/rocket#1", "round": 1, "text": "Tell me."}, "zoe dan rea sam"),
    ("api", "proposals/", FOUR | PLACE | {"name": "Other"}, NOT_IN_ROUND_2),
    ("api", "proposals/{proposal 4}/", {"decline": "No."}, "olga ada"),
    ("api", "proposals/{proposal 5}/", {"decline": "No."}, "olga ada"),
    ("api", "rounds/1/rules/", {}, NOT_OWNERS),
    ("api", "rounds/2/open/", {}, NOT_OWNERS),
    ("api", "rounds/2/resolve/", {"withdraw": True}, NOT_OWNERS),
    ("api", "rounds/1/close/", {"leave_open": True}, NOT_OWNERS),
    ("api", "rounds/2/raters/", {"user": "carol"}, NOT_OWNERS),
    ("api", "rounds/2/raters/R1/withdraw/", {}, NOT_OWNERS),
    ("api", "rounds/", {"raters": ["bob"], "issues": ["acme/rocket#12"]}, NOT_OWNERS),
    ("api", "members/", {"user": "dan", "roles": ["owner"]}, NOT_OWNERS),
    ("api", "invitations/", {"roles": ["owner"]}, NOT_OWNERS),
    ("api", "invitations/{invitation}/withdraw/", {}, NOT_OWNERS),
    ("api", "samples/", {"size": 1}, NOT_OWNERS),
    ("api", "screening/", {"screening": "in", "items": ["acme/rocket#1"]}, "dan carol rea sam"),
    ("api", "plans/", {"to": 2}, NOT_OWNERS),
    ("api", "plans/{plan}/run/", {}, NOT_OWNERS),
    ("page", "settings/", {"title": "Mine"}, NOT_OWNERS),
    ("page", "rounds/2/training/", {}, NOT_OWNERS),
    ("page", "rounds/2/training/{9}/remove/", {}, NOT_OWNERS),
    ("page", "rounds/2/to-resolving/", {"withdraw": "on"}, NOT_OWNERS),
    ("page", "rounds/1/close/", {"leave_open": "on"}, NOT_OWNERS),
    ("page", "rounds/2/raters/add/", {"user": "R2"}, NOT_OWNERS),
    ("page", "rounds/2/raters/R1/withdraw/", {}, NOT_OWNERS),
    ("page", "rounds/2/raters/R1/quota/", {"quota": "1"}, NOT_OWNERS),
    ("page", "members/{member bob}/withdraw/", {}, NOT_OWNERS),
    ("page", "rounds/1/rules/", {}, NOT_OWNERS),
    ("page", "rounds/2/resolve/{4}/", {"dimension": "symptom", "part": "1", "choice": '["slow"]'}, NOT_IN_ROUND_2),
    ("page", "rounds/2/resolve/{4}/third-rater/", {}, NOT_IN_ROUND_2),
    ("page", "rounds/2/resolve/{4}/match/", {"rater": "R1", "parts": "1"}, NOT_IN_ROUND_2),
    ("page", "rounds/2/resolve/{4}/at-fault/", {"dimension": "symptom", "name": "Other"}, NOT_IN_ROUND_2),
    ("page", "rounds/2/resolve/{4}/say/", {"text": "Tell me."}, NOT_IN_ROUND_2),
    ("page", "rounds/2/resolve/{4}/take/", {"place": "1.symptom"}, NOT_IN_ROUND_2),
    ("page", "rounds/1/resolve/{1}/say/", {"text": "Tell me."}, "zoe dan rea sam"),
]


@pytest.fixture(scope="module")
def study(django_db_setup: None, django_db_blocker: Any) -> Iterator[Study]:
    """Built once; what a test does to it is taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield permission_study.make_permission_study()
        transaction.set_rollback(True)


@pytest.mark.slow
def test_what_a_role_may_not_send_is_refused_and_changes_nothing(study: Study) -> None:
    known = permission_study.ids()
    before = _stored(study)
    visitors = {name: Visitor(name) for name in ("dan", "carol", "olga", "sam", "ada", "zoe", "rea", "mallory", None)}
    wrong = []
    for door, path, body, refused in SENT:
        base, nobody = (BASE, 401) if door == "api" else (PAGES, 302)
        for key, pk in known.items():
            path = path.replace("{" + key + "}", str(pk))
        expected = dict.fromkeys(refused.split(), 403) | {"mallory": 404, None: nobody}
        for name, status in expected.items():
            answer = visitors[name].post(base, f"studies/study/{path}", body)
            if answer.status_code != status:
                wrong.append(f"{name} {base}{path} {sorted(body)}: {answer.status_code} instead of {status}")
    assert not wrong
    assert _stored(study) == before


def test_an_answer_of_someone_else_is_not_found(study: Study) -> None:
    known = permission_study.ids()
    body = {"assignment": str(known["bob 5"]), "labels": {"symptom": ["crash"]}}
    for name in ("dan", "olga", "sam", "ada", "zoe", "mallory"):
        visitor = Visitor(name)
        assert visitor.post(BASE, "studies/study/annotations/", body).status_code == 404, name
        for page in (f"rounds/2/label/{known['bob 5']}/", f"rounds/2/label/{known['bob 5']}/draft/"):
            sent = visitor.client.post(f"/studies/study/{page}", {"labels": {}}, content_type="application/json")
            assert sent.status_code == 404, (name, page)


def _stored(study: Study) -> object:
    study.refresh_from_db()
    states = list(Round.objects.filter(study=study).order_by("number").values_list("number", "state", "ruled_at"))
    return everything(), states, study.title, AuditEvent.objects.count(), Resolution.objects.count()
