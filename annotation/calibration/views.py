"""Calibration pages: training items of a round, results of raters, and the pilot's result."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from annotation.agreement_report.views.tables import bar
from annotation.calibration.actions import gold as actions
from annotation.calibration.actions.training import seen_warnings
from annotation.calibration.calibration import read_gold_sheet, short_of
from annotation.calibration.forms import KnownForm, MinimumForm, ReasonForm, SheetForm
from annotation.calibration.queries import training as queries
from annotation.calibration.queries.gate import Gate, gate_then, shown_gate
from annotation.core.access import OWNER, Seat, get_item_at, get_round, get_seat
from annotation.core.errors import ConcordError, Forbidden, Invalid, NotFound, WrongState
from annotation.core.forms import explain_changed_meanwhile
from annotation.core.locks import hold_round
from annotation.core.pages import me, study_page
from annotation.models import Membership, Round, RoundRater
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

ITEMS_OFFERED = 500
CALIBRATED = (Round.Kind.PILOT, Round.Kind.MAIN)


def calibration(seat: Seat, round_: Round, reason: ReasonForm | None = None) -> dict[str, Any]:
    """What the page of a round shows of calibration; three queries where there is none."""
    if round_.kind not in CALIBRATED:
        return {}
    is_owner, is_draft = seat.has_role(OWNER), round_.state == Round.State.DRAFT
    tree = published_version(round_.taxonomy_version_id)
    trained = [] if is_draft else queries.training_results(seat, round_)
    has_minimum = bool(round_.gold_minimum) and not is_draft
    tries = queries.tries(seat, round_) if has_minimum or trained else []
    advised = shown_gate(seat) if is_owner and is_draft and round_.kind == Round.Kind.MAIN else None
    return {
        "training": queries.training_items(seat, round_) if is_owner else [],
        "trained": trained,
        "trained_on": [
            _of_dimension(tree, each.key, trained) for each in tree.dimensions if _came_up(each.key, trained)
        ],
        "tries": tries if has_minimum or len(tries) > len(trained) else [],
        "minimum": queries.minimum_words(round_),
        "held": _held(seat, round_, tries) if has_minimum else [],
        "may_train": is_owner and is_draft,
        "reason_form": reason or ReasonForm(),
        **gate_context(advised),
        **gate_kept(gate_then(seat, round_)),
    }


def _came_up(key: str, trained: Sequence[queries.TrainingResult]) -> bool:
    return any(one.score(key) for one in trained)


def _of_dimension(tree: VersionTree, key: str, trained: Sequence[queries.TrainingResult]) -> dict[str, Any]:
    """A dimension for the template: of each rater the first answers, and those after the feedback."""
    dimension = tree.by_key[key]
    names = {category.key: category.name for category in dimension.categories}
    lines = []
    for each in trained:
        for one, when in ((each, "first"), (each.after, "after the feedback")):
            if one is not None and (score := one.score(key)):
                confusions = [
                    (
                        queries.words(dimension, c.known, c.missing),
                        queries.words(dimension, c.given, c.missing),
                        c.n,
                        c.missing,
                    )
                    for c in score.confusions
                ]
                categories = [(names.get(c.category, c.category), c) for c in score.categories]
                lines.append(
                    {
                        "rater": each.rater,
                        "when": when,
                        "score": score,
                        "confusions": confusions,
                        "categories": categories,
                    }
                )
    return {"dimension": dimension, "lines": lines}


def _held(seat: Seat, round_: Round, tries: Sequence[queries.TrainingResult]) -> list[dict[str, Any]]:
    """The raters of a round with a minimum, each with the newest try and how they came in; a rater sees themself."""
    if seat.link is not None:
        return []
    newest = {each.rater.pk: each for each in tries}
    people = RoundRater.objects.filter(round=round_, rater__kind=Membership.Kind.PERSON, left_at__isnull=True)
    hidden = queries.raters_with_hidden_tries(seat, round_)
    rows = people.select_related("rater__user").order_by("pk")
    return [
        {"row": row, "tried": newest.get(row.rater_id), "admission": row.admission}
        for row in rows
        if queries.sees_tries(seat, row, hidden)
    ]


def gate_context(found: Gate | None) -> dict[str, Any]:
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


def reason_form(request: HttpRequest, seat: Seat, round_: Round) -> ReasonForm | None:
    """The form with the reason where one is needed to open the round; None where none is."""
    if round_.kind != Round.Kind.MAIN or round_.state != Round.State.DRAFT or not seat.has_role(OWNER):
        return None
    found = shown_gate(seat)
    return ReasonForm(request.POST) if found is not None and found.is_wait else None


@login_required
def training(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Where known answers are given to items of a draft round: one by a form, or many by a sheet."""
    seat = get_seat(me(request), slug)
    round_ = get_round(seat, number)
    seat.require(OWNER)
    if round_.state != Round.State.DRAFT or round_.kind not in CALIBRATED:
        raise WrongState(
            f"Calibration items are chosen while a pilot or main round is a draft. Round {number} is not a draft."
        )
    tree = published_version(round_.taxonomy_version_id)
    is_sheet, is_minimum = "sheet" in request.POST, "minimum" in request.POST
    is_known = request.method == "POST" and not is_sheet and not is_minimum
    known = KnownForm(request.POST if is_known else None, tree=tree)
    shown: dict[str, Any] = {"tree": tree, "primary": seat.study.primary}
    with transaction.atomic():
        kept = (hold_round(seat, number) if is_minimum else round_).gold_minimum
        minimum = MinimumForm(request.POST if is_minimum else None, kept=kept, **shown)
        explain_changed_meanwhile(minimum, MinimumForm.dimension_of)
        if is_minimum and minimum.is_valid():
            actions.set_minimum(seat=seat, number=number, minimum=minimum.minimum)
            messages.success(request, "The minimum is saved." if minimum.minimum else "The minimum is removed.")
            return redirect("training", slug, number)
    sheet = SheetForm(*((request.POST, request.FILES) if is_sheet else ()))
    if is_sheet and sheet.is_valid():
        wrong: list[str] = []
        read = read_gold_sheet(tree, sheet.cleaned_data["sheet"], wrong)
        if not wrong and (done := _given(request, seat, number, read, sheet)):
            return done
        for sentence in wrong[:10]:
            sheet.add_error("sheet", sentence)
    elif known.is_bound and known.is_valid() and (done := _given(request, seat, number, known.known, known)):
        return done
    status = 422 if known.errors or sheet.errors or minimum.errors else 200
    return study_page(
        request,
        seat,
        "calibration/training",
        "rounds",
        status=status,
        round=round_,
        known=known,
        sheet=sheet,
        minimum=minimum,
        round_items=list(queries.items_to_train(round_, ITEMS_OFFERED)),
        training=queries.training_items(seat, round_),
        seen=seen_warnings(round_),
        may_train=True,
    )


