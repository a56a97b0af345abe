"""An id of another study or person is answered as one that nobody has: at every address, in both directions.

Ida owns `study`, Mallory owns `other`; each has one of everything, and neither is a member with the other.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from accounts.actions import make_token
from annotation.choosing.actions import samples as sample_actions
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.imports.actions.workbooks import take_workbook
from annotation.invitations.actions.invitations import invite
from annotation.models import Assignment, InboxLine, Item, Membership, Proposal, Study
from annotation.plans import actions as plan_actions
from ingest.actions.uploads import take_upload
from ingest.models import FetchRun
from tests import builders as make
from tests.annotation.permission_study import compared
from tests.annotation.plans.test_plans import SECOND
from tests.permissions.site import Site, built, rows

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]
NONSENSE = "987654321"
NOBODYS_UUID = "5e0c1e5a-9c1e-8c1e-9c1e-5e0c1e5a9c1e"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
KINDS = {
    r"\d+": "item", r"proposal \d+": "proposal", r"member \w+": "member", r"line \w+": "line", r"\w+ \d+": "assignment",
    r"plan|sample|import|upload|invitation|export|run|upload of issues|token": "",
}  # fmt: skip
"""What stands in braces in the tables, as far as it is an id of the whole server and not of one study."""
WITH_BODIES = {
    "api/v1/studies/study/annotations/": {"assignment": "{bob 5}", "labels": {"symptom": ["crash"]}},
    "api/v1/studies/study/rounds/": {
        "kind": "main",
        "raters": ["bob"],
        "raters_per_item": 1,
        "sample": "{sample}",
        "screening": ["unscreened"],
        "n_items": 1,
    },
    "api/v1/studies/study/proposals/{proposal 1}/": {"map_to": "crash"},
}
"""REST requests that name an id within, or that are looked at only with a body."""


def kind_of(name: str) -> str:
    """The kind of an id, or nothing for what is no id of the whole server."""
    return next((kind or name for form, kind in KINDS.items() if re.fullmatch(form, name)), "")


def ids_of_other() -> dict[str, str]:
    """One of everything in the study of Mallory, by kind."""
    study = Study.objects.get(slug="other")
    mallory = make.owner_seat(study)
    make.submit(make.open_round(study, 1, raters=("eve",)), "eve", 1, {"symptom": ["crash"]})
    round_ = make.open_round(study, 2, first=2, raters=("eve",))
    make.submit(round_, "eve", 2, {}, proposals={"symptom": {"name": "New", "memo": "none fits"}})
    sample = sample_actions.draw_sample(seat=mallory, filter={"repository": "acme/rocket"}, size=2, seed=1)
    make.next_version(study, SECOND.replace("slug: symptoms", "slug: more") + "      - {key: slow, name: Slow}\n")
    plan = plan_actions.preview_plan(seat=make.owner_seat(study), to=2)
    owner = make.user("mallory")
    issues = ContentFile(b"number,title\n1,Hang\n", "m.csv")
    books = [
        take_workbook(
            user=owner, files=[ContentFile(b"item,rater,symptom\nacme/rocket#1,eve,crash\n", "m.csv")], seat=seat
        )
        for seat in (make.owner_seat(study), None)
    ]
    export = request_export(seat=mallory, what="ratings", format="csv", send=False)
    export_jobs.work(export.pk)
    run = FetchRun.objects.create(kind="github", target="github.com/o/r", state="done", created_by=owner)
    found: dict[str, Any] = {
        "item": Item.objects.filter(study=study).first(), "assignment": Assignment.objects.filter(round=round_).last(),
        "proposal": Proposal.objects.get(round=round_),
        "member": Membership.objects.get(study=study, user__username="eve"),
        "line": InboxLine.objects.filter(member__study=study).first(), "sample": sample, "plan": plan, "export": export,
        "import": books[0], "upload": books[1], "run": run, "token": make_token(user=owner, name="x")[0],
        "invitation": invite(seat=mallory, roles=["reader"], note="a friend")[0],
        "upload of issues": take_upload(user=owner, file=issues, repository="o/r"),
    }  # fmt: skip
    return {kind: str(getattr(each, "public_id", each.pk)) for kind, each in found.items()}


@pytest.fixture(scope="module")
def site(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    with built(django_db_blocker) as site:
        site.others = ids_of_other()  # type: ignore[attr-defined]
        for name in ("bob", "dan"):
            client = Client(raise_request_exception=False)
            client.force_login(make.user(name))
            token = make_token(user=make.user(name), name="u", scope="manage")[1]
            site.clients[name] = (client, {"Authorization": f"Bearer {token}"})
        yield site


def requests(*, of_studies: bool) -> Iterator[tuple[str, str, str]]:
    """Method, address and body of every request of the tables that names an id of the whole server."""
    for table in ("pages", "rest", "methods"):
        for state, address, _ in rows(table):
            method, _, place = address.rpartition(" /")
            body = json.dumps(WITH_BODIES.get(place, {}))
            names = re.findall(r"\{([^}]+)\}", place + body)
            if state in ("*", "open") and any(map(kind_of, names)) and ("studies/study/" in place) is of_studies:
                for each in (method.lower(),) if method else ("get", "post"):
                    yield each, place, body


def filled(text: str, ids: dict[str, str], site: Site) -> str:
    """An address or a body with these ids for those of the server, and the site's own for numbers within a study."""
    own = site.ids
    return re.sub(r"\{([^{}\"]+)\}", lambda found: ids[kind] if (kind := kind_of(found[1])) else own[found[1]], text)


