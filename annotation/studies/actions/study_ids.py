"""Study IDs (slugs): their form, and whether one is available."""

import re

from accounts.models import User
from accounts.permissions import is_shell_command
from annotation.core.errors import Conflict, Invalid
from annotation.models import Study
from shared.rate_limits import UNAVAILABLE_IDS, require_tries, require_tries_left

SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*\Z")
RESERVED = frozenset({"import", "new"})
WRONG_FORM = "Use up to 80 lowercase letters and digits, with single hyphens between words."
NOT_AVAILABLE = "This ID is not available. Choose another."


def wrong_in_study_id(slug: str) -> str:
    """What is wrong with the form of an ID, in a sentence; empty where it can be used."""
    return "" if len(slug or "") <= 80 and SLUG.match(slug or "") else WRONG_FORM


def require_available(slug: str, user: User) -> None:
    """Raises Conflict for an ID that is taken or reserved, Invalid for one that has another form.

    The answer is the same whether a study has it that this person cannot see, one that they can see, or none. Staff,
    who see all studies, and the shell may try as often as they like; others raise TooMany after some such tries.
    """
    if sentence := wrong_in_study_id(slug):
        raise Invalid("The study was not created.", fields={"slug": [sentence]})
    is_limited = not (user.is_staff or is_shell_command())
    if is_limited:
        require_tries_left(UNAVAILABLE_IDS, str(user.pk))
    if slug in RESERVED or Study.objects.filter(slug=slug).exists():
        if is_limited:
            require_tries(UNAVAILABLE_IDS, str(user.pk))
        raise not_available()


def not_available() -> Conflict:
    return Conflict(f"The study was not created. {NOT_AVAILABLE}", code="slug_taken", fields={"slug": [NOT_AVAILABLE]})
