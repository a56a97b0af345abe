"""Actions on accounts: every change to users, passwords, tokens, and linked providers."""

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.password_validation import validate_password
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from django.db.models.fields.files import FieldFile
from django.utils import timezone

from accounts.access import get_good_link, keepers_of_links
from accounts.audit import record
from accounts.confirmation import Confirmation, require_confirmed
from accounts.keyboard_shortcuts import read_keys
from accounts.models import ApiToken, PasswordLink, Session, User, digest
from accounts.permissions import is_named_by_operator, is_public_name, require_private_account
from accounts.queries import (
    ADDRESS_CHANGED,
    GENERATED,
    MADE_PRIVATE,
    PASSWORD_CHANGED,
    PERSON_ADDED,
    address_changed_since,
    is_to_former_address,
    unconfirmed_links,
)
from shared.errors import Conflict, Forbidden, Invalid, NotFound
from shared.names import is_like_a_code, wrong_in_full_name, wrong_in_user_name

TOKEN_MARK = "concord_"
MAILS_OFF, MAILS_OFF_FOR = "e-mails off", timedelta(days=90)
IMAGE_HOSTS_MAX, HOST_CHARACTERS_MAX = 50, 253
RECENT = timedelta(days=30)
"""Ways in that were added since then end when a password is set by a link."""
_NUMBER = re.compile(r"[0-9]{1,18}")
IMAGE_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?(?::\d{1,5})?")


def add_user(
    *,
    username: str,
    email: str = "",
    full_name: str = "",
    password: str | None = None,
    is_staff: bool = False,
    by_invitation: bool = False,
) -> tuple[User, str]:
    """A new person and their first password, made up where none was given.

    Raises Invalid for a name or password that can't be used, Conflict where the name is taken in any case. By an
    invitation nobody takes a name that FETCHERS or STUDY_CREATORS gives rights, or that someone of the demo has: these
    are taken, too; nor one that reads as a rater's code.
    """
    first_name, _, last_name = full_name.strip().partition(" ")
    user = User(
        username=User.normalize_username(username.strip()),
        email=email.strip().lower(),
        first_name=first_name,
        last_name=last_name.strip(),
        is_staff=is_staff,
    )
    first_password = password or secrets.token_urlsafe(12)
    of_user_name = wrong_in_full_name if by_invitation and is_like_a_code(user.username) else wrong_in_user_name
    wrong = {"username": of_user_name(user.username), "full_name": wrong_in_full_name(full_name.strip())}
    fields = {name: [sentence] for name, sentence in wrong.items() if sentence}
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        fields = error.message_dict | fields
    if fields:
        raise Invalid("Person not added.", fields=fields)
    if password:
        _check_password(password, user, field="password")
    user.set_password(first_password)
    taken = Conflict(
        f"The name {user.username} is taken.", code="name_taken", fields={"username": ["Choose another name."]}
    )
    if by_invitation and (is_named_by_operator(user.username) or is_public_name(user.username)):
        raise taken
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:
        raise taken from error
    how: dict[str, Any] = {} if password else {"password": GENERATED}
    record(verb=PERSON_ADDED, about=user, staff=is_staff, **how)
    return user, first_password


def rename_user(*, user: User, full_name: str, email: str, confirmation: Confirmation) -> User:
    """Changes how a person is called, and where e-mail reaches them.

    Raises Invalid for a name that misleads, an address that is none, and a new address that was not confirmed;
    Forbidden for the people of the demo.
    """
    require_private_account(user, "keep their names and e-mail addresses")
    if wrong := wrong_in_full_name(full_name.strip()):
        raise Invalid("Choose another name.", fields={"full_name": [wrong]})
    first_name, _, last_name = full_name.strip().partition(" ")
    before, address = user.get_full_name(), user.email
    user.first_name, user.last_name = first_name, last_name.strip()
    small = email.strip().lower()
    user.email = address if small == address.lower() else small  # earlier versions stored it as it was typed
    try:
        user.clean_fields(exclude=["password", "username"])
    except ValidationError as error:
        fields = {
            "full_name" if name in {"first_name", "last_name"} else name: sentences
            for name, sentences in error.message_dict.items()
        }
        raise Invalid("Choose another name or address.", fields=fields) from error
    is_new = user.email != address
    if is_new:
        require_confirmed(user, confirmation)
    with transaction.atomic():
        if is_new:
            hold_account(user)
        user.save(update_fields=["first_name", "last_name", *(["email"] if is_new else [])])
        if user.get_full_name() != before:
            record(verb="person renamed", user=user)
        if is_new:
            record(verb=ADDRESS_CHANGED, user=user)
    return user


