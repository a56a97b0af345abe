"""Reader links for reviewers: the owner's page, and the page that opens one."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.core.access import OWNER, Seat, get_seat, made_by_an_owner
from annotation.core.pages import me, study_page
from annotation.core.reader_pages import OPENED
from annotation.members.actions import reader_links as actions
from annotation.members.forms import ReaderLinkForm
from annotation.models import Item, ReaderLink
from shared.forms import explaining, form_page, status_of
from shared.site_links import absolute

SHOWN_MOST = 200


@login_required
@never_cache
@form_page
def reader_links(request: HttpRequest, slug: str) -> HttpResponse:
    """The study's reader links; a new one is shown in the answer that made it, and nowhere else."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    form = ReaderLinkForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        with explaining(form):
            link, plaintext = actions.make_reader_link(seat=seat, **form.cleaned_data)
            address = absolute(reverse("open_reader_link", args=[plaintext]))
            return _page(request, seat, ReaderLinkForm(), made=link, address=address, status=201)
    return _page(request, seat, form, status=status_of(form))


def _page(
    request: HttpRequest,
    seat: Seat,
    form: ReaderLinkForm,
    *,
    made: ReaderLink | None = None,
    address: str = "",
    status: int = 200,
) -> HttpResponse:
    links = ReaderLink.objects.filter(study=seat.study).annotate(is_of_owner=made_by_an_owner())
    return study_page(
        request,
        seat,
        "members/reader_links",
        "members",
        status=status,
        form=form,
        n_private=Item.objects.filter(study=seat.study, issue__repository__private=True).count(),
        links=links.order_by("-number")[:SHOWN_MOST],
        made=made,
        address=address,
    )


@login_required
@require_POST
def withdraw_reader_link(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    link = actions.withdraw_reader_link(seat=get_seat(me(request), slug), number=number)
    messages.success(request, f"The link for “{link.label}” is revoked. Its readers no longer have access.")
    return redirect("reader_links", slug)


@never_cache
@require_safe
def open_reader_link(request: HttpRequest, token: str) -> HttpResponse:
    """Opens a link in this browser, then leads to the study under its plain address, which tells no secret."""
    link = actions.open_reader_link(plaintext=token)
    request.session[OPENED] = request.session.get(OPENED, {}) | {link.study.slug: link.pk}
    answer = redirect("study", link.study.slug)
    answer["Referrer-Policy"] = "no-referrer"
    return answer
