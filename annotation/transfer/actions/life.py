"""Life of a study: duplicate, archive, unarchive, and delete."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import BigIntegerField, F, Func, Q
from django.utils import timezone

from accounts import audit
from accounts.models import User
from accounts.permissions import require_private_account
from annotation.core.access import OWNER, RATER, Seat
from annotation.core.audit import record, record_of_member
from annotation.core.errors import Blind, Conflict, Forbidden, Invalid, WrongState
from annotation.core.issue_states import takeable_states
from annotation.core.memberships import ask_in, come_in, place_of
from annotation.models import Deletion, Export, Item, Membership, Plan, Round, Sample, SampleIssue, Study
from annotation.studies.actions.studies import create_study
from annotation.transfer.actions.rows import RENUMBERED
from annotation.transfer.jobs import DELETIONS
from annotation.transfer.queries import rows as study_rows
from annotation.transfer.queries.study_export import manifest_of
from ingest.access import hold_repositories
from ingest.models import Issue, Snapshot

COPIED = (
    "guidelines", "resolve_when", "applies", "screened_out", "screening_keywords",
    "names_shown", "third_rater", "majority", "pseudonymise",
)  # fmt: skip


@transaction.atomic
def duplicate_study(
    *, seat: Seat, slug: str, title: str = "", with_members: bool = False, with_items: bool = False
) -> Study:
    """Makes a study of the same taxonomy, guidelines, settings and fixed coefficients, without any answer.

    With items the samples come along, and every item with the state that raters read; none is screened. With members
    everybody who can sign in has the same roles and code; else `seat`'s person alone is there, as owner. Raises Invalid
    with the fields, Conflict where the slug is taken, Forbidden where items or frames are private issues that
    the person reads only through this study.
    """
    seat.require(OWNER)
    source = seat.study
    primary = {key: {k: v for k, v in entry.items() if k != "fixed_at"} for key, entry in source.primary.items()}
    made = create_study(
        user=seat.user,
        slug=slug,
        title=title or source.title,
        taxonomy=source.taxonomy.slug,
        primary=primary,
        guidelines=source.guidelines,
        resolve_when=source.resolve_when,
        registers=False,
    )
    for name in COPIED:
        setattr(made, name, getattr(source, name))
    made.save(update_fields=COPIED)
    if with_members:
        _copy_members(source, made, seat.user)
    if with_items:
        _require_takeable(seat)
    n_items = _copy_items(source, made) if with_items else 0
    said: dict[str, Any] = {"of": source.slug, "members": with_members, "items": n_items}
    record(study=made, user=seat.user, verb="duplicated from a study", **said)
    record(study=source, user=seat.user, verb="study duplicated", to=made.slug)
    return made


def _copy_members(source: Study, made: Study, user: User) -> None:
    kept = ("roles", "code", "kind", "machine_name", "machine_version", "machine_prompt")
    for each in Membership.objects.filter(study=source, user__is_active=True).select_related("user").order_by("pk"):
        given = {name: getattr(each, name) for name in kept}
        if RATER not in each.roles:
            given["code"] = None
        assert each.user is not None
        copied = place_of(made, each.user) or Membership(study=made)
        if user.is_staff or each.user == user:
            come_in(copied, each.user)
        else:
            ask_in(copied, each.user, by=user, name=each.user.username)
        for name, value in given.items():
            setattr(copied, name, value)
        copied.save()
        verb = "member invited" if copied.is_invited else "member set"
        detail = {"member": each.user.username, "roles": copied.roles}
        record_of_member(study=made, user=user, verb=verb, account=copied.user, detail=detail)


def _require_takeable(seat: Seat) -> None:
    """Raises Forbidden where the study holds states of issues that this person may not take into another one."""
    items = Item.objects.filter(study=seat.study, issue__isnull=False).order_by().values("issue")
    drawn = SampleIssue.objects.filter(sample__study=seat.study).order_by().values("issue")
    hold_repositories(Issue.objects.filter(Q(pk__in=items) | Q(pk__in=drawn)))
    pinned = Item.objects.filter(study=seat.study, snapshot__isnull=False).order_by().values("snapshot")
    frames = Sample.objects.filter(study=seat.study).order_by()
    framed = frames.values_list(Func(F("frame"), function="unnest", output_field=BigIntegerField()))
    held = Snapshot.objects.filter(Q(pk__in=pinned) | Q(pk__in=framed), issue__repository__private=True)
    if n := held.exclude(pk__in=takeable_states(seat).values("pk")).values("issue").distinct().count():
        these = "1 of its issues is" if n == 1 else f"{n} of its issues are"
        raise Forbidden(
            f"Study not duplicated: {these} in a private repository that you can read only through this "
            "study. Duplicate it without items, or ask an owner who may read the repository."
        )


def _copy_items(source: Study, made: Study) -> int:
    """Samples with their frames, and items; how many items. Four statements, whatever the size.

    Control stretches of what was screened out stay behind: the new study has screened nothing.
    """
    filter = RENUMBERED.format(filter="s.filter", map="copied_samples")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            CREATE TEMP TABLE IF NOT EXISTS copied_samples (old bigint, new bigint) ON COMMIT DROP;
            TRUNCATE copied_samples;
            INSERT INTO copied_samples
            SELECT id, nextval(pg_get_serial_sequence('annotation_sample', 'id')) FROM (
                SELECT id FROM annotation_sample
                WHERE study_id = %(source)s AND coalesce(filter ->> 'screened_out_of', '') IN ('', '[]')
                ORDER BY id) AS samples;
            INSERT INTO annotation_sample (id, study_id, number, filter, counts, frame, n_frame, size, confidence,
                margin, seed, stratify_by, allocation, at_least_one, strata, frame_strata, created_by_id, created_at)
            SELECT c.new, %(made)s, number, {filter}, counts, frame, n_frame, size, confidence, margin, seed,
                stratify_by, allocation, at_least_one, strata, frame_strata, created_by_id, created_at
            FROM annotation_sample s JOIN copied_samples c ON c.old = s.id;
            INSERT INTO annotation_sampleissue (sample_id, issue_id, position, stratum)
            SELECT c.new, issue_id, position, stratum
            FROM annotation_sampleissue d JOIN copied_samples c ON c.old = d.sample_id ORDER BY d.id;
            """,  # noqa: S608
            {"source": source.pk, "made": made.pk},
        )
        cursor.execute(
            """
            INSERT INTO annotation_item (study_id, issue_id, identifier, snapshot_id, screening, screening_reason,
                attributes)
            SELECT %s, issue_id, identifier, snapshot_id, 'unscreened', '', attributes
            FROM annotation_item WHERE study_id = %s ORDER BY id
            """,
            [made.pk, source.pk],
        )
        n_items: int = cursor.rowcount
    return n_items


