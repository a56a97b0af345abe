"""Template tag for the link from a page to its guide."""

from typing import Any

from django import template

from config.guides import guide_of

register = template.Library()


@register.simple_tag(takes_context=True)
def help_url(context: Any) -> str:
    """The path of the guide that explains this page."""
    request = context.get("request")
    if request is None:
        return "/help/"
    match = request.resolver_match
    return guide_of(match.view_name if match else "", request.path)
