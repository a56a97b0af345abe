"""Screening rounds: their taxonomy, and items moved in or out by the agreed answers."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from annotation.assignments.actions.reading_locks import mark_unblinded
from annotation.assignments.actions.reading_log import note_drafts
from annotation.choosing.actions.screened_out import follow_screening, hold_coding_rounds
from annotation.core.access import OWNER, Seat
from annotation.core.audit import record
from annotation.core.locks import require_prepared
from annotation.labels.queries.changed_items import forget_queue
from annotation.labels.queries.screening import newest_fitting, owns_screening
from annotation.labels.queries.verdicts import round_verdicts
from annotation.labels.screening import IN, OUT, REASON, USUAL, Outcome, first_document, next_document, outcome, slug_of
from annotation.models import Assignment, Item, Membership, Round, RoundItem, Study
from taxonomy import actions as taxonomy_actions
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import document, published_version
from taxonomy.schema import dump

CHUNK = 5000


def screening_version(*, seat: Seat, study: Study, reasons: Sequence[str] | None) -> TaxonomyVersion:
    """The version that a new screening round asks from: the newest one, or a new one where the reasons are others.

    The taxonomy is made with the first such round, or where the study does not own the one that it has. Call it in a
    transaction, with the study's row locked.
    """
    taxonomy = study.screening_taxonomy
    if taxonomy is None or not owns_screening(study):
        return _first_version(seat, study, reasons or tuple(USUAL))
    newest = newest_fitting(study)
    if newest is None:
        text = dump(first_document(taxonomy.slug, study.title, reasons or tuple(USUAL)))
    else:
        changed = next_document(document(newest), reasons) if reasons else None
        if changed is None:
            return newest
        text = dump(changed)
    owners_maintain_screening(study)
    draft = taxonomy_actions.new_draft(user=seat.user, taxonomy=taxonomy, text=text)
    return taxonomy_actions.publish_version(user=seat.user, version=draft)


def _first_version(seat: Seat, study: Study, reasons: Sequence[str]) -> TaxonomyVersion:
    slug = taxonomy_actions.free_slug(seat.user, slug_of(study.slug))
    text = dump(first_document(slug, study.title, reasons))
    draft = taxonomy_actions.load_document(user=seat.user, text=text)
    version = taxonomy_actions.publish_version(user=seat.user, version=draft)
    study.screening_taxonomy = version.taxonomy
    study.save(update_fields=["screening_taxonomy"])
    owners_maintain_screening(study)
    return version


def owners_maintain_screening(study: Study) -> None:
    """Makes the owners of a study, and no one else, the maintainers of the taxonomy that it screens by.

    Call it in the transaction that changes who owns the study, with the study's row locked. Owners who read drafts by
    it from now on are no longer blind to what others proposed in a study that labels by this taxonomy, as releases
    before 0.2.0 made them, and neither are those who did so until now.
    """
    asked = Study.objects.filter(pk=study.pk).order_by().values("screening_taxonomy")
    taxonomy = Taxonomy.objects.select_for_update().filter(pk__in=asked).first()
    if taxonomy is None:
        return
    own = Membership.objects.filter(study__screening_taxonomy=taxonomy, user__isnull=False, roles__contains=[OWNER])
    owners = set(own.values_list("user", flat=True))
    before = set(taxonomy.maintainers.values_list("pk", flat=True))
    taxonomy.maintainers.set(owners)
    note_drafts(User.objects.filter(pk__in=before - owners).order_by("pk"), taxonomy)
    elsewhere = Membership.objects.select_related("user").filter(study__taxonomy=taxonomy, user__in=owners - before)
    for each in elsewhere.order_by("pk"):
        mark_unblinded(each)


def note_screening_version(version: TaxonomyVersion, user: User | None, verb: str) -> None:
    """Writes into the audit of the study that screens by a taxonomy who published or retired a version of it."""
    for study in Study.objects.filter(screening_taxonomy=version.taxonomy_id, deleted_at=None).order_by("pk"):
        record(study=study, user=user, verb=verb, taxonomy=version.taxonomy.slug, version=version.number)


def screen_by_round(*, seat: Seat, round_: Round, items: Sequence[int] | None = None) -> None:
    """Writes what a closed screening round says of its items (or of some, by id): in, or out with the reason.

    Nothing happens to an item on which something is open, or in a round of another kind. What is screened out leaves
    draft rounds. The newest act counts: what someone says of an item later stands, until the round's decision on
    it changes. Call it in the transaction that closes or decides; five queries for a thousand items.
    """
    if round_.kind != Round.Kind.SCREENING or not Round.objects.filter(pk=round_.pk, state=Round.State.CLOSED).exists():
        return
    names = {each.key: each.name for each in published_version(round_.taxonomy_version_id).by_key[REASON].categories}
    found: dict[Outcome | None, list[int]] = defaultdict(list)
    for each in round_verdicts(round_, items=items):
        found[outcome(each.verdicts, names)].append(each.round_item.item_id)
    n_open = len(found.pop(None, []))
    if not found:
        return
    out = [pk for said, pks in found.items() if said and said.screening == OUT for pk in pks]
    left = leave_drafts(seat.study, out) if out else 0
    n_labeled = labeled_among(seat, out) if out else 0
    forget_queues(seat.study)
    held = hold_coding_rounds(seat.study)
    now = timezone.now()
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for said, pks in found.items():
        assert said is not None
        for start in range(0, len(pks), CHUNK):
            Item.objects.filter(pk__in=pks[start : start + CHUNK]).update(
                screening=said.screening, screening_reason=said.reason, screened_by=seat.user, screened_at=now
            )
        counts[said.screening] += len(pks)
        if said.reason:
            reasons[said.reason] += len(pks)
    told: dict[str, object] = {"in": counts[IN], "out": counts[OUT], "left_open": n_open}
    told |= {"reasons": dict(reasons.most_common())} if reasons else {}
    told |= {"left_draft_rounds": left} if left else {}
    told |= {"labeled": n_labeled} if n_labeled else {}
    n_in_open_rounds = follow_screening(held, [pk for pks in found.values() for pk in pks])
    told |= {"in_open_rounds": n_in_open_rounds} if n_in_open_rounds else {}
    record(study=seat.study, user=seat.user, verb="items screened by a round", round=round_.number, **told)


def forget_queues(study: Study) -> None:
    """Has the queues of a study's rounds read anew after the commit: other items may be excluded now."""
    transaction.on_commit(lambda: forget_queue(*Round.objects.filter(study=study)))


def labeled_among(seat: Seat, items: Sequence[int]) -> int:
    """How many of these items (ids) have an answer in a coding round that is over, where none is withheld; one query.

    Which items of an open round are answered is for nobody: owners and adjudicators rate, too, or may be asked to.
    """
    rounds = Round.objects.filter(study=seat.study, state__in=Round.OVER).exclude(kind=Round.Kind.SCREENING)
    given = Assignment.objects.filter(seat.not_withheld(), round__in=rounds, item__in=items, current__isnull=False)
    return given.values("item").distinct().count()


def leave_drafts(study: Study, items: Sequence[int]) -> int:
    """Takes items (ids) that are screened out from the study's draft rounds, and says from how many places.

    Raises Conflict while a job fills or opens one of them.
    """
    require_prepared(study)
    drafts = Round.objects.select_for_update().filter(study=study, state=Round.State.DRAFT).order_by("pk")
    n, _ = RoundItem.objects.filter(round__in=[each.pk for each in drafts], item__in=items).delete()
    return n