def change_password(*, user: User, old: str, new: str, keep: str | None = None, revoke_tokens: bool = False) -> None:
    """Sets a new password for who knows the old one; every session but the one to keep ends.

    With `revoke_tokens` all API tokens end, too. Raises Invalid, Forbidden for the people of the demo.
    """
    require_private_account(user, "keep their passwords")
    require_confirmed(user, Confirmation(old), field="old")
    _check_password(new, user, field="new")
    with transaction.atomic():
        hold_account(user)
        _set_password(user, new, keep=keep)
        if revoke_tokens:
            revoke_all_tokens(user=user, by=user)


def hold_account(user: User) -> None:
    """Holds an account until the transaction ends, so that a link for a new password is used before or after it.

    Foreign keys are checked at the commit, so a new row that names the account does not hold it before.

    Raises Invalid where its password was changed since this person was asked for it.
    """
    held = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if held.password != user.password or not held.is_active:
        raise Invalid(
            "The password of this account was changed at the same time. Sign in again. Nothing was changed.",
            code="sign_in_again",
        )


def save_as_own(user: User, row: models.Model, file: FieldFile) -> None:
    """Saves a new row that belongs to an account, which is held. Raises as `hold_account`; then its file goes, too."""
    try:
        with transaction.atomic():
            hold_account(user)
            row.save()
    except Invalid:
        file.delete(save=False)
        raise


@transaction.atomic
def _set_password(user: User, new: str, *, keep: str | None = None) -> None:
    """Also ends links for a password that are out, and every session but the one to keep."""
    user.set_password(new)
    user.save(update_fields=["password"])
    now = timezone.now()
    PasswordLink.objects.filter(user=user, used_at=None, expires_at__gt=now).update(expires_at=now)
    _end_sessions(user, keep)
    record(verb=PASSWORD_CHANGED, user=user)


def first_password(*, user: User, new: str, confirmation: Confirmation, keep: str | None = None) -> None:
    """Sets a password for someone who has none and just signed in by a provider. Raises Invalid, Conflict."""
    if user.has_usable_password():
        raise Conflict("You already have a password. Change it with the current one.")
    require_confirmed(user, confirmation)
    _check_password(new, user, field="new")
    with transaction.atomic():
        hold_account(user)
        _set_password(user, new, keep=keep)


def make_password_link(
    *,
    user: User,
    made_by: User | None = None,
    of_study: int | None = None,
    holds: timedelta = timedelta(hours=24),
    by_email: bool = False,
) -> tuple[PasswordLink, str]:
    """A link for choosing a new password and its plaintext, which nobody can read again; earlier ones end.

    One sent by e-mail, which anyone can ask for, ends no link that someone made by hand. Whether `made_by` may is for
    the caller to know, and asked again as long as the link is out where they may as the owner of a study (`of_study`).
    Raises Conflict for someone who may not sign in, or who has another e-mail address by now than the link is sent to.
    """
    if not user.is_active:
        raise Conflict(f"The account of {user.signed_name} was closed or may no longer sign in.")
    plaintext, now = secrets.token_urlsafe(32), timezone.now()
    with transaction.atomic():
        held = User.objects.select_for_update(no_key=True).get(pk=user.pk)  # of two links made at once the earlier ends
        if by_email and held.email != user.email:
            raise Conflict(f"The e-mail address of {user.signed_name} was changed at the same time.")
        earlier = PasswordLink.objects.filter(user=user, used_at=None, expires_at__gt=now)
        (earlier.filter(by_email=True) if by_email else earlier).update(expires_at=now)
        link = PasswordLink.objects.create(
            user=user,
            made_by=made_by,
            of_study=of_study,
            digest=digest(plaintext),
            expires_at=now + holds,
            by_email=by_email,
        )
        record(verb="password link made", user=made_by, about=user)
    return link, plaintext


