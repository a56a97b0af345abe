"""Studies: created, changed, and their settings checked."""

from collections.abc import Mapping

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from annotation.assignments.queries import newest_annotation
from annotation.choosing.actions.screened_out import follow_screening, hold_coding_rounds
from annotation.core.access import OWNER, Seat, require_at_work
from annotation.core.audit import record, record_of_member
from annotation.core.demo_people import require_may_create_studies
from annotation.core.errors import Conflict, Invalid
from annotation.core.imported import STUDY_CREATED
from annotation.core.locks import hold_study
from annotation.core.memberships import come_in
from annotation.labels.queries.changed_items import forget_queue
from annotation.labels.queries.screening import screening_taxonomies
from annotation.labels.registration import not_registered
from annotation.labels.screening import read_keywords
from annotation.models import Membership, Round, Study
from annotation.studies.actions.primary import check_primary, confirmed, newest_dimensions
from annotation.studies.actions.study_ids import not_available, require_available, wrong_in_study_id
from annotation.studies.queries.studies import labeling_has_begun
from shared.names import wrong_in
from taxonomy.models import Taxonomy
from taxonomy.queries import written_by_everyone

LONGEST_TITLE, LONGEST_GUIDELINES = 200, 100_000
SWITCHES = ("pseudonymise", "names_shown", "third_rater", "majority")


@transaction.atomic
def create_study(
    *,
    user: User,
    slug: str,
    title: str,
    taxonomy: str,
    primary: Mapping[str, object] | None = None,
    guidelines: str = "",
    resolve_when: str = Study.ResolveWhen.ROUND,
    registers: bool = True,
) -> Study:
    """Creates a study that `user` owns; `primary` counts as registered unless it is only copied (`registers` false).

    Raises Forbidden for whom STUDY_CREATORS leaves out, Invalid with the fields, Conflict where the ID is taken.
    """
    require_may_create_studies(user)
    fields: dict[str, list[str]] = {}
    if sentence := wrong_in_study_id(slug):
        fields["slug"] = [sentence]
    fields |= wrong_words({"title": title, "guidelines": guidelines, "resolve_when": resolve_when})
    found = Taxonomy.objects.readable_by(user).filter(slug=taxonomy).first()
    if found is None:
        fields["taxonomy"] = [f"Taxonomy “{taxonomy}” not found, or you may not use it. Load one first."]
    elif screening_taxonomies().filter(pk=found.pk).exists():
        fields["taxonomy"] = [
            f"“{taxonomy}” is what a study screens by, and only its members read it. Load its document with another "
            "title and an ID without “-screening”, or choose another taxonomy."
        ]
    elif written_by_everyone(user).filter(taxonomy=found.pk).exists():
        fields["taxonomy"] = [
            f"The people of the demo study maintain “{taxonomy}”, and anyone can act as them. Load its document with "
            "another title and ID, or choose another taxonomy."
        ]
    if fields:
        raise Invalid("Study not created.", fields=fields)
    assert found is not None
    checked = check_primary({} if primary is None else primary, found, timezone.now() if registers else None)
    require_available(slug, user)
    try:
        with transaction.atomic():
            study = Study.objects.create(
                slug=slug,
                title=title.strip(),
                taxonomy=found,
                primary=checked,
                guidelines=guidelines,
                resolve_when=resolve_when,
                created_by=user,
            )
    except IntegrityError as error:
        raise not_available() from error
    owner = Membership(study=study, roles=[OWNER])
    come_in(owner, user)
    owner.save()
    registered = sorted(checked) if registers else []
    said = {"title": study.title, "taxonomy": found.slug, "registered": registered}
    record_of_member(study=study, user=user, verb=STUDY_CREATED, account=user, detail=said)
    return study


