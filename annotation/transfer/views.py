"""Transfer pages: duplicate, archive, import, and delete a study."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.core.access import OWNER, Seat, get_arrival, get_member_at, get_seat
from annotation.core.demo_people import require_may_create_studies
from annotation.core.errors import Blind, ConcordError, Forbidden, WrongState
from annotation.core.pages import in_archive_too, me, study_page
from annotation.exports.actions import request_export
from annotation.members.actions import name_only_members
from annotation.models import Export
from annotation.studies.actions.archive import archive_study, take_out_of_archive
from annotation.transfer.actions import life, study_import
from annotation.transfer.forms import ArrivalForm, DeleteForm, DuplicateForm
from annotation.transfer.queries import life as queries
from shared.forms import explaining, form_page, in_messages, status_of


def _owner(request: HttpRequest, slug: str) -> Seat:
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    return seat


@in_archive_too
@login_required
@form_page
def duplicate(request: HttpRequest, slug: str) -> HttpResponse:
    """A study like this one, without any answer."""
    seat = _owner(request, slug)
    require_may_create_studies(seat.user)
    given = request.POST if request.method == "POST" else None
    form = DuplicateForm(
        given, initial={"title": seat.study.title, "slug": queries.free_slug(seat.study.slug, seat.user)}
    )
    if given is not None and form.is_valid():
        with explaining(form):
            made = life.duplicate_study(seat=seat, **form.cleaned_data)
            messages.success(request, f"“{made.title}” was created, without labels.")
            return redirect("study", made.slug)
    return study_page(request, seat, "transfer/duplicate", "overview", status=status_of(form), form=form)


@in_archive_too
@login_required
@require_POST
def archive(request: HttpRequest, slug: str) -> HttpResponse:
    """From now on the study is only read."""
    return _moved(request, slug, archive_study, "The study is archived and read-only.")


@in_archive_too
@login_required
@require_POST
def unarchive(request: HttpRequest, slug: str) -> HttpResponse:
    """The study is worked on again."""
    return _moved(request, slug, take_out_of_archive, "The study is unarchived.")


def _moved(request: HttpRequest, slug: str, move: Callable[..., object], done: str) -> HttpResponse:
    seat = _owner(request, slug)
    with in_messages(request, passing=Forbidden):
        move(seat=seat)
        messages.success(request, done)
    return redirect("study_settings", slug)


@in_archive_too
@login_required
@require_POST
def export_whole(request: HttpRequest, slug: str) -> HttpResponse:
    """Asks for the whole export that moving and deleting a study need."""
    seat = _owner(request, slug)
    with in_messages(request, passing=Forbidden):
        request_export(seat=seat, what="study")
    return redirect("delete_study" if "to_delete" in request.POST else "exports", slug)


@in_archive_too
@login_required
@form_page
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """What goes and what stays; deleted by typing the study's address, after a whole export of its present state."""
    seat = _owner(request, slug)
    if seat.blind_round_ids:
        raise Blind("You are a rater in an open round of this study. You can delete it when the round is closed.")
    seat.require_nothing_withheld("The contents of the study")
    given = request.POST if request.method == "POST" else None
    form = DeleteForm(given, slug=slug)
    if given is not None and form.is_valid():
        with explaining(form, passing=Forbidden):
            life.delete_study(seat=seat, typed=form.cleaned_data["typed"])
            messages.success(request, f"The study “{seat.study.title}” is deleted.")
            return redirect("deleted_studies")
    export, missing = life.export_of_present(seat.study)
    making = Export.objects.filter(study=seat.study, what="study", state__in=Export.AT_WORK).first()
    return study_page(
        request,
        seat,
        "transfer/delete",
        "overview",
        status=status_of(form),
        form=form,
        export=export,
        missing=missing,
        making=making,
        held=queries.study_contents(seat.study),
    )


@login_required
@require_safe
def deleted(request: HttpRequest) -> HttpResponse:
    """The register of deleted studies: one's own, for staff all of them."""
    return render(request, "annotation/transfer/deleted.html", {"lines": queries.deletions_of(me(request))})


@login_required
@never_cache
@require_safe
def deletion_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """How far a deletion is; asks again by itself until it is over."""
    line = queries.deletion_of(me(request), pk)
    return render(request, "annotation/transfer/_deletion.html", {"each": line})


@login_required
@require_POST
def continue_deletion(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts the job of a deletion that failed again."""
    try:
        life.continue_deletion(user=me(request), deletion=queries.deletion_of(me(request), pk))
    except WrongState as error:
        messages.error(request, error.message)
    return redirect("deleted_studies")


@login_required
@form_page
def arrive(request: HttpRequest) -> HttpResponse:
    """Where the file of a whole study is chosen, and what was brought before."""
    user = me(request)
    require_may_create_studies(user)
    given = request.method == "POST"
    form = ArrivalForm(request.POST, request.FILES) if given else ArrivalForm()
    if given and form.is_valid():
        with explaining(form):
            found = study_import.take_study(user=user, file=form.cleaned_data["file"], slug=form.cleaned_data["slug"])
            return redirect("import_whole_file", found.pk)
    context = {"form": form, "lines": queries.arrivals_of(user)}
    return render(request, "annotation/transfer/arrive.html", context, status=status_of(form))


@login_required
@never_cache
@require_safe
def arrival(request: HttpRequest, pk: int) -> HttpResponse:
    """How the import of a study goes, and what came of it."""
    return render(request, "annotation/transfer/arrival.html", {"arrival": get_arrival(me(request), pk)})


@login_required
@never_cache
@require_safe
def arrival_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of that page that asks again by itself until the import is over."""
    return render(request, "annotation/transfer/_arrival.html", {"arrival": get_arrival(me(request), pk)})


@login_required
@require_POST
def join(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Gives a member who stands there by name the account of someone here."""
    seat = _owner(request, slug)
    named = get_member_at(seat, pk)
    try:
        member = name_only_members.join_member(seat=seat, member=named, username=request.POST.get("username"))
    except Forbidden:
        raise
    except ConcordError as error:
        messages.error(request, " ".join(each for one in error.fields.values() for each in one) or error.message)
    else:
        messages.success(request, f"{member.signed_name} is now {member.code or 'a member'} of this study.")
    return redirect("members", slug)
