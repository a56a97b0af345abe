"""Usage of categories, as the taxonomy editor requests it."""

from typing import cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.models import User
from annotation.assignments.actions.reading_log import PAGE, note_results
from annotation.core.errors import NotFound
from annotation.studies.queries.usage import seats_under, usage
from taxonomy.access import get_taxonomy, get_version


@login_required
@never_cache
@require_GET
def taxonomy_usage(request: HttpRequest, slug: str) -> HttpResponse:
    """Counts of current ratings in terms of `?version=n`, from the studies that this person may read."""
    user = cast(User, request.user)
    taxonomy = get_taxonomy(user, slug)
    number = request.GET.get("version", "")
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise NotFound(f"Version “{number[:40]}” of {slug} not found.")
    version, seats = get_version(user, slug, int(number)), seats_under(user, taxonomy)
    found = usage(seats, taxonomy, version)
    for seat in seats:
        note_results(seat, "counts of categories", PAGE)
    return JsonResponse(
        {
            "version": int(number),
            "counts": found.counts,
            "n_ratings": found.n_ratings,
            "n_lost": found.n_lost,
        }
    )
