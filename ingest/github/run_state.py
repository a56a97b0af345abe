"""Run state at GitHub: the repository, the cursor, and what was read in advance."""

import re
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

from django.db import IntegrityError, transaction

from accounts.models import User
from accounts.permissions import is_fetcher, may_use_tokens
from ingest.errors import FetchFailed, FetchMustWait, Invalid
from ingest.github.client import Client, GraphqlReply, RestResponse
from ingest.github.rest_objects import is_public, parse_id
from ingest.identifiers import full_name, parse_identifier, parse_repository
from ingest.models import FetchRun, Issue, Refusal, Repository, Snapshot, Validator, issues_read_by_strangers
from ingest.records import ChangeRecord, IssueRecord
from ingest.runs import progress
from ingest.upsert import (
    forget_changes,
    forget_others,
    hold_issues,
    is_claimed,
    keep_former_name,
    known_records,
    rename,
    repository_by_name,
    step_aside,
)

BUSY_SECONDS = 30
UNREADABLE = frozenset({403, 404, 410, 451})
SHOWN_CHARACTERS = 20_000
LAST = "last"
ETAG_CHARACTERS = 200


class RunState:
    """A run with the client that asks for it; what it brings in is stored inside `progress`."""

    def __init__(self, run: FetchRun, client: Client) -> None:
        self.run = run
        self.client = client
        self.is_restricted = client.has_tokens and not (run.is_unrestricted or may_use_tokens(run.created_by))
        self.answers: dict[tuple[str, str | None], RestResponse] = {}
        """First pages of listings (by kind, and since when) that were read to choose a way, each to be used once."""
        self._is_public: dict[tuple[str, str], bool] = {}
        self._n_before = run.n_requests, run.n_unchanged_answers

    @property
    def name(self) -> tuple[str, str, str]:
        """Host, owner and name of the repository; after `resolve`."""
        assert self.run.repository is not None
        return _key(self.run.repository)

    @property
    def title(self) -> str:
        """The repository in messages: by the name that was asked for where another one may be hidden from who asked."""
        return full_name(*(self.run.requested["name"] if self.is_restricted else self.name))

    @property
    def covers_everything(self) -> bool:
        """Whether it asks for all issues, or all that changed: then the next one can go on from it."""
        asked = self.run.requested
        return "what" not in asked and asked.get("state") == "all" and not asked.get("labels")

    def path(self, rest: str) -> str:
        return f"/repos/{self.name[1]}/{self.name[2]}/{rest}"

    def count(self) -> None:
        """What was asked so far, into the run."""
        self.run.n_requests = self._n_before[0] + self.client.n_requests
        self.run.n_unchanged_answers = self._n_before[1] + self.client.n_unchanged_answers
        self.run.n_requests_left = self.client.n_left

    def progress(self) -> AbstractContextManager[None]:
        """A transaction around one batch, with cursor and counts; raises ClaimLost when the run is no longer ours."""
        self.count()
        self._is_public.clear()  # what the next batch brings is read later
        return progress(self.run)

    def turn_to(self, phase: str, **cursor: Any) -> None:
        """The next part of the work, from its beginning."""
        with self.progress():
            self.run.cursor = self.run.cursor | {"phase": phase} | cursor

    def resolve(self) -> None:
        """Finds the repository at GitHub, under its present name, opens it to who asked, and says since when to ask."""
        host, owner, name = self.run.requested["name"]
        path = f"/repos/{owner}/{name}"
        kept = _asked_before(path, host, owner, name) if self.run.requested.get("since") else None
        if kept and self.is_restricted and kept.repository.private:
            kept = None  # an answer that did not change would tell that the repository is stored here
        also = UNREADABLE if self.is_restricted else ()
        title = full_name(host, owner, name)
        answer = self.client.get(path, what=title, etag=kept.etag if kept else None, also=also)
        if self.is_restricted and not (answer.unchanged or is_public(answer.value) or _is_nonsense(answer)):
            raise self._hidden(title)
        if not answer.unchanged and not (isinstance(answer.value, Mapping) and "full_name" in answer.value):
            raise _unreadable()
        began = datetime.fromtimestamp(self.client.clock or time.time(), UTC)
        now = _key(kept.repository) if answer.unchanged and kept else _named(answer.value, host)
        try:
            with self.progress():
                if answer.unchanged and kept:
                    repository = kept.repository
                else:
                    repository = _repository(self.run, answer.value, (host, owner, name), now)
                    _keep_validator(repository, path, answer.etag)
                _open_to(repository, self.run.created_by)
                if repository.private:
                    _leave_to_fetchers(repository, self.run)
                self.run.repository = repository
                self.run.target = "/".join(now).lower()
                self.run.requested = _since_known(self.run.requested, repository)
                self.run.cursor = {"began": began.isoformat()} | self.run.cursor | {"found": True}
        except IntegrityError:
            message = f"Another run of {full_name(*now)} is running. This one continues after it."
            raise FetchMustWait(message, wait_seconds=BUSY_SECONDS, counts=False) from None

    def look(self) -> Mapping[str, Any]:
        """What GitHub says of the repository that is asked for; nothing is stored.

        Raises FetchFailed, also for a private one of which who asked may not know.
        """
        host, owner, name = self.run.requested["name"]
        title = full_name(host, owner, name)
        answer = self.client.get(f"/repos/{owner}/{name}", what=title, also=UNREADABLE if self.is_restricted else ())
        if _is_nonsense(answer):
            raise _unreadable()
        if self.is_restricted and not is_public(answer.value):
            raise self._hidden(title)
        found: Mapping[str, Any] = answer.value
        return found

    def look_again(self) -> None:
        """Asks, before more is stored of a repository that the run found earlier, whether it is still as public.

        Someone who may not use the tokens gets FetchFailed, as if it were not there. For others a repository that
        became private while the run waited is found again, which makes it private here before anything more is stored.
        """
        assert self.run.repository is not None
        if not self.client.has_tokens or (self.run.repository.private and not self.is_restricted):
            return
        answer = self.client.get(f"/repos/{self.name[1]}/{self.name[2]}", what=self.title, also=UNREADABLE)
        if not is_public(answer.value):
            if _is_nonsense(answer):
                raise _unreadable()
            if self.is_restricted:
                raise self._hidden(self.title)
            self.start_over_name()
        if answer.value.get("id") != (self.run.repository.github_id or answer.value.get("id")):
            raise FetchFailed(f"{self.title} is now another repository at GitHub. Start a new fetch of it.")

    def ask(self, query: str, variables: Mapping[str, Any], *, what: str, may_be_empty: bool = False) -> GraphqlReply:
        """The answer to a GraphQL query about the repository, which says whether it is private.

        Stops where it is, and what is read may not be stored here: as if it were not there for someone who may not use
        the tokens, to find it again for others if its issues are open to everybody here.
        """
        reply = self.client.graphql(query, variables, what=what, may_be_empty=may_be_empty)
        repository = reply.data.get("repository")
        if isinstance(repository, Mapping) and repository.get("isPrivate") is True:
            if self.is_restricted:
                raise self._hidden(self.title)
            if self.run.repository and not self.run.repository.private:
                self.start_over_name()
        return reply

    def may_tell_of(self, owner: str, name: str, number: int | None = None) -> bool:
        """Whether what another repository has may be stored beside this one's issues: nothing private with public ones.

        Nor with an issue (by its number) that people read who may not read this repository. Of such an issue nothing of
        this repository, if it is private, may be told, either. Asks GitHub once for each repository and batch.
        """
        key = (owner.lower(), name.lower())
        if not self.client.has_tokens:  # then all that is read is public
            return True
        is_private = self.run.repository is not None and self.run.repository.private
        is_read_by_strangers = is_private and self._is_read_by_strangers(number)
        if key == tuple(part.lower() for part in self.name[1:]):
            return not is_read_by_strangers
        if is_private and not is_read_by_strangers:
            return True
        if key not in self._is_public:
            answer = self.client.get(f"/repos/{owner}/{name}", what=f"{owner}/{name}", also=UNREADABLE)
            self._is_public[key] = is_public(answer.value)
        return self._is_public[key]

    def may_still_tell_of(self, changes: Iterable[ChangeRecord]) -> list[ChangeRecord]:
        """Those closing changes that may be stored by what GitHub says now, after they were read."""
        self._is_public.clear()
        return [change for change in changes if self.may_tell_of(*_owner_and_name(change))]

    def place_to_tell(self, address: str, number: int) -> str:
        """Where GitHub says that an issue (by its number) is now, by its identifier or the address of a discussion.

        Empty where that may not be told, or is nowhere on this host.
        """
        try:
            host, owner, name = parse_repository(address)
        except Invalid:
            return ""
        if host != self.name[0] or not self.may_tell_of(owner, name, number):
            return ""
        try:
            return f"{full_name(host, owner, name)}#{parse_identifier(address)[3]}"
        except Invalid:
            return address

    def _is_read_by_strangers(self, number: int | None) -> bool:
        if number is None or self.run.repository is None:
            return False
        issues = Issue.objects.filter(repository=self.run.repository, number=number).values_list("pk", flat=True)
        return bool(issues_read_by_strangers(self.run.repository.pk, issues))

    def _hidden(self, title: str) -> FetchFailed:
        """What is private is answered like what is not there, also by what it cost to find out."""
        self.client.n_requests, self.client.n_unchanged_answers, self.client.n_left = 1, 0, None
        return self.client.not_found(title)

    def start_over_name(self) -> None:
        """The repository was renamed while it was read: find it again, and read the same page again."""
        before = FetchRun.objects.values_list("cursor", flat=True).get(pk=self.run.pk)
        with self.progress():
            self.run.cursor = before | {"found": False}
        raise FetchMustWait("The repository was renamed during the fetch.", wait_seconds=1)

    def told_before(self, numbers: Iterable[int]) -> dict[int, IssueRecord]:
        """Stored issues as GitHub last told them, by number; those of files would pass for what GitHub says."""
        told = Issue.objects.told_by_github().filter(repository=self.run.repository, number__in=numbers)
        return {record.number: record for record in known_records(told.values_list("pk", flat=True)).values()}

    def refusal(self, row: Any, reason: str) -> Refusal:
        """A row of GitHub's that can't come in; not stored yet."""
        link = row.get("html_url") if isinstance(row, Mapping) else None
        return Refusal(run=self.run, reason=reason, row=str(link or row).replace("\x00", "")[:SHOWN_CHARACTERS])