def own_ids(site: Site, text: str) -> dict[str, str]:
    """The ids of `study` that the tables name in an address or body, by kind."""
    return {kind_of(name): site.ids[name] for name in re.findall(r"\{([^{}\"]+)\}", text) if kind_of(name)}


def told_apart(site: Site, column: str, method: str, address: str, body: str, ids: dict[str, str]) -> str:
    """What is wrong with the answer to ids that someone else has; it is the same as to such as nobody has."""
    seen = []
    made_up = {kind: NOBODYS_UUID if re.fullmatch(UUID, id_) else NONSENSE for kind, id_ in ids.items()}
    for each in (ids, made_up):
        path = "/" + filled(address, each, site)
        status, words = site.answer(column, method, path, filled(body, each, site))
        seen.append((status, re.sub(rf"{UUID}|\d+", "0", compared(words))))
    (status, words), nobodys = seen
    if 200 <= status < 300 or status >= 500 or (status, words) != nobodys:
        at = next((at for at, (a, b) in enumerate(zip(words, nobodys[1], strict=False)) if a != b), 0)
        apart = f"{words[max(0, at - 40) : at + 40]!r}, {nobodys[1][max(0, at - 40) : at + 40]!r}"
        return f"{column}: {method} /{filled(address, ids, site)} {body}: {status}, nonsense {nobodys[0]}: {apart}"
    return ""


@pytest.mark.slow
def test_ids_of_a_study_are_nothing_under_another_one_by_its_owner(site: Site) -> None:
    wrong = []
    for method, address, body in requests(of_studies=True):
        elsewhere = address.replace("studies/study/", "studies/other/")
        wrong.append(told_apart(site, "outsider", method, elsewhere, body, own_ids(site, address + body)))
    assert len(wrong) > 60
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.slow
def test_ids_of_another_study_are_nothing_under_ones_own(site: Site) -> None:
    wrong = [
        told_apart(
            site, "owner", method, address, body, {kind: site.others[kind] for kind in own_ids(site, address + body)}
        )  # type: ignore[attr-defined]
        for method, address, body in requests(of_studies=True)
    ]
    assert len(wrong) > 60
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.slow
def test_what_is_a_persons_or_a_studys_alone_is_nothing_to_others_where_no_study_is_named(site: Site) -> None:
    wrong = []
    for method, address, body in requests(of_studies=False):
        own = own_ids(site, address)
        wrong.append(told_apart(site, "outsider", method, address, body, own))
        wrong.append(told_apart(site, "owner", method, address, body, {kind: site.others[kind] for kind in own}))  # type: ignore[attr-defined]
    assert len(wrong) > 20
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_ids_of_a_round_are_nothing_under_another_round(site: Site) -> None:
    """Assignments, and items at places where only those of the round are shown."""
    wrong = []
    for method, address, body in requests(of_studies=True):
        found = re.search(r"rounds/(\d)/(?:label|next|resolve|discuss)/.*\{(\w+ ?\d+)\}", address)
        if found:
            name = found[2].split()[0] if " " in found[2] else "owner"
            for other in {"1", "2", "3"} - {found[1]}:
                if name in site.clients and not (found[2].isdecimal() and is_in(found[2], other)):
                    elsewhere = address.replace(f"rounds/{found[1]}/", f"rounds/{other}/")
                    wrong.append(told_apart(site, name, method, elsewhere, body, own_ids(site, address)))
    assert len(wrong) > 10
    assert not any(wrong), "\n".join(filter(None, wrong))


def is_in(number: str, round_: str) -> bool:
    return Item.objects.filter(
        study__slug="study", identifier__endswith=f"#{number}", round_items__round__number=int(round_)
    ).exists()