def use_password_link(*, link: PasswordLink, new: str) -> list[str]:
    """Sets the password of the link's person, once; every session, token and other link of theirs ends.

    So do ways in of the last 30 days, which are given in words: someone who knew the old password may have added them,
    also after the link was sent.
    Raises Invalid, NotFound.
    """
    _check_password(new, link.user, field="new")
    with transaction.atomic():
        User.objects.select_for_update().get(pk=link.user_id)  # until the commit no new row anywhere names the person
        link = get_good_link(pk=link.pk)
        link.used_at = timezone.now()
        link.to_former_address = is_to_former_address(link)
        link.save(update_fields=["used_at", "to_former_address"])
        if not _changed_address_since_notice(link):
            link.user.password_link = link
        link.user.has_notice = link.user.has_notice or not link.is_to_own_address
        link.user.save(update_fields=["password_link", "has_notice"])
        ended = _end_recent_ways_in(link)
        _set_password(link.user, new)
        n = revoke_all_tokens(user=link.user)
        made_by = link.made_by.username if link.made_by else None
        more: dict[str, Any] = {"ended": ended} if ended else {}
        record(verb="password link used", about=link.user, made_by=made_by, tokens_revoked=n, **more)
        if link.of_study is not None:
            for keeper in keepers_of_links:
                keeper.record_use(link)
    return ended


def _end_recent_ways_in(link: PasswordLink) -> list[str]:
    """Ends providers of the last 30 days, and an e-mail address since then unless the link was sent to it; in words.

    Nothing for links of owners, who must not end what a person could come back by.
    """
    user, since = link.user, timezone.now() - RECENT
    if link.of_study is not None:
        return []
    ended = []
    if SocialAccount.objects.filter(user=user, date_joined__gte=since).delete()[0]:
        ended.append("connections with providers")
    if user.email and not link.is_to_own_address and address_changed_since(user, since):
        user.email = ""
        user.save(update_fields=["email"])
        ended.append("the e-mail address")
    return ended


def _changed_address_since_notice(link: PasswordLink) -> bool:
    """Whether a link that was sent by e-mail may have gone to whoever set the password by an earlier link."""
    first = unconfirmed_links(link.user).exclude(pk=link.pk).order_by("used_at").first()
    if not link.is_to_own_address or first is None:
        return False
    return first.used_at is not None and address_changed_since(link.user, first.used_at)


def confirm_password_link(*, link: PasswordLink, by: User, began_with: int | None) -> None:
    """Confirms that the person of a link used it themselves; then nobody is told of it any more.

    The person confirms it in a session that does not go back to that link's password (`began_with` is the ID of the
    link that it goes back to). Staff confirm it for others. Raises Forbidden, NotFound.
    """
    if by.pk != link.user_id and not by.is_staff:
        raise NotFound("Link not found.")
    if by.pk == link.user_id and began_with == link.pk:
        raise Forbidden(
            "You signed in with the password that this link set, so anyone who has the link could do the "
            "same. Sign in with a link sent to your e-mail address or with a provider, then confirm. Or ask "
            "the staff to confirm."
        )
    _confirm(link, by)


def confirm_from_shell(*, user: User) -> int:
    """Confirms every link of someone, for whoever runs the server; how many there were."""
    links = list(unconfirmed_links(user))
    for each in links:
        _confirm(each, None)
    return len(links)


@transaction.atomic
def _confirm(link: PasswordLink, by: User | None) -> None:
    User.objects.select_for_update(no_key=True).get(pk=link.user_id)  # another link is used before or after it
    if unconfirmed_links(link.user).filter(pk=link.pk).update(confirmed_at=timezone.now()):
        record(verb="password link confirmed", user=by, about=link.user)
    User.objects.filter(pk=link.user_id).update(has_notice=unconfirmed_links(link.user).exists())


def told_of_links(*, user: User) -> list[PasswordLink]:
    """The links that someone else made for this person, nobody used and they were not told of; from now on they are.

    Of links that were used every page tells (`unconfirmed_links`).
    """
    with transaction.atomic():
        found = PasswordLink.objects.filter(user=user, made_by__isnull=False, told_at=None, used_at=None)
        found = found.exclude(made_by=user)
        links = list(found.select_related("made_by").order_by("created_at"))
        if links:
            PasswordLink.objects.filter(pk__in=[each.pk for each in links]).update(told_at=timezone.now())
    return links