def _owner_and_name(change: ChangeRecord) -> tuple[str, str]:
    """The repository of a closing change, which is called (host/)owner/name#number or (host/)owner/name@hash."""
    owner, name = re.split("[#@]", change.identifier)[0].split("/")[-2:]
    return owner, name


def _is_nonsense(answer: RestResponse) -> bool:
    return answer.status == 200 and not (isinstance(answer.value, Mapping) and "full_name" in answer.value)


def _unreadable() -> FetchMustWait:
    return FetchMustWait("GitHub's answer about the repository can't be read.")


def _leave_to_fetchers(repository: Repository, run: FetchRun) -> None:
    """What the server's tokens read of a private repository is for who may use them, and for whom this run is.

    Someone may have become a reader by a file, or while the repository was public.
    """
    readers = repository.readers.exclude(pk=run.created_by_id) if run.created_by_id else repository.readers.all()
    if leaving := [each for each in readers if not is_fetcher(each)]:
        Repository.objects.select_for_update().get(pk=repository.pk)  # waits for those who take issues of it
        repository.readers.remove(*leaving)


def _key(repository: Repository) -> tuple[str, str, str]:
    return repository.host, repository.owner, repository.name


def _asked_before(path: str, host: str, owner: str, name: str) -> Validator | None:
    """The validator of the repository's own answer, where it is still stored under the name that is asked for."""
    named = Repository.objects.named(host, owner, name).values("pk")
    found = Validator.objects.filter(repository__in=named, question=path.lower())
    return found.select_related("repository").first()


