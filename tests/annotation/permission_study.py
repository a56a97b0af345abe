"""A study with everything in it that must be kept from someone, and every address where that could come out."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import pyarrow.parquet
from django.core.files.base import ContentFile
from django.db import connection
from django.test import Client
from django.urls import URLPattern
from django.utils import timezone

from accounts.actions import make_token
from annotation import api_urls as api
from annotation import urls
from annotation.analysis.actions import save_analysis
from annotation.analysis.queries.presentation.kinds import KINDS
from annotation.choosing.actions import samples as sample_actions
from annotation.core.access import get_item
from annotation.discussion import actions as discussion_actions
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.imports.actions.workbooks import take_workbook
from annotation.invitations.actions.invitations import invite
from annotation.labels.actions import faults
from annotation.members.actions import members
from annotation.models import (
    Arrival,
    Assignment,
    Deletion,
    Export,
    InboxLine,
    Invitation,
    Item,
    Plan,
    Proposal,
    Round,
    Sample,
    Study,
    Workbook,
)
from annotation.plans import actions as plan_actions
from annotation.resolving.actions import resolutions as resolution_actions
from annotation.resolving.actions import third_rater_requests as third_raters
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from tests import builders as make
from tests.annotation.plans.test_plans import SECOND
from tests.remembered import remembered

PAGES, BASE = "/", "/api/v1/"
OF_ROUND_1 = {name: f"zq1{name}" for name in ("memo", "quote", "proposal", "remark", "rationale", "skip")}
"""Words about the item that zoe is asked about as a third rater, in a round that is being resolved."""
OF_OPEN = {
    name: f"zq2{name}" for name in ("memo", "quote", "proposal", "pmemo", "skip", "remark", "rationale", "fault")
}
OF_OPEN |= {"machine": "zq2machine", "screened": "zq3screened"}
"""Words that others left in the rounds that are open."""
KNOWN = "zq4known"
"""Why the known answer of a training item is right."""


def hidden_from(name: str) -> dict[str, str]:
    """What someone who does not decide is told nowhere; readers see the reasons of decisions, and carol rated in 1."""
    found = {word: OF_OPEN[word] for word in OF_OPEN if word != "rationale" or name == "carol"}
    if name == "carol":
        return found
    return found | {f"{word} (round 1)": OF_ROUND_1[word] for word in ("memo", "quote", "proposal", "remark")}


def is_title(found: str) -> bool:
    """Whether a word stands in the title of an analysis that an owner saved, which is no answer."""
    return found.startswith("/studies/study/analysis/") and "(round 1)" not in found and "answers 5" not in found


BLIND = ("dan", "olga", "sam")
"""A rater of the open rounds, the owner and someone of the staff who rate there, too."""


@remembered
def make_permission_study() -> Study:
    """A study whose round 1 is being resolved, whose round 2 labels and whose round 3 screens.

    Zoe adjudicates and is asked as a third rater about item 1; bob is done in rounds 2 and 3, and
    dan, olga and sam are not.
    """
    with connection.cursor() as cursor:  # no sample's ID is the number of one in another study
        cursor.execute(
            "SELECT setval(name, nextval(name) + 99) FROM pg_get_serial_sequence('annotation_sample', 'id') name"
        )
    make.user("sam", staff=True)
    study = make.study(raters=("bob", "carol", "dan", "zoe"), resolve_when=Study.ResolveWhen.ITEM)
    owner = make.owner_seat(study)
    for name, roles in (("olga", ["owner", "rater"]), ("sam", ["rater"]), ("zoe", ["rater", "adjudicator"])):
        members.add_member(seat=owner, username=name, roles=roles)
    machine = {"name": "Reader", "version": "1", "prompt": "Read."}
    members.add_member(
        seat=owner, username=make.user("model").username, roles=["rater"], kind="machine", machine=machine
    )
    members.add_member(seat=owner, username=make.user("ida").username, roles=["owner"])
    make.issues(12)
    _resolving(study)
    _labeling(study)
    _screening(study)
    studies.change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    sample_actions.draw_sample(seat=make.owner_seat(study), filter={"repository": "acme/rocket"}, size=2, seed=1)
    make.next_version(study, SECOND + "      - {key: slow, name: Slow}\n")
    plan_actions.preview_plan(seat=make.owner_seat(study), to=2)
    for seat in (make.owner_seat(study), None):
        sheet = ContentFile(f"item,rater,symptom\nacme/rocket#4,bob,{OF_OPEN['memo']}\n".encode(), "more.csv")
        take_workbook(user=make.user("ida"), files=[sheet], seat=seat and make.seat(study, "ida"))
    ida = make.seat(study, "ida")
    export_jobs.work(request_export(seat=ida, what="ratings", format="csv", send=False).pk)
    invite(seat=make.owner_seat(study), roles=["reader"], note="a reviewer")
    save_analysis(seat=ida, title=OF_OPEN["memo"], kind="counts", question={"dimension": ["symptom"]})
    Arrival.objects.create(name=OF_OPEN["memo"], slug="arriving", created_by=make.user("ida"))
    gone = {"slug": "gone", "title": "Gone", "sha256": "a" * 64, "deleted_by": make.user("ida")}
    Deletion.objects.create(exported_at=timezone.now(), done_at=timezone.now(), **gone)
    make.study("other", owner="mallory", raters=("eve",), text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    return study


def quoted(words: str) -> list[dict[str, str]]:
    return [{"dimension": "symptom", "category": "crash", "where": "body", "quote": words}]


def _resolving(study: Study) -> None:
    """Round 1: bob and carol differ on items 1 to 3; zoe is asked about 1, and 2 is decided."""
    round_ = make.open_round(study, 3, kind="pilot")
    said = {"memo": OF_ROUND_1["memo"], "evidence": quoted(OF_ROUND_1["quote"]), "flag": True}
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, **said)
    proposed = {"symptom": {"name": OF_ROUND_1["proposal"], "memo": "none fits"}}
    make.submit(round_, "carol", 1, {}, proposals=proposed)
    make.rate(round_, "item bob carol\n2 crash hang\n3 crash hang")
    ada = make.seat(study, "ada")
    item = get_item(ada, "acme/rocket#1")
    mention = f"@zoe {OF_ROUND_1['remark']}"
    discussion_actions.write_remark(seat=ada, round_=_fresh(round_), item=item, text=mention)
    place: dict[str, Any] = {"seat": ada, "round_": _fresh(round_), "part": 1, "dimension": "symptom"}
    made = resolution_actions.resolve(
        item=item, values=["crash"], rationale=OF_ROUND_1["rationale"], expected=None, **place
    )
    resolution_actions.reopen(item=item, rationale=OF_ROUND_1["skip"], expected=made.public_id, **place)
    two = get_item(ada, "acme/rocket#2")
    resolution_actions.resolve(item=two, values=["hang"], rationale="plain", expected=None, **place)
    third_raters.ask_third_rater(seat=ada, round_=_fresh(round_), item=item, rater="zoe", unblinded=True)


def _labeling(study: Study) -> None:
    """Round 2: on item 4 all are done, it is decided, talked about and found missing a category; on 6 all agree."""
    everybody = ["bob", "dan", "olga", "sam", "model"]
    known = {"acme/rocket#9": {"labels": {"symptom": ["crash"]}, "why": KNOWN}}
    round_ = make.open_round(study, 4, first=4, raters=everybody, raters_per_item=4, kind="main", known=known)
    said = {"memo": OF_OPEN["memo"], "evidence": quoted(OF_OPEN["quote"]), "flag": True, "confidence": 1}
    for number in (4, 6):
        for name in BLIND:
            make.submit(round_, name, number, {"symptom": ["crash"]})
    make.submit(round_, "bob", 4, {"symptom": ["hang"]}, **{**said, "evidence": []})
    make.submit(round_, "bob", 6, {"symptom": ["crash"]}, **said)
    proposed = {"symptom": {"name": OF_OPEN["proposal"], "memo": OF_OPEN["pmemo"]}}
    make.submit(round_, "bob", 5, {}, proposals=proposed)
    make.submit(round_, "bob", 7, skip=OF_OPEN["skip"])
    make.submit(round_, "bob", 9, {"symptom": ["crash"]})
    for number in (4, 5, 6, 7):
        make.submit(round_, "model", number, {"symptom": ["hang"]}, memo=OF_OPEN["machine"])
    ada = make.seat(study, "ada")
    item = get_item(ada, "acme/rocket#4")
    place: dict[str, Any] = {"seat": ada, "round_": _fresh(round_), "item": item}
    discussion_actions.write_remark(text=f"@dan @olga @sam {OF_OPEN['remark']}", **place)
    faults.propose_category(dimension="symptom", name=OF_OPEN["fault"], **place)
    resolution_actions.resolve(
        part=1,
        dimension="symptom",
        values=["hang"],
        rationale=OF_OPEN["rationale"],
        expected=None,
        **place,
    )


def _screening(study: Study) -> None:
    owner = make.owner_seat(study)
    made = rounds.create_round(
        seat=owner,
        asked=rounds.NewRound(
            kind="screening", raters=["bob", *BLIND], raters_per_item=4, issues=["acme/rocket#10", "acme/rocket#11"]
        ),
    )
    round_ = rounds.open_round(seat=owner, number=made.number, unregistered=True)
    labels = {"screening": ["out"], "screening-reason": ["not-a-bug"]}
    make.submit(round_, "bob", 10, labels, memo=OF_OPEN["screened"])


def _fresh(round_: Round) -> Round:
    return Round.objects.select_related("taxonomy_version__taxonomy", "study").get(pk=round_.pk)


def said_otherwise(study: Study) -> None:
    """Bob and the machine change everything they said in the open rounds; how much they answered stays."""
    two, three = (study.rounds.get(number=number) for number in (2, 3))
    for number, was in ((4, "slow"), (5, "hang"), (6, "hang"), (7, "slow"), (9, "slow")):
        make.submit(two, "bob", number, {"symptom": [was]}, memo="otherwise")
    for number in (4, 5, 6, 7):
        make.submit(two, "model", number, {"symptom": ["slow"]}, memo="otherwise")
    make.submit(three, "bob", 10, {"screening": ["in"]})


# Every address of a study, by its name: what is asked after the slug or number. `{}` are ids, see `ids`.

ROUNDS = ("1", "2", "3")
AT_ROUNDS = ("?round=1", "?round=2", "?round=3")
TOLD = ("", "?round=1", "?round=2", "?round=3", "?round=2&dimension=symptom", "?version=1")
SLICES = (*TOLD, "?when=after", "?round=2&when=after")
UNITS = tuple(
    f"?dimension=symptom{more}" for more in ("", "&round=1", "&round=2", "&show=differ", "&a=crash", "&round=1&a=crash")
)
ITEMS = ("{1}", "{2}", "{4}", "{5}", "{6}", "{7}", "{9}", "{10}")
TWO = [f"rounds/{number}/" for number in ROUNDS]
AT = [f"rounds/1/resolve/{pk}/" for pk in ("{1}", "{2}", "{3}")] + [
    f"rounds/2/resolve/{pk}/" for pk in ("{4}", "{5}", "{6}", "{7}", "{9}")
]


def in_study(*rest: str) -> list[str]:
    return [f"studies/study/{each}" for each in rest]


def each(places: Sequence[str], *rest: str) -> list[str]:
    return in_study(*(place + end for place in places for end in rest or ("",)))


EVERYBODYS = {
    "home": [""],
    "sign_in_to_demo": ["demo/sign-in/"],
    "close_account": ["me/close/"],
    "accept_own_invitation": ["me/invitations/nonsense/accept/"],
    "decline_own_invitation": ["me/invitations/nonsense/decline/"],
    "inbox": ["inbox/"],
    "read_inbox": ["inbox/read/"],
    "inbox_line": [f"inbox/{{line {name}}}/" for name in (*BLIND, "zoe")],
    "studies": ["studies/"],
    "new_study": ["studies/new/"],
    "start": ["start/"],
    "start_codebook": ["start/codebook/"],
    "import_whole": ["studies/import/whole/"],
    "import_whole_file": ["studies/import/whole/{arrival}/"],
    "import_whole_progress": ["studies/import/whole/{arrival}/progress/"],
    "deleted_studies": ["deleted-studies/"],
    "deletion_progress": ["deleted-studies/{deletion}/progress/"],
    "continue_deletion": ["deleted-studies/{deletion}/continue/"],
    "import_study": ["studies/import/"],
    "import_study_file": ["studies/import/{upload}/"],
    "import_study_progress": ["studies/import/{upload}/progress/"],
    "import_study_throw_away": ["studies/import/{upload}/throw-away/"],
    "import_study_refusals": ["studies/import/{upload}/refusals.csv"],
    "taxonomy_usage": ["taxonomies/symptoms/usage/?version=1", "taxonomies/study-screening/usage/?version=1"],
    "open_reader_link": ["read/nonsense/"],
    "plans_for_version": ["taxonomies/symptoms/versions/2/plans/"],
}
"""What is nobody's study alone: whoever is signed in may ask, and is told of their own."""

