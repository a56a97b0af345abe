"""Template tag for the banner of the demo study."""

from typing import Any

from django import template

from annotation.core.demo_people import PEOPLE, SLUG, demo_people, is_demo_open
from annotation.overview.queries.waiting import waiting_for

register = template.Library()


@register.inclusion_tag("annotation/overview/_demo_banner.html", takes_context=True)
def demo_banner(context: dict[str, Any]) -> dict[str, Any]:
    """Who one is in the demo and whom one can switch to; nothing for everyone else, or where the demo is not open."""
    request = context.get("request")
    user = getattr(request, "user", None)
    if request is None or user is None or user.username not in PEOPLE or not is_demo_open(request):
        return {"people": []}
    people = demo_people()
    lines = [(name, *PEOPLE[name], name == user.username) for name in people] if user.username in people else []
    return {"people": lines, "csrf_token": context.get("csrf_token")}


@register.inclusion_tag("annotation/overview/_demo_hint.html", takes_context=True)
def demo_hint(context: dict[str, Any]) -> dict[str, Any]:
    """Who of the demo's people has items left to label, for one of them who has none; nothing for everyone else."""
    shown = demo_banner(context)
    for name, full_name, _, is_me in shown["people"]:
        waiting = [] if is_me else waiting_for(demo_people()[name])
        for each in waiting:
            if each.round.study.slug == SLUG and each.n_left:
                return {"name": name, "full_name": full_name, "waiting": each, "csrf_token": shown["csrf_token"]}
    return {}