def _keep_validator(repository: Repository, path: str, etag: str | None) -> None:
    own = f"/repos/{repository.owner}/{repository.name}".lower()
    Validator.objects.filter(repository=repository, question__startswith="/repos/").exclude(
        question__contains="?"
    ).exclude(question=own).delete()
    if etag and len(etag) <= ETAG_CHARACTERS and path.lower() == own:
        Validator.objects.update_or_create(repository=repository, question=own, defaults={"etag": etag})


def _since_known(requested: dict[str, Any], repository: Repository) -> dict[str, Any]:
    """What was asked, with the time that "last" stands for; nothing where no fetch was complete yet."""
    if requested.get("since") != LAST:
        return requested
    until = repository.complete_until
    return requested | {"since": until.strftime("%Y-%m-%dT%H:%M:%SZ") if until else None, "goes_on": True}


def _named(found: Mapping[str, Any], host: str) -> tuple[str, str, str]:
    """Where the repository is now, by GitHub's answer."""
    link = str(found.get("html_url") or "")
    if link.startswith(("https://", "http://")):
        return parse_repository(link)
    return (host, *parse_repository(str(found["full_name"]))[1:])


def _open_to(repository: Repository, user: User | None) -> None:
    """Makes whoever fetches a reader, except of what others uploaded privately; raises FetchFailed there."""
    if user is None:
        return
    if repository.private and not repository.readers.filter(pk=user.pk).exists():
        uploads = _uploads_in(repository).exclude(run__isnull=False, run__created_by=user)
        if uploads.exists():
            if user.is_staff:
                return
            raise FetchFailed(
                f"{repository.full_name} is stored here with issues that another person uploaded privately. "
                "Ask them or the server's operator. Nothing was fetched."
            )
    repository.readers.add(user)