def end_session(*, user: User, number: str) -> None:
    """Signs a person out of one browser; raises NotFound for a session that is not theirs.

    Raises Forbidden for the people of the demo.
    """
    _require_own_sessions(user)
    for each in Session.objects.filter(user=user):
        if each.number == number:
            each.delete()
            return
    raise NotFound("Session not found. It may have expired.")


def end_other_sessions(*, user: User, keep: str | None) -> int:
    """Signs a person out everywhere but in the session with this key; how many there were.

    Raises Forbidden for the people of the demo.
    """
    _require_own_sessions(user)
    return _end_sessions(user, keep)


def _require_own_sessions(user: User) -> None:
    require_private_account(user, "end no other sessions: these belong to other visitors")


def _end_sessions(user: User, keep: str | None = None) -> int:
    return Session.objects.filter(user=user).exclude(pk=keep or "").delete()[0]


def choose_theme(*, user: User, theme: str) -> None:
    """Light, dark or as the system says; it follows the person to every browser. Raises Invalid."""
    if theme not in User.Theme.values:
        raise Invalid("The theme was not changed.", fields={"theme": [f"Write {', '.join(User.Theme.values)}."]})
    user.theme = theme
    user.save(update_fields=["theme"])


def choose_keys(*, user: User, keys: Mapping[str, object]) -> None:
    """The keys of the labelling page that differ from the usual ones, and whether they are on. Raises Invalid."""
    user.keys = read_keys(keys)
    user.save(update_fields=["keys"])


def choose_mails(*, user: User, wanted: Iterable[str]) -> None:
    """The kinds of e-mail that this person wants; none of the others. Unknown words are passed over."""
    chosen = set(wanted)
    user.no_mails = [kind for kind in User.Mail.values if kind not in chosen]
    user.save(update_fields=["no_mails"])


def mails_off_token(user: User) -> str:
    """What an e-mail's link carries that turns all e-mails to this address of a person off."""
    return _mails_signer(user).sign(str(user.pk))


def _mails_signer(user: User) -> signing.TimestampSigner:
    return signing.TimestampSigner(salt=f"{MAILS_OFF} {user.email}")


def person_of_mails(token: str) -> User:
    """Whose e-mails a link turns off. Raises NotFound, also after 90 days and for an address that is not theirs now."""
    number = token.partition(":")[0]
    user = User.objects.filter(pk=int(number), is_active=True).first() if _NUMBER.fullmatch(number) else None
    try:
        if user is not None:
            _mails_signer(user).unsign(token, max_age=MAILS_OFF_FOR)
            return user
    except signing.BadSignature:
        pass
    raise NotFound("This link is not valid any more.")


def choose_image_hosts(*, user: User, hosts: Sequence[str]) -> None:
    """The hosts whose images this person sees without a click.

    Raises Invalid, Forbidden for the people of the demo: a host would learn of all later visitors.
    """
    require_private_account(user, "click each image")
    chosen = sorted({host.strip().lower() for host in hosts if host.strip()})
    if faulty := [host for host in chosen if len(host) > HOST_CHARACTERS_MAX or not IMAGE_HOST.fullmatch(host)]:
        sentence = f"“{faulty[0][:100]}” is not a host. Enter it as user-images.githubusercontent.com."
        raise Invalid("The hosts were not saved.", fields={"hosts": [sentence]})
    if len(chosen) > IMAGE_HOSTS_MAX:
        sentence = f"Choose at most {IMAGE_HOSTS_MAX} hosts. You chose {len(chosen)}."
        raise Invalid("The hosts were not saved.", fields={"hosts": [sentence]})
    user.image_hosts = chosen
    user.save(update_fields=["image_hosts"])


@transaction.atomic
def end_account(*, user: User) -> None:
    """Nobody signs in as this person any more: tokens, sessions, links and providers end, the e-mail address goes.

    The row stays, with the name: what they did is told by it. Their studies are left before, and others can hold
    these for seconds. Raises Invalid where the password was changed since this person was asked for it.
    """
    hold_account(user)
    user.is_active, user.is_staff, user.is_superuser = False, False, False
    user.save(update_fields=["is_active", "is_staff", "is_superuser"])
    _end_ways_in(user)
    record(verb="account closed", user=user)


