"""Password link of a member, created on the Members page."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.core.access import OWNER, get_member_at, get_seat
from annotation.core.pages import me
from annotation.members.actions.password_links import make_password_link
from annotation.members.views.members import members_page
from shared.site_links import absolute


@login_required
@require_POST
@never_cache
def password_link(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Answers with the page that shows the link, once."""
    seat = get_seat(me(request), slug)
    if not seat.user.is_staff:
        seat.require(OWNER)
    member = get_member_at(seat, pk)
    plaintext = make_password_link(seat=seat, member=member)
    link = absolute(reverse("new_password", args=[plaintext]))
    return members_page(request, seat, status=201, link=link, link_for=member)