def wrong_words(words: Mapping[str, object]) -> dict[str, list[str]]:
    """What is wrong with a study's title, guidelines, resolve_when, applies and switches, those that are given."""
    fields: dict[str, list[str]] = {}
    title, guidelines = words.get("title", "-"), words.get("guidelines", "")
    if not isinstance(title, str) or not title.strip():
        fields["title"] = ["Enter a title."]
    elif len(title.strip()) > LONGEST_TITLE:
        fields["title"] = [f"The title has {len(title.strip())} characters. At most {LONGEST_TITLE} are allowed."]
    elif wrong := wrong_in(title.strip()):
        fields["title"] = [wrong]
    if not isinstance(guidelines, str) or len(guidelines) > LONGEST_GUIDELINES:
        fields["guidelines"] = [f"Enter at most {LONGEST_GUIDELINES} characters."]
    if words.get("resolve_when", Study.ResolveWhen.ROUND) not in Study.ResolveWhen.values:
        fields["resolve_when"] = ["Use round or item."]
    if words.get("applies", Study.Applies.BOTH) not in Study.Applies.values:
        fields["applies"] = ["Use both or either."]
    read_keywords(words.get("screening_keywords", []), fields, "screening_keywords")
    if words.get("screened_out", Study.ScreenedOut.EXCLUDE) not in Study.ScreenedOut.values:
        fields["screened_out"] = ["Use exclude or keep."]
    for name in SWITCHES:
        if not isinstance(words.get(name, True), bool):
            fields[name] = ["Use true or false."]
    return fields


@transaction.atomic
def change_study(*, seat: Seat, changes: Mapping[str, object]) -> Study:
    """Changes title, guidelines, resolve_when, applies, screened_out, screening_keywords, the switches (…) or primary.

    Primary only before the first round opens. A rule that is turned on is not applied to rounds that are being resolved
    already, unless the owner asks for it.
    """
    changes = dict(changes)
    seat.require(OWNER)
    study = hold_study(seat)
    require_at_work(study)
    settings = {"title", "guidelines", "resolve_when", "applies", "screened_out", "screening_keywords", "primary"}
    unknown = set(changes) - {*settings, *SWITCHES}
    if unknown:
        raise Invalid(
            "Some fields can't be changed.", fields={name: ["This field can't be changed."] for name in sorted(unknown)}
        )
    if fields := wrong_words(changes):
        raise Invalid("Study not changed.", fields=fields)
    if "primary" in changes:
        if labeling_has_begun(study):
            raise Conflict("Labeling has begun, so the primary coefficients can't be changed.")
        changes["primary"] = check_primary(changes["primary"], study.taxonomy, timezone.now())
    if not study.has_rules and (changes.get("third_rater") or changes.get("majority")):
        resolving = study.rounds.filter(state=Round.State.RESOLVING)
        resolving.filter(ruled_at=None).update(ruled_at=timezone.now())
        resolving.update(ruled_until=newest_annotation())
    if "screening_keywords" in changes:
        changes["screening_keywords"] = read_keywords(changes["screening_keywords"], {}, "screening_keywords")
    said: dict[str, object] = {}
    if changes.get("applies", study.applies) != study.applies:
        said["applies"] = changes["applies"]
    for name, value in changes.items():
        setattr(study, name, value.strip() if isinstance(value, str) else value)
    held = hold_coding_rounds(study) if "screened_out" in changes else []
    study.save(update_fields=list(changes))
    if "screened_out" in changes:
        follow_screening(held)
        said["screened_out"] = study.screened_out
        transaction.on_commit(lambda: forget_queue(*Round.objects.filter(study=study)))
    record(study=study, user=seat.user, verb="study changed", fields=sorted(changes), **said)
    seat.study = study
    return study


@transaction.atomic
def register_primary(*, seat: Seat) -> Study:
    """Registers the coefficients and thresholds as they are shown. Raises Conflict once labeling has begun."""
    seat.require(OWNER)
    study = hold_study(seat)
    require_at_work(study)
    if labeling_has_begun(study):
        raise Conflict("Labeling has begun, so no coefficient can be registered in advance.")
    dimensions = newest_dimensions(study.taxonomy)
    named = [each.key for each in not_registered(study.primary, dimensions)]
    if named:
        study.primary = confirmed(study.primary, dimensions, timezone.now())
        study.save(update_fields=["primary"])
        record(study=study, user=seat.user, verb="coefficients registered", dimensions=named)
    seat.study = study
    return study
