"""First study: the four steps of the guided path, made of existing actions."""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.files.base import File
from django.db import transaction

from accounts.models import User
from annotation.choosing.actions.samples import draw_sample
from annotation.choosing.queries.samples import SampleRequest, draft
from annotation.core.access import OWNER, RATER, Seat
from annotation.core.demo_people import require_may_create_studies
from annotation.core.errors import Conflict, Invalid
from annotation.core.locks import hold_study
from annotation.core.memberships import place_of
from annotation.members.actions.members import set_member
from annotation.models import Round, Study
from annotation.overview.actions.demo import FOLDER, REPOSITORY
from annotation.overview.queries.first_study import raters_of
from annotation.rounds.actions.rounds import NewRound, create_round, open_round
from annotation.studies.actions.studies import create_study, register_primary
from ingest.actions.uploads import start_file_fetch
from ingest.models import FetchRun
from shared.wording import plural
from taxonomy.actions import (
    add_taxonomy,
    copy_taxonomy,
    load_document,
    new_taxonomy,
    publish_version,
    take_ready_made,
)
from taxonomy.category_lists import read_categories
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.ready_made import preset
from taxonomy.schema import key_of

SAMPLE_SIZE = 200
"""How many issues the first sample has at most: the pilot takes some, later rounds the next ones in its order."""


def take_demo_issues(*, user: User) -> FetchRun:
    """Queues the import of the made-up issues that come with Concord; everyone on this server sees them."""
    with (FOLDER / "issues.json").open("rb") as issues:
        file = File(issues, name="demo-issues.json")
        return start_file_fetch(user=user, file=file, repository=REPOSITORY, private=False)


@transaction.atomic
def start_study(
    *, user: User, title: str, source: str, chosen: Mapping[str, Any], publishes: bool = True
) -> tuple[Study, TaxonomyVersion | None]:
    """Creates a study whose ID is made of its title, with its codebook; and the draft that is still to be published.

    `source` is ready, new, list, use, copy or document; `chosen` contains what goes with it (preset, taxonomy, list,
    document). Without `publishes` the draft is left to be edited. Raises Invalid and what the actions of
    taxonomies raise.
    """
    require_may_create_studies(user)
    version = _codebook(user, title, source, chosen)
    if publishes and source != "new" and version.is_draft:
        version = publish_version(user=user, version=version)
    taxonomy = version.taxonomy.slug
    study = _with_free_id(
        title, lambda slug: create_study(user=user, slug=slug, title=title, taxonomy=taxonomy, registers=False)
    )
    return study, version if version.is_draft else None


def _codebook(user: User, title: str, source: str, chosen: Mapping[str, Any]) -> TaxonomyVersion:
    if source == "ready":
        return take_ready_made(user=user, asked=preset(chosen["preset"]).document)
    if source == "new":
        return new_taxonomy(user=user, title=title)
    if source == "list":
        asked = str(chosen.get("question") or "").strip() or "Category"
        dimension: dict[str, Any] = {"key": key_of(asked) or "category", "title": asked, "kind": "single"}
        dimension["categories"] = read_categories(chosen["list"])
        return add_taxonomy(user=user, title=title, document={"dimensions": [dimension]})
    if source == "document":
        return load_document(user=user, text=chosen["document"])
    taxonomy: Taxonomy = chosen["taxonomy"]
    if source == "copy":
        return copy_taxonomy(user=user, taxonomy=taxonomy, title=title)
    if (version := _published(taxonomy)) is None:
        raise Invalid("Choose another taxonomy.", fields={"taxonomy": ["It has no published version."]})
    return version


def _published(taxonomy: Taxonomy) -> TaxonomyVersion | None:
    return taxonomy.versions.filter(state=TaxonomyVersion.State.PUBLISHED).order_by("-number").first()


def _with_free_id(title: str, make: Callable[[str], Study]) -> Study:
    slug = re.sub(r"[-_]{2,}", "-", key_of(title)[:70]).strip("-_") or "study"
    try:
        return make(slug)
    except Conflict as error:
        if error.code != "slug_taken":
            raise
    return make(f"{slug}-{secrets.token_hex(3)}")


def set_raters(*, seat: Seat, names: Sequence[str], labels_too: bool) -> None:
    """Makes the owner a rater, if they label, and invites these accounts as raters. Raises Invalid, TooMany.

    Those who can be invited are, whatever becomes of the others: nobody's name is confirmed without their being told.
    """
    seat.require(OWNER)
    if labels_too:
        _add_rater(seat, seat.user.username)
    wrong: list[str] = []
    for name in names:
        try:
            _add_rater(seat, name)
        except Invalid:
            wrong.append(f"No account has the user name “{name}”. Send this person the invitation link.")
        except Conflict as error:
            wrong.append(error.message)
    if wrong and len(wrong) < len(names):
        wrong.append("Everyone else is invited.")
    if wrong:
        raise Invalid("Not everyone could be invited.", fields={"names": wrong})
    if not raters_of(seat.study):
        raise Invalid("A round needs a rater.", fields={"names": ["Name a rater, or label yourself."]})


@transaction.atomic
def _add_rater(seat: Seat, name: str) -> None:
    hold_study(seat)
    found = User.named(name).filter(elsewhere="").first()
    place = place_of(seat.study, found) if found else None
    roles = place.roles if place is not None and (place.user_id or place.is_invited) else []
    set_member(seat=seat, username=name, roles=[*roles, RATER])


@transaction.atomic
def open_first_round(
    *, seat: Seat, repository: str, n_items: int, raters_per_item: int, registers: bool, seed: int = 1
) -> Round:
    """Draws a sample of a repository, and opens a pilot of its first items with all raters of the study.

    With `registers` the coefficients that are shown are registered first. Raises Conflict where there is a round.
    """
    seat.require(OWNER)
    if seat.study.rounds.exists():
        raise Conflict("This study has a round already.")
    conditions = {"repository": repository}
    n = draft(seat, conditions, SampleRequest(), is_draw=False).n_frame
    if n_items > n:
        raise Invalid("Too few issues.", fields={"n_items": [f"{repository} has {plural(n, 'issue')} here."]})
    if registers:
        register_primary(seat=seat)
    sample = draw_sample(seat=seat, filter=conditions, size=min(n, max(SAMPLE_SIZE, n_items)), seed=seed)
    made = create_round(
        seat=seat,
        asked=NewRound(
            kind=Round.Kind.PILOT,
            raters=[each.code or "" for each in raters_of(seat.study)],
            raters_per_item=raters_per_item,
            sample=sample.pk,
            n_items=n_items,
            seed=seed,
        ),
    )
    return open_round(seat=seat, number=made.number, unregistered=True)
