"""Calibration on the pages of a study: training items of a round, how raters did on them, and what a pilot says."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from annotation.access import OWNER, Seat, get_item_at, get_round, get_seat
from annotation.actions import training as actions
from annotation.calibration import read_known_sheet, short_of
from annotation.calibration_forms import KnownForm, ReasonForm, SheetForm
from annotation.errors import Invalid, WrongState
from annotation.models import Round
from annotation.queries import training as queries
from annotation.reporting.gate import Gate, gate, gate_then
from annotation.views.agreement_tables import bar
from annotation.views.study_page import me, study_page
from taxonomy.queries import published_version

ITEMS_OFFERED = 500
CALIBRATED = (Round.Kind.PILOT, Round.Kind.MAIN)


def calibration(seat: Seat, round_: Round, reason: ReasonForm | None = None) -> dict[str, Any]:
    """What the page of a round shows of calibration; three queries where there is none."""
    if round_.kind not in CALIBRATED:
        return {}
    is_owner, is_draft = seat.has_role(OWNER), round_.state == Round.State.DRAFT
    tree = published_version(round_.taxonomy_version_id)
    trained = [] if is_draft else queries.training_results(seat, round_)
    advised = gate(seat) if is_owner and is_draft and round_.kind == Round.Kind.MAIN else None
    return {
        "training": queries.training_items(seat, round_) if is_owner else [],
        "trained": trained,
        "trained_on": [each for each in tree.dimensions if any(one.score(each.key) for one in trained)],
        "may_train": is_owner and is_draft,
        "reason_form": reason or ReasonForm(),
        **gate_shown(advised),
        **gate_kept(gate_then(seat, round_)),
    }


def gate_shown(found: Gate | None) -> dict[str, Any]:
    """What a pilot says now, for the template of it."""
    if found is None:
        return {}
    return {"gate": found, "gate_lines": _lines(found.as_document())}


def gate_kept(then: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the pilot said when the round was opened."""
    if not then:
        return {}
    against = short_of(then) if then["advice"] == "wait" else []
    return {"gate_then": then, "gate_against": against, "gate_lines": _lines(then)}


def _lines(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {**each, "bar": bar(each["value"], each["ci_low"], each["ci_high"], each["threshold"])}
        for each in document["dimensions"]
    ]


def reason_asked(request: HttpRequest, seat: Seat, round_: Round) -> ReasonForm | None:
    """The form with the reason where one is needed to open the round; None where none is."""
    if round_.kind != Round.Kind.MAIN or round_.state != Round.State.DRAFT or not seat.has_role(OWNER):
        return None
    found = gate(seat)
    return ReasonForm(request.POST) if found is not None and found.is_wait else None


@login_required
def training(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Where known answers are given to items of a draft round: one by a form, or many by a sheet."""
    seat = get_seat(me(request), slug)
    round_ = get_round(seat, number)
    seat.require(OWNER)
    if round_.state != Round.State.DRAFT or round_.kind not in CALIBRATED:
        raise WrongState(f"Training items are chosen while a pilot or main round is a draft; round {number} is not.")
    tree = published_version(round_.taxonomy_version_id)
    is_sheet = "sheet" in request.POST
    items = list(queries.items_to_train(round_, ITEMS_OFFERED))
    known = KnownForm(request.POST if request.method == "POST" and not is_sheet else None, tree=tree, items=items)
    sheet = SheetForm(*((request.POST, request.FILES) if is_sheet else ()))
    if is_sheet and sheet.is_valid():
        wrong: list[str] = []
        read = read_known_sheet(tree, sheet.cleaned_data["sheet"], wrong)
        if not wrong and (done := _given(request, seat, number, read, sheet)):
            return done
        for sentence in wrong[:10]:
            sheet.add_error("sheet", sentence)
    elif known.is_bound and known.is_valid() and (done := _given(request, seat, number, known.known, known)):
        return done
    status = 422 if known.errors or sheet.errors else 200
    return study_page(
        request,
        seat,
        "training",
        "rounds",
        status=status,
        round=round_,
        known=known,
        sheet=sheet,
        training=queries.training_items(seat, round_),
        may_train=True,
    )


def _given(
    request: HttpRequest, seat: Seat, number: int, read: Mapping[str, Any], form: KnownForm | SheetForm
) -> HttpResponse | None:
    try:
        n = actions.set_known(seat=seat, number=number, known=read)
    except Invalid as error:
        if isinstance(form, KnownForm):
            form.explain(error.fields)
        else:
            for path, sentences in list(error.fields.items())[:10]:
                form.add_error("sheet", f"{path.removeprefix('known.')}: {' '.join(sentences)}")
        return None
    messages.success(request, f"{n} training item{'' if n == 1 else 's'} kept.")
    return redirect("training", seat.study.slug, number)


@login_required
@require_POST
def remove_training(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Makes a training item an ordinary one again."""
    seat = get_seat(me(request), slug)
    get_round(seat, number)
    item = get_item_at(seat, pk)
    actions.remove_known(seat=seat, number=number, item=item)
    messages.success(request, f"{item.identifier} is an ordinary item again.")
    return redirect("training", slug, number)
