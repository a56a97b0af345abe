"""REST requests of studies: the caller, their access, the body, and words of the URL."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q
from rest_framework.request import Request

from accounts.models import User
from annotation.core.access import Seat, get_round, get_seat
from annotation.core.errors import Invalid, NotFound, Unreadable
from annotation.core.imported import number_of_label
from annotation.models import Item, Membership, Round, RoundItem, Study
from shared.request_checks import meant
from shared.storable_json import check_storable
from taxonomy.models import Dimension, TaxonomyVersion

MOST = 2**31 - 1


def caller(request: Request) -> User:
    """Who calls; `scope` has let nobody anonymous through."""
    assert isinstance(request.user, User)
    return request.user


def seat_of(request: Request, slug: str) -> Seat:
    return get_seat(caller(request), slug)


def body_of(request: Request) -> dict[str, Any]:
    """The request's JSON object. Raises Unreadable for anything else."""
    body: Any = request.data
    if not isinstance(body, Mapping):
        raise Unreadable("Send a JSON object as the body.")
    return dict(body)


def present_entries(body: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The named entries that were given and are not null."""
    return {name: body[name] for name in names if body.get(name) is not None}


def number_in_address(request: Request, name: str) -> int | None:
    """A whole number from the query of the address, None where it is not there. Raises Invalid."""
    given = request.query_params.get(name)
    if given is None or given == "":
        return None
    if not given.isascii() or not given.isdecimal() or len(given) > 10 or int(given) > MOST:
        raise Invalid("Some query parameters are not valid.", fields={name: ["Enter a whole number."]})
    return int(given)


def word_in_address(request: Request, name: str) -> str:
    """A text from the query of the address, empty where it is not there. Raises Invalid."""
    given: str = request.query_params.get(name, "")
    check_storable({name: given})
    return given


def choice_in_address(request: Request, name: str, choices: tuple[str, ...], default: str | None) -> str | None:
    """One of the words allowed, from the query of the address. Raises Invalid."""
    given = request.query_params.get(name) or default
    if given is not None and given not in choices:
        raise Invalid("Some query parameters are not valid.", fields={name: [f"Use one of {', '.join(choices)}."]})
    return given


def round_named(request: Request, seat: Seat) -> Round | None:
    """The round that the query of the address names, by `round` or `round_label`. Raises Invalid; one query each."""
    number, label = number_in_address(request, "round"), word_in_address(request, "round_label")
    if label:
        number = number_of_label(seat, label, number)
    try:
        return None if number is None else get_round(seat, number)
    except NotFound as error:
        raise Invalid(
            "Some query parameters are not valid.", fields={"round": [f"This study has no round {number}."]}
        ) from error


def round_number_in_address(request: Request, seat: Seat) -> int | None:
    """The number of a round of the study, from the query of the address. Raises Invalid, also where there is none."""
    round_ = round_named(request, seat)
    return round_.number if round_ else None


def dimension_in_address(request: Request, seat: Seat) -> str | None:
    """The key of a dimension that a round of the study can ask for. Raises Invalid, which names the nearest."""
    key = word_in_address(request, "dimension")
    if not key:
        return None
    published = Q(~Q(version__state=TaxonomyVersion.State.DRAFT), version__taxonomy=seat.study.taxonomy_id)
    of_rounds = Q(version__in=seat.study.rounds.values("taxonomy_version"))
    keys = set(Dimension.objects.filter(published | of_rounds).values_list("key", flat=True))
    if key not in keys:
        sentence = f"This study has no dimension “{key[:60]}”.{meant(key, sorted(keys))}"
        raise Invalid("Some query parameters are not valid.", fields={"dimension": [sentence]})
    return key


def rater_in_address(request: Request, seat: Seat) -> str | None:
    """The code of a rater of the study, from the query of the address. Raises Invalid."""
    code = word_in_address(request, "rater")
    if code and not Membership.objects.filter(study=seat.study, code=code).exists():
        raise Invalid(
            "Some query parameters are not valid.", fields={"rater": [f"This study has no rater “{code[:60]}”."]}
        )
    return code or None


def round_in_address(request: Request, seat: Seat) -> Round | None:
    """The round that the address asks for, which the caller may see. Raises Blind, Invalid."""
    round_ = round_named(request, seat)
    if round_ is not None:
        seat.require_sight(round_)
    return round_


def round_for(seat: Seat, item: Item, number: int | None, dimension: str = "") -> Round:
    """The round that a decision is for: the one named, else the newest one of the item that can be decided.

    Where none is named a screening round is meant only by a dimension that screening asks and the study does not, and
    no relabeling queue while labels of the item are withheld.
    """
    if number is not None:
        return get_round(seat, number)
    states = [*Round.OVER]
    if seat.study.resolve_when == Study.ResolveWhen.ITEM:
        states.append(Round.State.OPEN)
    asks = Dimension.objects.filter(version=OuterRef("round__taxonomy_version"), key=dimension)
    places = RoundItem.objects.filter(seat.not_queued(), item=item, known__isnull=True)
    places = places.exclude(round__state=Round.State.UNDONE)
    rows = list(
        places.annotate(asks=Exists(asks))
        .order_by("-round__number")
        .values_list("round__number", "round__state", "round__kind", "asks")
    )
    rows = [row for row in rows if row[3]] or rows
    rows = [row for row in rows if row[2] != Round.Kind.SCREENING] or rows
    chosen = next((row[0] for row in rows if row[1] in states), rows[0][0] if rows else 0)
    return get_round(seat, chosen)