OPEN = {"invitation": ["invitations/nonsense/"]}
"""Whoever has the link of an invitation may ask; a wrong one is 404 for everybody."""

OF_STUDY = {
    "leave_study": in_study("leave/"),
    "away": in_study("away/"),
    "invite": in_study("members/invite/"),
    "withdraw_invitation": in_study("members/invitations/{invitation}/withdraw/"),
    "remove_member": in_study("members/{member bob}/remove/"),
    "password_link": in_study("members/{member bob}/password-link/"),
    "study": in_study(""),
    "study_settings": in_study("settings/"),
    "members": in_study("members/"),
    "start_people": in_study("start/people/"),
    "start_round": in_study("start/round/"),
    "reader_links": in_study("readers/"),
    "withdraw_reader_link": in_study("readers/1/withdraw/"),
    "study_taxonomy": in_study("taxonomy/", "taxonomy/?version=1"),
    "samples": in_study("sample/"),
    "frame": in_study("sample/frame/"),
    "fetch_selection": in_study("sample/fetch/"),
    "screen_sample": in_study("sample/{sample}/screen/"),
    "sample_duplicates": in_study("sample/{sample}/duplicates/"),
    "discard_sample": in_study("sample/{sample}/discard/"),
    "download_frame": in_study("sample/{sample}/frame.csv", "sample/{sample}/frame.jsonl"),
    "download_flow": in_study("sample/{sample}/flow.csv", "sample/{sample}/flow.tex"),
    "items": in_study("items/", "items/?state=out", "items/?screening=out", "items/?search=rocket"),
    "screen_item": in_study("items/{10}/screening/"),
    "item": each([f"items/{pk}/" for pk in ITEMS]),
    "item_changes": each([f"items/{pk}/changes/" for pk in ITEMS]),
    "changes": in_study("changes/"),
    "repin_all": in_study("changes/repin/"),
    "ask_github": in_study("changes/check/"),
    "proposals": in_study("proposals/", "proposals/?round=1", "proposals/?round=2"),
    "proposal": in_study("proposals/{proposal 1}/", "proposals/{proposal 5}/", "proposals/{proposal 4}/"),
    "audit": in_study("audit/", "audit/?of=round+2", "audit/?what=resolved"),
    "audit_file": in_study("audit/audit.csv", "audit/audit.jsonl", "audit/audit.csv?of=round+2"),
    "rounds": in_study("rounds/"),
    "new_round": in_study("rounds/new/"),
    "round": each(TWO),
    "open_round": each(TWO, "open/"),
    "training": each(TWO, "training/"),
    "return_round_to_draft": each(TWO, "return-to-draft/"),
    "set_due_date": each(TWO, "due/"),
    "remove_round": each(TWO, "remove/"),
    "remove_training": in_study("rounds/2/training/{9}/remove/"),
    "start_resolving": each(TWO, "to-resolving/"),
    "close_round": each(TWO, "close/"),
    "add_rater": each(TWO, "raters/add/"),
    "withdraw_rater": each(TWO, "raters/R1/withdraw/", "raters/R3/withdraw/"),
    "remind_third_rater": each(TWO, "third-raters/R1/remind/"),
    "withdraw_third_rater": each(TWO, "third-raters/R1/withdraw/"),
    "change_quota": each(TWO, "raters/R1/quota/"),
    "admit_rater": each(TWO, "raters/R1/admit/"),
    "withdraw_from_study": in_study("members/{member bob}/withdraw/", "members/{member dan}/withdraw/"),
    "label": each(TWO, "label/"),
    "own_list": each(TWO, "label/mine/"),
    "own_counts": each(TWO, "label/mine/counts/"),
    "label_of_item": each(TWO, "label/of/?item=acme/rocket%232", "label/of/?item=acme/rocket%235"),
    "earlier_labels": each(TWO, "label/before/1/", "label/before/5/"),
    "label_after": in_study("rounds/2/label/after/{bob 5}/", "rounds/2/label/after/{dan 4}/"),
    "label_one": in_study(
        "rounds/2/label/{bob 5}/",
        "rounds/2/label/{model 5}/",
        "rounds/2/label/{dan 4}/",
        "rounds/2/label/{olga 4}/",
        "rounds/2/label/{sam 4}/",
        "rounds/2/label/{dan 9}/",
        "rounds/1/label/{zoe 1}/",
    ),
    "screen": in_study("rounds/3/screen/", "rounds/3/screen/?show=out", "rounds/2/screen/"),
    "screen_list": in_study("rounds/3/screen/list/", "rounds/3/screen/list/?here={bob 10}"),
    "screen_keywords": in_study("rounds/3/screen/keywords/"),
    "screen_one": in_study("rounds/3/screen/{bob 10}/", "rounds/3/screen/{dan 10}/", "rounds/2/screen/{dan 4}/"),
    "keep_draft": in_study("rounds/2/label/{bob 5}/draft/", "rounds/2/label/{dan 5}/draft/"),
    "resolve": each(TWO, "resolve/", "resolve/?state=all", "resolve/?dimension=symptom&clash=crash~hang"),
    "resolve_item": each(AT) + each([AT[0], AT[3]], "?place=1.symptom", "?walk=all", "?walk=flagged"),
    "ask_third_rater": each(AT, "third-rater/"),
    "match_parts": each(AT, "match/"),
    "apply_rules": each(TWO, "rules/"),
    "taxonomy_at_fault": each(AT, "at-fault/"),
    "discuss_news": each(AT, "news/?after=0&decided=0&answered=0"),
    "discuss_say": each(AT, "say/"),
    "discuss_take": each(AT, "take/"),
    "discuss": each(TWO, "discuss/", "discuss/?flagged=1", "discuss/?show=all"),
    "discuss_item": each([place.replace("resolve", "discuss") for place in AT]),
    "plans": in_study("plans/"),
    "plan": in_study("plans/{plan number}/"),
    "plan_progress": in_study("plans/{plan number}/progress/"),
    "recheck_plan": in_study("plans/{plan number}/recheck/"),
    "run_plan": in_study("plans/{plan number}/run/"),
    "undo_plan": in_study("plans/{plan number}/undo/"),
    "plan_items": each(
        ["plans/{plan number}/items/"], "", "?dimension=symptom", "?dimension=symptom&category=hang", "?why=split"
    ),
    "agreement": each(["agreement/"], *SLICES),
    "agreement_items": each(["agreement/items/"], *UNITS),
    "methods": in_study("agreement/methods/"),
    "download_methods": in_study("agreement/methods.txt", "agreement/methods.md", "agreement/methods.tex"),
    "agreement_figure": in_study(
        "agreement/figure/trend.svg",
        "agreement/figure/confusion.svg?dimension=symptom",
        "agreement/figure/confusion.svg?dimension=symptom&round=2",
        "agreement/figure/pairs.svg?dimension=symptom&when=after",
    ),
    "import_into": in_study("import/"),
    "import_into_file": in_study("import/{import}/"),
    "import_into_progress": in_study("import/{import}/progress/"),
    "import_into_throw_away": in_study("import/{import}/throw-away/"),
    "import_into_refusals": in_study("import/{import}/refusals.csv"),
    "duplicate_study": in_study("duplicate/"),
    "archive_study": in_study("archive/"),
    "unarchive_study": in_study("unarchive/"),
    "export_whole": in_study("export-whole/"),
    "delete_study": in_study("delete/"),
    "join_member": in_study("members/{member bob}/join/"),
    "analyses": in_study("analysis/"),
    "analysis_kind": each([f"analysis/{kind}/" for kind in KINDS], "", "?round=2")
    + each(["analysis/counts/", "analysis/crosstab/"], "?round=1", "?round=3"),
    "saved_analysis": in_study("analysis/1/"),
    "save_analysis": in_study("analysis/counts/save/"),
    "remove_analysis": in_study("analysis/1/remove/"),
    "analysis_figure": in_study("analysis/counts/figure/counts.svg?dimension=symptom"),
    "analysis_table": in_study("analysis/counts/table/counts.csv", "analysis/counts/table/counts.tex?round=2"),
    "exports": in_study("exports/"),
    "package": in_study("exports/package/"),
    "make_export": in_study("exports/make/"),
    "export_state": in_study("exports/1/state/"),
    "download_export": in_study("exports/1/download/"),
    "cancel_export": in_study("exports/1/cancel/"),
    "remove_export": in_study("exports/1/remove/"),
    "download": each(["exports/labels.csv", "exports/ratings.csv", "exports/resolutions.csv"], "", *AT_ROUNDS)
    + in_study("exports/ratings.parquet", "exports/resolutions.jsonl", "exports/issues.csv", "exports/evidence.csv"),
}