@transaction.atomic
def make_private(*, user: User) -> None:
    """Ends every way in to an account that anyone could act as; staff or the shell make a link for a new password."""
    _end_ways_in(user)
    record(verb=MADE_PRIVATE, about=user)


def _end_ways_in(user: User) -> None:
    now = timezone.now()
    user.email = ""
    user.set_unusable_password()
    user.save(update_fields=["email", "password"])
    ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=now)
    PasswordLink.objects.filter(user=user, used_at=None, expires_at__gt=now).update(expires_at=now)
    SocialAccount.objects.filter(user=user).delete()
    _end_sessions(user)


def connect_provider(*, user: User, provider: str, uid: str, called: str) -> None:
    """Joins an account at a provider to a person, once.

    Raises Conflict where it is another's, Forbidden for the people of the demo.
    """
    require_private_account(user, "sign in by no provider")
    with transaction.atomic():
        hold_account(user)
        found, is_new = SocialAccount.objects.get_or_create(
            provider=provider, uid=uid, defaults={"user": user, "extra_data": {"called": called}}
        )
        if found.user_id != user.pk:
            raise Conflict("This account belongs to another user of this server.")
        if is_new:
            record(verb="provider connected", user=user, provider=provider)


def disconnect_provider(*, user: User, account_id: int) -> None:
    """Takes an account at a provider off a person.

    Raises NotFound, Conflict where nothing else signs them in, Invalid where the password was changed
    since this person was asked for it.
    """
    with transaction.atomic():
        hold_account(user)
        mine = list(SocialAccount.objects.select_for_update().filter(user=user))
        found = next((each for each in mine if each.pk == account_id), None)
        if found is None:
            raise NotFound("Connection not found.")
        if len(mine) == 1 and not user.has_usable_password():
            raise Conflict("Without this connection you couldn't sign in. Set a password first.")
        found.delete()
        record(verb="provider disconnected", user=user, provider=found.provider)


def make_own_token(*, confirmation: Confirmation, user: User, **more: Any) -> tuple[ApiToken, str]:
    """`make_token` for who is signed in; raises Invalid also where it was not confirmed.

    Raises Forbidden for the people of the demo: the token would outlast the visitor.
    """
    require_private_account(user, f"get tokens only in the server's shell (`manage.py token {user.username}`)")
    require_confirmed(user, confirmation)
    with transaction.atomic():
        hold_account(user)
        return make_token(user=user, **more)


def make_token(
    *, user: User, name: str, scope: str = ApiToken.Scope.READ, expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """A new token and its plaintext, which nobody can read again. Raises Invalid."""
    fields: dict[str, list[str]] = {}
    name = name.strip()
    if not name:
        fields["name"] = ["Enter a name for this token."]
    elif len(name) > 100:
        fields["name"] = ["Use at most 100 characters."]
    if scope not in ApiToken.Scope.values:
        fields["scope"] = [f"Choose one of {', '.join(ApiToken.Scope.values)}."]
    if expires_at is not None and expires_at <= timezone.now():
        fields["expires_at"] = ["Expiry must be in the future."]
    if fields:
        raise Invalid("Token not created.", fields=fields)
    plaintext = TOKEN_MARK + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user, name=name, scope=scope, expires_at=expires_at, digest=digest(plaintext), prefix=plaintext[:12]
    )
    record(verb="token made", user=user, name=name, scope=str(scope))
    return token, plaintext


def revoke_token(*, token: ApiToken) -> ApiToken:
    """Ends a token for good; a second time changes nothing."""
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        record(verb="token revoked", about=token.user, name=token.name)
    return token


def revoke_all_tokens(*, user: User, by: User | None = None) -> int:
    """Ends every token of an account for good; how many there were."""
    n = ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=timezone.now())
    if n:
        record(verb="all tokens revoked", user=by, about=user, n=n)
    return n


def touch_token(*, token: ApiToken) -> None:
    """Notes that a token was used, at most once a minute."""
    now = timezone.now()
    if token.last_used_at is None or (now - token.last_used_at).total_seconds() >= 60:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
        token.last_used_at = now


def _check_password(password: str, user: User, *, field: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid("Choose another password.", fields={field: error.messages}) from error
