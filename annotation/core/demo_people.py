"""Demo people: users of the demo study, who can be used without a password."""

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.http.request import split_domain_port

from accounts.actions import make_private
from accounts.models import ServerEvent, User
from accounts.passwords import DEMO_PASSWORD
from accounts.permissions import is_shell_command, require_private_account, require_study_creator
from accounts.queries import MADE_PRIVATE
from annotation.models import Membership, Study
from shared.addresses import is_from_here

SLUG = "demo"
PEOPLE = {
    "demo-olga": ("Olga Owner", "owner: created the study and follows its progress"),
    "demo-alice": ("Alice Rater", "rater R1 in rounds 1 and 2"),
    "demo-bob": ("Bob Rater", "rater R2 in rounds 1 to 3"),
    "demo-carol": ("Carol Newcomer", "rater R3 in round 3"),
    "demo-ada": ("Ada Adjudicator", "adjudicator: resolves disagreements"),
}
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def demo_people() -> dict[str, User]:
    """The demo study's people whom everyone may act as, by user name in the order of PEOPLE; none without the demo.

    Members of another study and staff are not among them: a visitor would be in that study, too. An invitation alone
    opens nothing.
    """
    places = Membership.objects.filter(user=OuterRef("pk"))
    here, elsewhere = places.filter(study__slug=SLUG), places.exclude(study__slug=SLUG)
    found = _public().filter(Exists(here), ~Exists(elsewhere), is_active=True, is_staff=False)
    accounts = {user.username: user for user in found}
    return {name: accounts[name] for name in PEOPLE if name in accounts}


def require_no_demo_person(user: User, study: Study | None = None) -> None:
    """Raises Forbidden for one of the demo's people, as whom everyone may act, outside of the demo study.

    Otherwise any visitor could take them away from all others by a study that they make or join. Staff add them.
    """
    if (study is None or study.slug != SLUG) and not is_shell_command():
        require_private_account(user, "create no studies and join no others")


def require_may_change_members(user: User) -> None:
    """Raises Forbidden for one of the demo's people, who could give accounts to others or take the others away."""
    require_private_account(user, "invite, add, and remove no one, change no roles, and stay in the demo")


def leave_public(user: User, membership: Membership) -> bool:
    """Makes an account private that becomes a member of a study other than the demo; whether it was public until now.

    Its sessions, tokens, password, e-mail address and providers end: visitors may have set or kept them.
    """
    if user.username not in PEOPLE or membership.study.slug == SLUG:
        return False
    is_public = is_demo_person(user) or user.check_password(DEMO_PASSWORD)  # also when the demo was deleted
    if is_public:
        make_private(user=user)
    return is_public


def require_may_create_studies(user: User) -> None:
    """Raises Forbidden unless STUDY_CREATORS includes this person, and for the people of the demo."""
    require_no_demo_person(user)
    require_study_creator(user)


def is_demo_person(user: User) -> bool:
    """Whether this is one of the demo's people, as whom everyone may act."""
    return user.username in PEOPLE and _public().filter(pk=user.pk).exists()


def _public() -> QuerySet[User]:
    """The demo's people, except those who were made private when staff or the shell gave them another study.

    Also those who are in no study, after the demo was deleted: whoever acted as them then would keep the account.
    """
    made_private = ServerEvent.objects.filter(about=OuterRef("pk"), verb=MADE_PRIVATE)
    places = Membership.objects.filter(user=OuterRef("pk"))
    is_in_no_other = Exists(places.filter(study__slug=SLUG)) | ~Exists(places)
    return User.objects.filter(is_in_no_other, ~Exists(made_private), username__in=PEOPLE)


def is_demo_open(request: HttpRequest) -> bool:
    """Whether a visitor may act as the demo's people without a password.

    Only someone at this machine may, by a loopback name and without a proxy between, on a server that listens there
    alone and has no address of its own; with DEMO_OPEN everyone may.
    """
    if settings.DEMO_OPEN:
        return True
    host, _ = split_domain_port(request.get_host())
    return is_from_here(request) and host in LOOPBACK_NAMES and not settings.SITE_URL_GIVEN