API_EVERYBODYS = {
    "api_studies": ["studies/"],
    "api_own_invitations": ["me/invitations/"],
    "api_accept_invitation": ["me/invitations/nonsense/accept/"],
    "api_decline_invitation": ["me/invitations/nonsense/decline/"],
    "api_inbox": ["inbox/", "inbox/?page_size=1"],
    "api_inbox_read": ["inbox/read/"],
    "api_selections": ["selections/"],
    "api_fetch_selection": ["selections/nonsense/fetch/"],
}
AND_ROUNDS = ("", "&round=1", "&round=2", "&round=3")
FORMATS = ("", "?format=csv", "?format=jsonl", "?format=parquet")
ROWS = (*FORMATS, *AT_ROUNDS, "?round=2&format=csv")

API_OF_STUDY = {
    "api_study": in_study(""),
    "api_members": in_study("members/"),
    "api_absence": in_study("away/"),
    "api_invitations": in_study("invitations/"),
    "api_withdraw_invitation": in_study("invitations/{invitation}/withdraw/"),
    "api_samples": in_study("samples/"),
    "api_sample": in_study("samples/{sample}/"),
    "api_frame": in_study("samples/{sample}/frame/", "samples/{sample}/frame/?format=csv"),
    "api_duplicates": in_study("samples/{sample}/duplicates/"),
    "api_flow": in_study("samples/{sample}/flow/", "samples/{sample}/flow/?format=csv"),
    "api_screening": in_study("screening/", "screening/?screening=out"),
    "api_rounds": in_study("rounds/"),
    "api_round": each(TWO),
    "api_return_to_draft": each(TWO, "return-to-draft/"),
    "api_open_round": each(TWO, "open/"),
    "api_training": each(TWO, "training/"),
    "api_resolve_round": each(TWO, "resolve/"),
    "api_close_round": each(TWO, "close/"),
    "api_round_raters": each(TWO, "raters/"),
    "api_round_rater": each(TWO, "raters/R1/", "raters/R3/"),
    "api_admit_rater": each(TWO, "raters/R1/admit/"),
    "api_withdraw_rater": each(TWO, "raters/R1/withdraw/", "raters/R3/withdraw/"),
    "api_own_screenings": in_study("rounds/3/screening/", "rounds/3/screening/?show=out"),
    "api_keywords": in_study("keywords/"),
    "api_next": each(TWO, "next/", "next/?after={dan 5}", "next/?after={bob 5}"),
    "api_closing_changes": in_study("changes/"),
    "api_updates": in_study("updates/"),
    "api_repin": in_study("changes/repin/"),
    "api_check": in_study("changes/check/"),
    "api_annotations": in_study("annotations/"),
    "api_import": in_study("ratings/imports/{import}/"),
    "api_ratings": each(["ratings/"], *ROWS, "?revision=current", "?round=2&revision=current"),
    "api_evidence": each(["evidence/"], *ROWS, "?rater=R1", "?rater=R1&round=2"),
    "api_disagreements": each(["disagreements/"], "", *(f"{at}&state=all" for at in AT_ROUNDS), "?state=all"),
    "api_proposals": in_study("proposals/", "proposals/?round=1", "proposals/?round=2", "proposals/?state=all"),
    "api_proposal": in_study("proposals/{proposal 1}/", "proposals/{proposal 5}/", "proposals/{proposal 4}/"),
    "api_remarks": in_study(
        "remarks/",
        *(f"remarks/{at}" for at in AT_ROUNDS),
        "remarks/?item=acme/rocket%231",
        "remarks/?item=acme/rocket%234",
        "remarks/?round=1&item=acme/rocket%231",
        "remarks/?round=2&item=acme/rocket%234",
    ),
    "api_resolutions": in_study("resolutions/"),
    "api_matches": in_study("matches/"),
    "api_third_raters": in_study("third-raters/"),
    "api_remind_third_rater": each(TWO, "third-raters/R1/remind/"),
    "api_withdraw_third_rater": each(TWO, "third-raters/R1/withdraw/"),
    "api_rules": each(TWO, "rules/"),
    "api_labels": each(["labels/"], *ROWS),
    "api_study_issues": each(["issues/"], *FORMATS),
    "api_plans": in_study("plans/"),
    "api_plan": in_study("plans/{plan}/"),
    "api_plan_items": each(["plans/{plan}/items/"], "", "?dimension=symptom", "?dimension=symptom&category=hang"),
    "api_run_plan": in_study("plans/{plan}/run/"),
    "api_undo_plan": in_study("plans/{plan}/undo/"),
    "api_agreement": each(["agreement/"], *SLICES),
    "api_methods": in_study("agreement/methods/"),
    "api_counts": each(["analysis/counts/?dimension=symptom"], *AND_ROUNDS),
    "api_shares": in_study("analysis/shares/?mark=only"),
    "api_crosstab": each(["analysis/crosstab/?rows=symptom&columns=repository"], *AND_ROUNDS),
    "api_flow_of_labels": in_study("analysis/flow/?dimensions=symptom,repository"),
    "api_numbers": each(["analysis/numbers/?measure=comments&by=symptom"], *AND_ROUNDS),
    "api_profiles": in_study("analysis/profiles/?dimension=symptom&by=repository"),
    "api_saturation": in_study("analysis/saturation/?dimension=symptom"),
    "api_combinations": in_study("analysis/combinations/?dimensions=symptom,repository"),
    "api_exports": in_study("exports/"),
    "api_export": ["exports/{export}/"],
    "api_cancel_export": ["exports/{export}/cancel/"],
    "api_export_download": ["exports/{export}/download/"],
}