def _uploads_in(repository: Repository) -> Any:
    """The snapshots of a repository that did not come from GitHub."""
    stored = Snapshot.objects.filter(issue__repository=repository)
    return stored.exclude(run__isnull=False, run__kind__in=FetchRun.FROM_GITHUB)


def _repository(
    run: FetchRun, found: Mapping[str, Any], asked: tuple[str, str, str], now: tuple[str, str, str]
) -> Repository:
    """The stored repository, renamed when it moved at GitHub; made if it is new.

    Where it is private, one that files made under its name steps aside. Of one that becomes GitHub's, nothing stays
    that these files said and that a fetch may leave as it is; of one that becomes public, nothing that was told of
    other repositories while it was private.
    """
    private = not is_public(found)
    github_id = parse_id(found.get("id"))
    if github_id is None:
        raise _unreadable()
    found_by_id = Repository.objects.filter(host=now[0], github_id=github_id)
    known = found_by_id | Repository.objects.named(*now) | Repository.objects.named(*asked)
    for each in known.order_by("pk"):
        if is_claimed(each) or (each.private and not private):
            hold_issues(each)
    stored = Repository.objects.select_for_update()
    if private:
        for claimed in [each for name in {now, asked} for each in stored.named(*name) if is_claimed(each)]:
            step_aside(claimed)
    by_id = stored.filter(host=now[0], github_id=github_id).first()
    repository = stored.named(*now).first()
    if repository is not None and by_id is not None and repository.github_id is None:
        step_aside(repository)  # files made it under the name that the stored one has now
        repository = by_id
    repository = repository or by_id
    if repository is None:
        repository = stored.named(*asked).filter(github_id=None).first() or repository_by_name(
            run, now, private=private
        )
    if repository.private and not private and repository.github_id not in {None, github_id}:
        raise FetchFailed(
            f"{repository.full_name} is now another repository at GitHub than the private one stored here. "
            "Fetch that one by its new name first, or ask the server's operator. Nothing was fetched."
        )
    if repository.private and not private and _uploads_in(repository).exists():
        raise FetchFailed(
            f"{repository.full_name} is stored here with issues that someone uploaded privately. It is public "
            "at GitHub, so this fetch would show them to everyone. Their uploader can open them on the "
            "repository's page first. Nothing was fetched."
        )
    if is_claimed(repository):
        forget_changes(repository)
    with transaction.atomic():
        rename(repository, now)
        keep_former_name(repository, asked)
        if repository.private and not private:
            forget_others(repository)
        repository.private, repository.github_id = private, github_id
        repository.save(update_fields=["host", "owner", "name", "private", "github_id"])
    return repository
