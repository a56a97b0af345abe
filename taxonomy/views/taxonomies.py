"""Taxonomy pages: the list, one taxonomy with its versions, one version, two versions side by side."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import User
from shared.errors import ConcordError, Invalid, Unreadable
from shared.site_links import onward
from taxonomy import queries, schema, side_by_side
from taxonomy.access import get_maintained_taxonomy, get_maintained_version, get_taxonomy, get_version, may_maintain
from taxonomy.actions import (
    discard_draft,
    load_document,
    load_ready_made,
    new_draft,
    new_taxonomy,
    publish_version,
    replace_draft,
    retire_version,
    start_draft,
)
from taxonomy.editing import frozen_by_publishing
from taxonomy.forms import DocumentForm, TitleForm
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import (
    appendix_of,
    compare_versions,
    document,
    n_changes,
    read_dimensions,
    stored_ones,
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
        made, context = _stored(request, lambda text: _loaded(user, text))
        if made is not None:
            messages.success(request, f"{made.title} is loaded as a draft. Read it, then publish it.")
            return redirect("taxonomy_version", made.taxonomy.slug, made.number)
        status = context["error"].status
    after = request.GET.get("after", "")
    stored = stored_ones(user, [each.document for each in presets()], drafts=True)
    found = queries.taxonomies(user).filter(slug__gt=after)[: PAGE_SIZE + 1]
    rows = [each for each in found if each.readable_versions]  # type: ignore[attr-defined]  # none: discarded since
    context |= {
        "taxonomies": rows[:PAGE_SIZE],
        "next_url": f"?after={rows[PAGE_SIZE - 1].slug}" if len(rows) > PAGE_SIZE else "",
        "previous_url": "?" if after else "",
        "presets": [(each, stored.get(each.document.slug)) for each in presets()],
        "form": context.get("form") or DocumentForm(),
    }
    return render(request, "taxonomy/taxonomies.html", context, status=_page_status(status))


@login_required
@require_POST
def create_taxonomy(request: HttpRequest) -> HttpResponse:
    """A taxonomy with one dimension, and on to its editor."""
    form = TitleForm(request.POST)
    if not form.is_valid():
        raise Invalid("Give the taxonomy a title.", fields={"title": ["Give the taxonomy a title."]})
    made = new_taxonomy(user=cast(User, request.user), title=form.cleaned_data["title"])
    return redirect("edit_taxonomy_version", made.taxonomy.slug, made.number)


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
    changed = n_changes(versions)
    by_id = {version.pk: version for version in versions}
    drafts = [version for version in versions if version.is_draft]
    context |= {
        "taxonomy": found,
        "versions": [
            (
                version,
                by_id.get(version.parent_id),
                changed.get(version.pk, 0),
            )  # a parent was published, so all read it
            for version in versions
        ],
        "newest": versions[0],
        "older": versions[1] if len(versions) > 1 else None,
        "draft": drafts[0] if drafts else None,
        "may_start": any(version.state == TaxonomyVersion.State.PUBLISHED for version in versions),
        "is_maintained": is_maintained,
        "form": (context.get("form") or _form(request, versions[0])) if is_maintained else None,
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
        draft, expected = version, _expected(request)
        made, context = _stored(
            request, lambda text: replace_draft(user=user, version=draft, text=text, expected=expected)
        )
        if made is not None:
            messages.success(request, f"The draft of version {number} is saved.")
            return redirect("taxonomy_version", slug, number)
        status = context["error"].status
        version = get_version(user, slug, number)
    is_maintained = may_maintain(user, version.taxonomy)
    found = document(version)
    context |= {
        "version": version,
        "taxonomy": version.taxonomy,
        "document": found,
        "dimensions": read_dimensions(found),
        "older": version_before(version, user),
        "frozen": frozen_by_publishing(found) if version.is_draft else "",
        "is_unfinished": version.unfinished is not None,
        "is_maintained": is_maintained,
        "form": (context.get("form") or _form(request, version)) if is_maintained and version.is_draft else None,
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
    """Freezes a draft, unless it was written after the page with the button was made."""
    user = cast(User, request.user)
    version = get_maintained_version(user, slug, number)
    publish_version(user=user, version=version, expected=_expected(request))
    messages.success(request, f"Version {number} is published. Rounds can use it, and it can't be changed any more.")
    if next_url := onward(request.POST.get("next")):
        return redirect(next_url)
    return redirect("taxonomy_version", slug, number)


@login_required
@require_POST
def start_taxonomy_draft(request: HttpRequest, slug: str) -> HttpResponse:
    """The newest published version as the next draft, and on to its editor."""
    user = cast(User, request.user)
    made = start_draft(user=user, taxonomy=get_maintained_taxonomy(user, slug))
    messages.success(request, f"Version {made.number} is a draft. It is a copy of the version before. Edit it here.")
    return redirect("edit_taxonomy_version", slug, made.number)


@login_required
@require_POST
def discard_taxonomy_draft(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Deletes a draft, unless it was written after the page with the button was made."""
    user = cast(User, request.user)
    discard_draft(user=user, version=get_maintained_version(user, slug, number), expected=_expected(request))
    messages.success(request, f"The draft of version {number} is discarded.")
    is_left = Taxonomy.objects.readable_by(user).filter(slug=slug).exists()
    return redirect("taxonomy", slug) if is_left else redirect("taxonomies")


