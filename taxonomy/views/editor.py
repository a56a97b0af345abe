"""Taxonomy editor: its page, saving, and the check for changes by others."""

import json
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import User
from shared.errors import Unreadable
from shared.site_links import onward
from shared.storable_json import read_json
from taxonomy.access import get_maintained_version
from taxonomy.actions import keep_unfinished, new_draft, problems_of, replace_draft
from taxonomy.checking import load
from taxonomy.editing import draft_marks, editor_state, has_shape
from taxonomy.errors import InvalidDocument, StaleDraft, TaxonomyConflict
from taxonomy.kinds import KINDS
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import document as document_of

LISTS = (
    ("include", "Includes", "a rule"),
    ("exclude", "Excludes", "a rule"),
    ("examples", "Examples", "an example"),
)
KEYS = (
    (("Enter",), "another category on the same level; in a dimension’s line, its first one"),
    (("Tab",), "deeper, below the one above"),
    (("Shift Tab",), "up a level"),
    (("Alt ↑", "Alt ↓"), "move up or down"),
    (("Alt →", "Alt ←"), "move in or out, as Tab does"),
    (("F2",), "rename in place; a letter begins a new name"),
    (("Delete",), "retire with all subcategories; in new categories of this draft: remove"),
    (("Alt m", "Alt s"), "merge into another, split into several"),
    (("↑", "↓", "Home", "End"), "go"),
    (("→", "←"), "expand and go in, collapse and go out"),
    (("Ctrl Enter",), "to the definition; Escape returns"),
    (("Ctrl z", "Ctrl Shift z"), "undo, redo"),
    (("/",), "find a category"),
    (("Esc Tab",), "leave the tree"),
    (("?",), "this list"),
)


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def edit_taxonomy_version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The tree of a draft; what is posted to it is the whole document, with the revision that it is based on."""
    user = cast(User, request.user)
    version = get_maintained_version(user, slug, number)
    if request.method == "POST":
        return _saved(request, version)
    if not version.is_draft:
        messages.info(
            request, f"Version {number} is {version.state} and can't be changed. Start a draft to change the taxonomy."
        )
        return redirect("taxonomy_version", slug, number)
    place = (slug, number)
    parent = version.parent
    begin = {
        **editor_state(document_of(parent) if parent else None, document_of(version)),
        **({"document": version.unfinished} if version.unfinished is not None else {}),
        **({"problems": _told_of(problems)["problems"]} if (problems := problems_of(version)) else {}),
        **_state(version),
        "kinds": {
            name: {"has_categories": each.has_categories, "is_open": each.is_open, "is_two_valued": each.is_two_valued}
            for name, each in KINDS.items()
        },
        "user": user.pk,
        "slug": slug,
        "number": number,
        "parent": parent.number if parent else None,
        "urls": {
            "save": reverse("edit_taxonomy_version", args=place),
            "state": reverse("taxonomy_draft_state", args=place),
            "copy": reverse("copy_taxonomy_draft", args=place),
            "usage": _elsewhere("taxonomy_usage", slug, query=f"?version={parent.number}") if parent else "",
            "plans": _elsewhere("plans_for_version", slug, number) if parent else "",
        },
    }
    context = {
        "version": version,
        "taxonomy": version.taxonomy,
        "begin": begin,
        "question_kinds": KINDS.values(),
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "lists": LISTS,
        "sheet": KEYS,
        "next": onward(request.GET.get("next")),
    }
    return render(request, "taxonomy/edit.html", context)


@login_required
@never_cache
@require_GET
def taxonomy_draft_state(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Which revision the draft has, by whom and since when; for an editor that was away."""
    return JsonResponse(_state(get_maintained_version(cast(User, request.user), slug, number)))


@login_required
@require_POST
def copy_taxonomy_draft(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """What someone wrote, as another draft beside the one that someone else wrote meanwhile."""
    user = cast(User, request.user)
    version = get_maintained_version(user, slug, number)
    text, _ = _posted(request)
    try:
        made = new_draft(user=user, taxonomy=version.taxonomy, text=text)
    except InvalidDocument as error:
        return _problems(error)
    address = reverse("edit_taxonomy_version", args=[slug, made.number])
    return JsonResponse({"number": made.number, "address": address}, status=201)


def _saved(request: HttpRequest, version: TaxonomyVersion) -> HttpResponse:
    """Stores a valid document, or with 202 one that can't be published yet, with what is wrong with it."""
    text, revision = _posted(request)
    user = cast(User, request.user)
    try:
        try:
            version = replace_draft(user=user, version=version, text=text, expected=revision, in_editor=True)
        except InvalidDocument as error:
            document = json.loads(text)
            if not has_shape(document):
                return _problems(error)
            version = keep_unfinished(user=user, version=version, document=document, expected=revision)
            return _unfinished(error, version)
    except StaleDraft as error:
        fresh = TaxonomyVersion.objects.select_related("edited_by", "created_by", "parent", "taxonomy").get(
            pk=version.pk
        )
        if _says_the_same(text, fresh):
            problems = problems_of(fresh)
            return _unfinished(problems, fresh) if problems else _accepted(fresh)
        return JsonResponse({"code": error.code, "message": error.message, "newer": _state(fresh)}, status=409)
    except TaxonomyConflict as error:
        return JsonResponse({"code": error.code, "message": error.message}, status=409)
    return _accepted(version)


def _says_the_same(text: str, version: TaxonomyVersion) -> bool:
    """Whether this very text is stored: the answer to it got lost on the way, and it is sent again."""
    if version.unfinished is not None:
        return bool(version.unfinished == json.loads(text))
    try:
        return load(text) == document_of(version)
    except (InvalidDocument, TaxonomyVersion.DoesNotExist):
        return False


def _unfinished(error: InvalidDocument, version: TaxonomyVersion) -> JsonResponse:
    return JsonResponse({**_told_of(error), **_state(version)}, status=202)


def _accepted(version: TaxonomyVersion) -> JsonResponse:
    version = TaxonomyVersion.objects.select_related("parent", "edited_by", "created_by").get(pk=version.pk)
    parent = version.parent
    return JsonResponse(
        {**draft_marks(document_of(parent) if parent else None, document_of(version)), **_state(version)}
    )


def _posted(request: HttpRequest) -> tuple[str, int]:
    """The text of the document and the revision that it is based on."""
    try:
        body = read_json(request.body)
        document, revision = body["document"], body["revision"]
        if isinstance(document, dict) and type(revision) is int:
            return json.dumps(document), revision
    except (ValueError, RecursionError, KeyError, TypeError):
        pass
    raise Unreadable("The request's body is not a JSON object with a document and a revision.")


def _problems(error: InvalidDocument) -> JsonResponse:
    return JsonResponse(_told_of(error), status=422)


def _told_of(error: InvalidDocument) -> dict[str, Any]:
    found = [{"path": each.path, "sentence": each.sentence} for each in error.problems]
    return {"code": error.code, "message": error.message, "problems": found}


def _state(version: TaxonomyVersion) -> dict[str, Any]:
    by = version.edited_by or version.created_by
    return {
        "state": version.state,
        "revision": version.revision,
        "edited_by": by.signed_name if by else "",
        "edited_at": (version.edited_at or version.created_at).isoformat(),
    }


def _elsewhere(name: str, *args: object, query: str = "") -> str:
    """An address of a part of the house that this one doesn't know; empty where nobody answers it."""
    try:
        return reverse(name, args=args) + query
    except NoReverseMatch:
        return ""