def export_of_present(study: Study) -> tuple[Export | None, str]:
    """The whole export that holds the study as it is now, or None and the sentence that says what is missing."""
    rows = Export.objects.filter(study=study, what="study", state=Export.State.DONE).order_by("-number")
    export = rows.first()
    if export is None or export.started_at is None:
        return None, "This study has no full export yet. Create one and download it."
    newest = study_rows.newest_change(study)
    if newest is not None and newest >= export.started_at:
        return None, f"The study was changed after export {export.number} was created. Create another full export."
    try:
        with export.file.open("rb") as file:
            manifest = manifest_of(file)
    except Exception:
        return None, f"The file of export {export.number} can't be read. Create another full export."
    told = {each["name"]: each["rows"] for each in manifest["tables"]}
    now = _of_work(study_rows.counts(study, export.created_by))
    if any(told.get(name) != n for name, n in now.items()):
        return None, f"The study differs from export {export.number}. Create another full export."
    return export, ""


def _of_work(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of what changes with the study, not with someone's drafts, inbox or asking for a file."""
    passing = {"export", "auditevent", "inboxline", "draft"}
    return {name: n for name, n in counts.items() if name not in passing}


@transaction.atomic
def delete_study(*, seat: Seat, typed: object, send: bool = True) -> Deletion:
    """Deletes a study whole: nobody finds it from now on, and a job takes away all that it holds, files included.

    `typed` is its slug. Issues and taxonomies stay, and so does that it was deleted, with the SHA-256 of the export
    that holds it. Raises Invalid for another word, Blind where the person rates in an open round, Conflict where no
    whole export is of the present state, or a job is at work, Forbidden for the visitors of a public demo site.
    """
    seat.require(OWNER)
    if settings.DEMO_OPEN:
        require_private_account(seat.user, "don't delete it")
    if seat.blind_round_ids:
        raise Blind("You are a rater in an open round of this study. You can delete it when the round is closed.")
    seat.require_nothing_withheld("The contents of the study")
    study = Study.objects.select_for_update(no_key=True).get(pk=seat.study.pk)
    # Who submits, resolves or comments now waits, and is no member then. So the export holds all that is in the study.
    list(Round.objects.select_for_update(of=("self",)).filter(study=study).order_by("pk").values_list("pk"))
    seat.require_again()
    if typed != study.slug:
        sentence = f"Type {study.slug} to delete this study."
        raise Invalid("Study not deleted.", fields={"typed": [sentence]})
    if Plan.objects.filter(study=study, state__in=Plan.AT_WORK).exists():
        raise Conflict("A migration is running. Wait until it has finished.")
    if Export.objects.filter(study=study, state__in=Export.AT_WORK).exists():
        raise Conflict("An export of this study is running. Wait for it, or cancel it.")
    export, missing = export_of_present(study)
    if export is None or export.started_at is None:
        raise Conflict(missing, code="no_whole_export")
    counts = {table.name: table.rows(study).order_by().count() for table in study_rows.tables().values()}
    deletion = Deletion.objects.create(
        study=study,
        slug=study.slug,
        title=study.title,
        sha256=export.sha256,
        exported_at=export.started_at,
        counts=counts,
        n_total=sum(counts.values()),
        deleted_by=seat.user,
        worked_at=timezone.now(),
    )
    study.deleted_at = timezone.now()
    study.save(update_fields=["deleted_at"])
    Membership.objects.filter(study=study).update(invitation_key=None)
    for each in Membership.objects.select_related("user").filter(study=study, user__isnull=False):
        each.name, each.user = each.name or each.display_name[:150], None
        each.save(update_fields=["name", "user"])
    audit.record(verb="study deleted", user=seat.user, study=study.slug, sha256=export.sha256)
    if send:
        DELETIONS.send_later(deletion.pk)
    return deletion


@transaction.atomic
def continue_deletion(*, user: User, deletion: Deletion) -> None:
    """Starts the job of a deletion that failed again; `deletion` is one that this user sees. Raises WrongState."""
    failed = Deletion.objects.filter(pk=deletion.pk, done_at=None).exclude(error="")
    if not failed.update(error="", state=Deletion.State.QUEUED):
        raise WrongState("The deletion has not failed.")
    audit.record(verb="deletion continued", user=user, study=deletion.slug)
    DELETIONS.send_later(deletion.pk)