def _given(
    request: HttpRequest, seat: Seat, number: int, read: Mapping[str, Any], form: KnownForm | SheetForm
) -> HttpResponse | None:
    try:
        n = actions.set_gold(seat=seat, number=number, known=read)
    except Invalid as error:
        if isinstance(form, KnownForm):
            form.explain(error.fields)
        else:
            for path, sentences in list(error.fields.items())[:10]:
                form.add_error("sheet", f"{path.removeprefix('known.')}: {' '.join(sentences)}")
        return None
    messages.success(request, f"{n} calibration item{'' if n == 1 else 's'} saved.")
    return redirect("training", seat.study.slug, number)


@login_required
@require_POST
def remove_training(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Makes a training item an ordinary one again."""
    seat = get_seat(me(request), slug)
    get_round(seat, number)
    item = get_item_at(seat, pk)
    actions.remove_gold(seat=seat, number=number, item=item)
    messages.success(request, f"{item.identifier} is no longer a calibration item.")
    return redirect("training", slug, number)


@login_required
@require_POST
def admit_rater(request: HttpRequest, slug: str, number: int, code: str) -> HttpResponse:
    """Lets a rater have the items of a round without its minimum on training items, for a reason."""
    seat = get_seat(me(request), slug)
    get_round(seat, number)
    try:
        row = actions.admit(seat=seat, number=number, rater=code, reason=request.POST.get("reason", ""))
    except (Forbidden, NotFound):
        raise
    except ConcordError as error:
        messages.error(request, " ".join(each for those in error.fields.values() for each in those) or error.message)
    else:
        messages.success(request, f"{row.rater} gets the items of round {number}.")
    return redirect("round", slug, number)