@login_required
@require_POST
def retire_taxonomy_version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Takes a published version out of use."""
    user = cast(User, request.user)
    retire_version(user=user, version=get_maintained_version(user, slug, number))
    messages.success(request, f"Version {number} is retired. New rounds can't use it. Labels made under it stay.")
    return redirect("taxonomy", slug)


@login_required
@require_GET
def compare_taxonomy_versions(request: HttpRequest, slug: str) -> HttpResponse:
    """From two numbers chosen on a page to the address of their comparison."""
    numbers = [request.GET.get(name, "") for name in ("old", "new")]
    if not all(number.isascii() and number.isdecimal() for number in numbers):
        raise Unreadable("Choose two versions to compare.")
    return redirect("taxonomy_diff", slug, *(int(number) for number in numbers))


@login_required
@require_GET
def taxonomy_diff(request: HttpRequest, slug: str, old: int, new: int) -> HttpResponse:
    """Two versions side by side; `?kind=` shows one kind of change, `kept` what did not change."""
    user = cast(User, request.user)
    found = compare_versions(get_version(user, slug, old), get_version(user, slug, new))
    counts = side_by_side.counts(found.changes)
    kind = request.GET.get("kind", "")
    kind = kind if kind in counts else ""
    shown = side_by_side.sections(
        found.old_document,
        found.new_document,
        found.dimensions,
        found.changes,
        frozenset([kind] if kind else side_by_side.SEEN_KINDS),
    )
    taxonomy = taxonomy_with_versions(found.old.taxonomy, user)
    context = {
        "taxonomy": taxonomy,
        "versions": taxonomy.readable_versions,  # type: ignore[attr-defined]  # by with_versions
        "found": found,
        "found_versions": (found.old, found.new),
        "sections": [section for section in shown if section.rows or (section.fields and not kind)],
        "unchanged": [section for section in shown if not (section.rows or section.fields or kind)],
        "kind": kind,
        "kinds": [(each, counts[each]) for each in side_by_side.SEEN_KINDS if counts[each]],
        "n_changes": sum(counts.values()) - counts["kept"],
        "n_kept": counts["kept"],
    }
    return render(request, "taxonomy/diff.html", context)


@login_required
@require_GET
def taxonomy_appendix(request: HttpRequest, slug: str, old: int, new: int) -> HttpResponse:
    """What changed between two versions as Markdown, as a file."""
    user = cast(User, request.user)
    text = appendix_of(compare_versions(get_version(user, slug, old), get_version(user, slug, new)))
    answer = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{slug}-v{old}-to-v{new}.md"'
    return answer


def _expected(request: HttpRequest) -> int | None:
    """The revision of the draft that the page with the form showed, where it says one."""
    given = request.POST.get("expected", "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else None


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


def _loaded(user: User, text: str | bytes) -> TaxonomyVersion:
    found = next((each for each in presets() if each.text == text), None)
    return load_ready_made(user=user, asked=found.document) if found else load_document(user=user, text=text)


def _form(request: HttpRequest, version: TaxonomyVersion) -> DocumentForm:
    """Empty, or with the text of a version where `?text` asks for it: writing that text takes longer than the page."""
    return DocumentForm(initial={"text": schema.dump(document(version))} if "text" in request.GET else None)


def _page_status(status: int) -> int:
    """A page's form that can't be read is as invalid as one that says something wrong."""
    return 422 if status == 400 else status
