"""Taxonomy page of a study, for readers who see the study only."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.agreement_report.views.agreement import number_of
from annotation.core.errors import NotFound
from annotation.core.pages import study_page
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import document, read_dimensions


@open_to_reader_links
@require_safe
def study_taxonomy(request: HttpRequest, slug: str) -> HttpResponse:
    """A published version of the study's taxonomy to read, the newest or `?version=`."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    wanted = number_of(request, "version")
    versions = list(
        seat.study.taxonomy.versions.exclude(state=TaxonomyVersion.State.DRAFT)
        .select_related("taxonomy")
        .order_by("number")
    )
    version = next((each for each in reversed(versions) if wanted in (None, each.number)), None)
    if version is None:
        raise NotFound(f"The taxonomy of “{slug}” has no published version{'' if wanted is None else f' {wanted}'}.")
    found = document(version)
    return study_page(
        request,
        seat,
        "overview/taxonomy",
        "taxonomy",
        version=version,
        versions=versions,
        document=found,
        dimensions=read_dimensions(found),
    )
