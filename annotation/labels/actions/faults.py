"""Gaps in the taxonomy: a category proposed while resolving, with the item attached."""

from django.db import transaction

from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.core.audit import record
from annotation.core.errors import Forbidden, Invalid, NotFound, WrongState
from annotation.models import Item, Proposal, Round, RoundItem
from shared.storable_json import check_storable
from taxonomy.queries import published_version

NOT_PROPOSED = "Category not proposed."
LONGEST_NAME, LONGEST_MEMO = 200, 20_000


@transaction.atomic
def propose_category(
    *, seat: Seat, round_: Round, item: Item, dimension: str, name: str, memo: str = "", part: int = 1
) -> Proposal:
    """Proposes a category for a dimension because an item has no place in it; it waits for the owner's answer.

    The round can't be closed until it is answered, unless what is open is left so. The same words again on the same
    place are the same proposal. Raises Invalid with the fields, WrongState, Forbidden, Blind, NotFound.
    """
    if seat.membership is None:
        raise Forbidden("Only members of the study can propose categories. Ask its owner to add you.")
    seat.require(ADJUDICATOR, OWNER)
    seat.require_sight_of(round_, item)
    check_storable({"name": name, "memo": memo})
    if not RoundItem.objects.counting().filter(round=round_, item=item).exists():
        raise NotFound(f"{item.identifier} is not in round {round_.number}.")
    state = Round.objects.select_for_update(no_key=True).get(pk=round_.pk).state
    seat.require_again()
    item_by_item = state == Round.State.OPEN and seat.study.is_resolved_by_item
    if state != Round.State.RESOLVING and not item_by_item:
        raise WrongState(
            f"Round {round_.number} is {state}. Categories can be proposed here while it is being resolved."
        )
    if round_.kind == Round.Kind.SCREENING:
        raise WrongState(
            "No category can be proposed while screening. The owner defines other reasons with the next round."
        )
    asked = published_version(round_.taxonomy_version_id).by_key.get(dimension)
    fields: dict[str, list[str]] = {}
    if asked is None or not asked.has_categories:
        fields["dimension"] = [f"“{dimension[:40]}” has no categories."]
    if not name.strip() or len(name.strip()) > LONGEST_NAME:
        fields["name"] = [f"Enter a category name of at most {LONGEST_NAME} characters."]
    if len(memo) > LONGEST_MEMO:
        fields["memo"] = [f"Enter at most {LONGEST_MEMO} characters."]
    if not 1 <= part <= 1000:
        fields["part"] = ["Enter a whole number from 1."]
    if fields or asked is None:
        raise Invalid(NOT_PROPOSED, fields=fields)
    made, is_new = Proposal.objects.get_or_create(
        annotation=None,
        round=round_,
        item=item,
        part=part,
        proposed_by=seat.membership,
        dimension_id=asked.id,
        name=str(name).strip(),
        memo=str(memo).strip(),
    )
    if is_new:
        record(
            study=seat.study,
            user=seat.user,
            verb="category proposed",
            round=round_.number,
            item=item.identifier,
            dimension=asked.key,
        )
    return made
