"""Help pages under /help/: the list of guides, one guide, the search, and their pictures."""

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from config.guides import FOLDER, guide, guides, search


@require_safe
def help_index(request: HttpRequest) -> HttpResponse:
    """All guides with their sections; `?q=` searches in them."""
    words = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    context = {"guides": guides(), "q": words, "hits": search(words)}
    return render(request, "help/index.html", context)


@require_safe
def one_guide(request: HttpRequest, name: str) -> HttpResponse:
    """One guide with its table of contents."""
    found = guide(name)
    if found is None:
        raise Http404
    return render(request, "help/guide.html", {"guide": found, "guides": guides()})


@require_safe
def guide_picture(request: HttpRequest, name: str) -> FileResponse:
    """A picture of a guide."""
    path = FOLDER / "pictures" / f"{name}.png"
    if not path.is_file():
        raise Http404
    return FileResponse(path.open("rb"), content_type="image/png")
