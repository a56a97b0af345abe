"""Links and invitations of an owner, which end when they leave the study or give it up."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q
from django.utils import timezone

from accounts.models import User
from annotation.core.access import OWNER
from annotation.models import Invitation, Membership, ReaderLink, Study


@dataclass(frozen=True)
class Offers:
    """What an owner of a study handed out that others can still use: it ends when they own the study no more."""

    links: list[Invitation]
    reader_links: list[ReaderLink]
    invited: list[Membership]

    def __bool__(self) -> bool:
        return bool(self.links or self.reader_links or self.invited)

    @property
    def lines(self) -> list[str]:
        """Each of them in words, for a list."""
        found = []
        for each in self.links:
            whom = each.note or each.email or "anyone who has it"
            found.append(f"The invitation link for {whom}, as {' and '.join(each.roles)}")
        found += [f"The reader link for “{each.label}”" for each in self.reader_links]
        found += [f"The invitation of {each.name}, as {' and '.join(each.roles)}" for each in self.invited]
        return found

    @property
    def sentence(self) -> str:
        """How many ended, for the message after it; empty for none."""
        words = (
            (self.links, "invitation link"), (self.reader_links, "reader link"), (self.invited, "pending invitation"),
        )  # fmt: skip
        counts = [f"{len(rows)} {word}{'' if len(rows) == 1 else 's'}" for rows, word in words if rows]
        return f" Expired because they created it: {', '.join(counts)}." if counts else ""


def offers_of(study: Study, user: User) -> Offers:
    """What this person handed out in a study and others can still use; three queries."""
    now = timezone.now()
    links = Invitation.objects.filter(study=study, created_by=user, withdrawn_at=None, expires_at__gt=now)
    unused = links.annotate(n_uses=Count("uses")).filter(n_uses__lt=F("n_most"))
    reading = ReaderLink.objects.filter(study=study, created_by=user, withdrawn_at=None)
    invited = Membership.objects.filter(study=study, invited_by=user, invitation_key__isnull=False)
    return Offers(
        list(unused.order_by("pk")),
        list(reading.filter(Q(ends_at=None) | Q(ends_at__gt=now)).order_by("number")),
        list(invited.order_by("pk")),
    )


def owner_who_stops(study: Study, username: str, roles: Sequence[str]) -> Membership | None:
    """The owner of this user name, if these roles would make them one no more; one query."""
    if OWNER in roles:
        return None
    owners = Membership.objects.select_related("user").filter(study=study, roles__contains=[OWNER])
    return owners.filter(user__in=User.named(username)).first()
