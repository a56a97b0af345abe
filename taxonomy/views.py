"""Pages of taxonomies: all of them, one with its versions, one version to read, two side by side."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.errors import ConcordError
from accounts.models import User
from taxonomy import queries, schema
from taxonomy.access import (
    get_maintained_taxonomy,
    get_maintained_version,
    get_taxonomy,
    get_version,
    may_maintain,
)
from taxonomy.actions import load_document, new_draft, publish_version, replace_draft
from taxonomy.forms import DocumentForm
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import (
    compared,
    document,
    loaded_slugs,
    read_dimensions,
    taxonomy_with_versions,
    version_before,
)
from taxonomy.ready_made import presets

PAGE_SIZE = 50


@login_required
@require_http_methods(["GET", "POST"])
def taxonomies(request: HttpRequest) -> HttpResponse:
    """All taxonomies, and how to load another."""
    user = cast(User, request.user)
    context: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        made, context = _stored(request, lambda text: load_document(user=user, text=text))
        if made is not None:
            messages.success(request, f"{made.title} is loaded as a draft. Read it, then publish it.")
            return redirect("taxonomy_version", made.taxonomy.slug, made.number)
        status = context["error"].status
    after = request.GET.get("after", "")
    rows = list(queries.taxonomies(user).filter(slug__gt=after)[: PAGE_SIZE + 1])
    context |= {
        "taxonomies": rows[:PAGE_SIZE],
        "next_url": f"?after={rows[PAGE_SIZE - 1].slug}" if len(rows) > PAGE_SIZE else "",
        "previous_url": "?" if after else "",
        "presets": presets(),
        "loaded": loaded_slugs(user, [each.document.slug for each in presets()]),
        "form": context.get("form") or DocumentForm(),
    }
    return render(request, "taxonomy/taxonomies.html", context, status=_page_status(status))


@login_required
@require_http_methods(["GET", "POST"])
def taxonomy(request: HttpRequest, slug: str) -> HttpResponse:
    """One taxonomy: its versions, and how to add one."""
    user = cast(User, request.user)
    context: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        found = get_maintained_taxonomy(user, slug)
        made, context = _stored(request, lambda text: new_draft(user=user, taxonomy=found, text=text))
        if made is not None:
            messages.success(request, f"Version {made.number} is a draft. Read it, then publish it.")
            return redirect("taxonomy_version", slug, made.number)
        status = context["error"].status
    found = taxonomy_with_versions(get_taxonomy(user, slug), user)
    versions = found.readable_versions  # type: ignore[attr-defined]  # by with_versions
    is_maintained = may_maintain(user, found)
    context |= {
        "taxonomy": found,
        "versions": [
            (version, next((older for older in versions if older.number == version.number - 1), None))
            for version in versions
        ],
        "is_maintained": is_maintained,
        "form": context.get("form") or _filled(versions[0]) if is_maintained else None,
    }
    return render(request, "taxonomy/taxonomy.html", context, status=_page_status(status))


@login_required
@require_http_methods(["GET", "POST"])
def taxonomy_version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One version to read; a draft can be replaced here."""
    user = cast(User, request.user)
    context: dict[str, Any] = {}
    status = 200
    version = get_version(user, slug, number)
    if request.method == "POST":
        version = get_maintained_version(user, slug, number)
        draft = version
        made, context = _stored(request, lambda text: replace_draft(user=user, version=draft, text=text))
        if made is not None:
            messages.success(request, f"The draft of version {number} is replaced.")
            return redirect("taxonomy_version", slug, number)
        status = context["error"].status
    is_maintained = may_maintain(user, version.taxonomy)
    found = document(version)
    context |= {
        "version": version,
        "taxonomy": version.taxonomy,
        "document": found,
        "dimensions": read_dimensions(found),
        "older": version_before(version, user),
        "is_maintained": is_maintained,
        "form": (context.get("form") or DocumentForm(initial={"text": schema.dump(found)}))
        if is_maintained and version.is_draft
        else None,
    }
    return render(request, "taxonomy/version.html", context, status=_page_status(status))


@login_required
@require_GET
def taxonomy_document(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The YAML of a version, as a file."""
    text = schema.dump(document(get_version(cast(User, request.user), slug, number)))
    answer = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{slug}-v{number}.yaml"'
    return answer


@login_required
@require_POST
def publish_taxonomy_version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Freezes a draft."""
    user = cast(User, request.user)
    publish_version(user=user, version=get_maintained_version(user, slug, number))
    messages.success(request, f"Version {number} is published. Rounds can use it; nobody can change it any more.")
    return redirect("taxonomy_version", slug, number)


@login_required
@require_GET
def taxonomy_diff(request: HttpRequest, slug: str, old: int, new: int) -> HttpResponse:
    """Two versions side by side."""
    user = cast(User, request.user)
    found = compared(get_version(user, slug, old), get_version(user, slug, new))
    specs = [
        {(dimension.key, spec.key): spec for dimension in each.dimensions for spec, _ in dimension.walk()}
        for each in (found.old_document, found.new_document)
    ]
    titles = {each.key: each.title for each in (*found.old_document.dimensions, *found.new_document.dimensions)}
    sections = []
    for key, title in titles.items():
        changes = [change for change in found.changes if change.dimension == key]
        rows = [
            {
                "change": change,
                "old": specs[0].get((key, change.old or "")),
                "new": specs[1].get((key, change.new or "")),
                "differs": "redefined" in (change.kind, *change.also),
            }
            for change in changes
            if change.kind != "kept" or change.also
        ]
        fields = next((change for change in found.dimensions if change.dimension == key), None)
        sections.append({"title": title, "rows": rows, "n_kept": len(changes) - len(rows), "dimension": fields})
    context = {"taxonomy": found.old.taxonomy, "found": found, "sections": sections}
    return render(request, "taxonomy/diff.html", context)


def _stored(
    request: HttpRequest, store: Callable[[str | bytes], TaxonomyVersion]
) -> tuple[TaxonomyVersion | None, dict[str, Any]]:
    """What became of the document in a form: the version, or what the form part needs to say why not."""
    form = DocumentForm(request.POST, request.FILES)
    form.is_valid()
    text: str | bytes = ""
    try:
        text = form.document()
        return store(text), {}
    except ConcordError as error:
        shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        problems = getattr(error, "problems", ())
        again = DocumentForm(initial={"text": shown[:500_000] if not form.cleaned_data.get("preset") else ""})
        return None, {"error": error, "problems": problems, "form": again}


def _filled(version: TaxonomyVersion) -> DocumentForm:
    return DocumentForm(initial={"text": schema.dump(document(version))})


def _page_status(status: int) -> int:
    """A page's form that can't be read is as invalid as one that says something wrong."""
    return 422 if status == 400 else status
