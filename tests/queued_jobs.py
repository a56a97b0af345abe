"""One job of each kind in a site's queue, to see what becomes of them when Redis loses it."""

from django.core.files.base import ContentFile

from annotation.exports.actions import request_export
from annotation.imports.actions import workbooks
from annotation.models import Round, Study
from annotation.plans.actions import preview_plan, run_plan
from annotation.resolving.actions.third_rater_requests import apply_rules
from tests import builders as make

RATERS = ("bob", "carol", "dave")
QUEUED = {
    "plan": "SELECT state FROM annotation_plan",
    "export": "SELECT state FROM annotation_export",
    "workbook": "SELECT state FROM annotation_workbook",
    "rules": "SELECT CASE WHEN ruled_at IS NULL THEN 'queued' ELSE 'done' END FROM annotation_round"
    " WHERE state = 'resolving' ORDER BY id LIMIT 1",
}
A_MINUTE_PASSES = (
    "UPDATE annotation_plan SET worked_at = worked_at - interval '61 s'",
    "UPDATE annotation_export SET worked_at = worked_at - interval '61 s', created_at = created_at - interval '61 s'",
    "UPDATE annotation_workbook SET worked_at = worked_at - interval '61 s'",
    "UPDATE annotation_round SET resolving_at = resolving_at - interval '61 s'",
)
PICK_UP = "from accounts.jobs import sweep_jobs; sweep_jobs()"


def queue_jobs() -> None:
    """Run in the site: rules, a plan, a file and a workbook, all sent to workers."""
    ruled = make.study("ruled", text=make.SYMPTOMS.replace("slug: symptoms", "slug: ruled"), raters=RATERS)
    round_ = make.open_round(ruled, 1, raters=RATERS)
    make.rate(round_, "item bob carol dave\n1 crash crash hang")
    Study.objects.filter(pk=ruled.pk).update(majority=True)
    Round.objects.filter(pk=round_.pk).update(ruled_at=None)
    round_ = Round.objects.get(pk=round_.pk)
    apply_rules(seat=make.owner_seat(round_.study), number=round_.number)
    study = make.study("moving")
    make.rate(make.open_round(study, 2, first=101), "item bob carol\n101 crash hang\n102 hang slow")
    make.next_version(
        study, make.SYMPTOMS.replace("key: hang, name: Hang", "key: late-hang, name: Late hang, was: [hang]")
    )
    seat = make.owner_seat(study)
    run_plan(seat=seat, plan=preview_plan(seat=seat, to=2))
    request_export(seat=seat, what="ratings", format="csv")
    rows = ContentFile(b"item,rater,symptom\nx,bob,crash\nx,carol,hang\n", "made.csv")
    workbooks.confirm_workbook(workbook=workbooks.take_workbook(user=make.user("olga"), files=[rows]))
