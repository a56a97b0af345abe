"""E-mails about waiting work: at most one a day to a person, and a weekly summary to owners."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from accounts import jobs
from accounts.actions import mails_off_token
from accounts.models import User
from annotation.overview.queries.mails import summaries_of, waiting_lines
from shared.site_links import absolute

HOUR = 6
"""E-mails of a day are sent from this hour on (UTC)."""


def send_due_mails(now: datetime | None = None) -> int:
    """Sends what is due, and gives the number of e-mails; a second time on the same day it sends nothing.

    The day is noted before an e-mail is handed on: one that gets lost is not sent twice. Who reads a summary on a
    Monday gets the daily e-mail in it.
    """
    now = now or timezone.now()
    if not settings.SENDS_EMAIL or now.hour < HOUR:
        return 0
    today = now.date()
    monday = today - timedelta(days=today.weekday())
    due = Q(mailed_on=None) | Q(mailed_on__lt=today)
    people = User.objects.filter(due, is_active=True, memberships__isnull=False).exclude(email="").distinct()
    n = 0
    for user in people.order_by("pk").iterator(chunk_size=200):
        if not User.objects.filter(due, pk=user.pk).update(mailed_on=today):
            continue
        weekly = Q(summed_up_on=None) | Q(summed_up_on__lt=monday)
        is_weekly = user.wants(User.Mail.SUMMARY) and User.objects.filter(weekly, pk=user.pk).update(summed_up_on=today)
        if text := _text(user, is_weekly=bool(is_weekly)):
            subject = "Your week in Concord" if text.startswith(WEEKLY) else "Waiting for you in Concord"
            jobs.send_later(user.email, subject, text)
            n += 1
    return n


WEEKLY = "In the studies that you own:"


def _text(user: User, *, is_weekly: bool) -> str:
    """The e-mail of a day; empty where nothing waits."""
    parts = []
    for summary in summaries_of(user) if is_weekly else []:
        lines = "\n".join(f"  {line}" for line in summary.lines)
        parts.append(f"{summary.study.title}\n{lines}\n  {absolute(reverse('study', args=[summary.study.slug]))}")
    if parts:
        parts.insert(0, WEEKLY)
    if waiting := waiting_lines(user):
        parts.append("Waiting for you:")
        parts += [
            f"{each.study.title}, round {each.round.number}: {each.words}\n"
            f"  {absolute(reverse('study', args=[each.study.slug]))}"
            for each in waiting
        ]
    if not parts:
        return ""
    off = absolute(reverse("mails_off", args=[mails_off_token(user)]))
    choose = f"{absolute(reverse('me'))}#mails"
    return "\n\n".join([*parts, f"Choose your e-mails: {choose}\nTurn them off: {off}\n"])