def names(patterns: Sequence[Any]) -> set[str]:
    return {str(pattern.name) for pattern in patterns if isinstance(pattern, URLPattern)}


def all_names() -> set[str]:
    """The names of all addresses of studies, of pages and of the API."""
    return names(urls.urlpatterns) | names(api.urlpatterns)


def ids() -> dict[str, object]:
    """What stands for the ids in an address."""
    found: dict[str, object] = {}
    for item in Item.objects.filter(study__slug="study"):
        found[item.identifier.rpartition("#")[2]] = item.pk
    rows = Assignment.objects.filter(round__study__slug="study").order_by("round")
    for pk, name, item_name in rows.values_list("pk", "rater__user__username", "item__identifier"):
        found[f"{name} {item_name.rpartition('#')[2]}"] = Assignment.public_id_of(pk)
    for row in Proposal.objects.filter(round__study__slug="study").order_by("-pk").select_related("item"):
        found[f"proposal {row.item.identifier.rpartition('#')[2]}"] = row.public_id
    for member in Study.objects.get(slug="study").memberships.select_related("user"):
        found[f"member {member.user and member.user.username}"] = member.pk
    for line in InboxLine.objects.order_by("-pk").select_related("member__user"):
        found[f"line {line.member.user and line.member.user.username}"] = line.public_id
    plan = Plan.objects.get()
    uploads = {"import": Workbook.objects.get(study__slug="study").pk, "upload": Workbook.objects.get(study=None).pk}
    uploads |= {"export": Export.objects.get().public_id, "arrival": Arrival.objects.get().pk}
    uploads["deletion"] = Deletion.objects.get().pk
    uploads["invitation"] = Invitation.objects.get().pk
    return found | uploads | {"plan": plan.pk, "plan number": plan.number, "sample": Sample.objects.get().pk}


class Visitor:
    """Someone who asks for pages by their session and for the API by a token; None: nobody."""

    def __init__(self, name: str | None) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers: dict[str, str] = {}
        if name is not None:
            self.client.force_login(make.user(name))
            self.headers = {"Authorization": f"Bearer {make_token(user=make.user(name), name='t', scope='manage')[1]}"}

    def get(self, base: str, path: str) -> Any:
        return self.client.get(base + path, headers=self.headers if base == BASE else {})

    def post(self, base: str, path: str, body: Any) -> Any:
        if base == BASE:
            return self.client.post(
                base + path, json.dumps(body), content_type="application/json", headers=self.headers
            )
        return self.client.post(base + path, body)


def table() -> Iterator[tuple[str, str, str]]:
    """Every address with its name, base and path."""
    known = ids()
    for base, rows in ((PAGES, EVERYBODYS | OPEN | OF_STUDY), (BASE, API_EVERYBODYS | API_OF_STUDY)):
        for name, paths in rows.items():
            for path in paths:
                yield name, base, re.sub(r"\{([^}]+)\}", lambda found: str(known[found[1]]), path)


def words_of(answer: Any) -> str:
    """Everything that an answer tells: its head and its body, a Parquet file as rows."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if body[:4] == b"PAR1":
        return str(pyarrow.parquet.read_table(BytesIO(body)).to_pylist())
    head = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
    return f"{head}\n{body.decode()}"


ALWAYS_NEW = re.compile(
    r'csrfmiddlewaretoken" value="\w+"|"X-CSRFToken": "\w+"|Request-Id: .*|X-Request-ID: .*|told=\w+'
    r"|just now|\d+ (?:minutes?|seconds?) ago|Expires: .*|Content-Length: .*|As of [^<]*UTC"
)
"""What is new in every answer or changes with the minute; where the words are the same, so is their length."""


def compared(words: str) -> str:
    """The same without what changes although nothing was done."""
    return ALWAYS_NEW.sub("", words)


def told(secrets: Mapping[str, str], words: str) -> list[str]:
    return [name for name, word in secrets.items() if word in words]
