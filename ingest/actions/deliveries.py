"""Webhook deliveries: accepts signed messages from GitHub, each once, about known repositories only."""

import hashlib
import hmac
import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from ingest.errors import Invalid, NotFound, RowError, Unreadable, Unsigned
from ingest.models import Delivery, FetchRun, Repository
from ingest.records import storable
from ingest.runs import RUNS
from ingest.webhooks.messages import EVENTS, repository_of


def take_delivery(*, guid: str, event: str, signature: str, body: bytes) -> FetchRun | None:
    """Queues a message for its repository's next run; None where there is nothing to keep, or it was here before.

    A message that comes again is taken again only if its run failed. Raises NotFound where no secret is set, Unsigned,
    Unreadable, Invalid.
    """
    if not settings.GITHUB_WEBHOOK_SECRET:
        raise NotFound("This server accepts no messages from GitHub: GITHUB_WEBHOOK_SECRET is not set.")
    wanted = "sha256=" + hmac.new(settings.GITHUB_WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(wanted.encode(), signature.encode()):
        raise Unsigned("The signature is wrong. Check that the webhook's secret equals GITHUB_WEBHOOK_SECRET.")
    if not (0 < len(guid) <= 100 and guid.isprintable()):
        raise Invalid("The message has no id.", fields={"X-GitHub-Delivery": ["This header is missing."]})
    payload = _payload(body)
    if event not in EVENTS:
        return None
    try:
        repository = _kept(payload)
    except RowError as error:
        raise Invalid(str(error)) from None
    if repository is None:
        return None
    return _queue(repository, guid, event, payload, hashlib.sha256(body).hexdigest())


def _payload(body: bytes) -> Mapping[str, Any]:
    """The message, as JSON or as the form that GitHub sends if one chooses so."""
    try:
        text = body.decode()
        content = parse_qs(text).get("payload", [""])[0] if text.startswith("payload=") else text
        payload = _storable(json.loads(content))
    except (ValueError, RecursionError):
        raise Unreadable("The message is not valid JSON.") from None
    if not isinstance(payload, Mapping):
        raise Unreadable("The message is not an object.")
    return payload


def _storable(value: Any) -> Any:
    """The value with U+FFFD for what Postgres can't keep, in keys too; raises RecursionError, ValueError for NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _storable(inner) for key, inner in value.items()}
    return [_storable(inner) for inner in value] if isinstance(value, list) else value


def _kept(payload: Mapping[str, Any]) -> Repository | None:
    """The repository that a fetch found at GitHub under this number, whatever its name is by now; None for others.

    A name alone leads nowhere: whoever uploads a file of that name would read what GitHub tells the server.
    """
    number, (host, owner, name) = repository_of(payload)
    if number is None:
        return None
    found = Repository.objects.filter(host=host, github_id=number)
    return found.named(host, owner, name).first() or found.order_by("pk").first()


@transaction.atomic
def _queue(repository: Repository, guid: str, event: str, payload: Mapping[str, Any], sha256: str) -> FetchRun | None:
    earlier = Delivery.objects.select_for_update().filter(Q(guid=guid) | Q(sha256=sha256)).first()
    if earlier is not None and not _is_wanted_again(earlier, sha256):
        return None
    run = _queued_run(repository)
    if earlier is not None:
        earlier.run, earlier.payload = run, payload
        earlier.save(update_fields=["run", "payload"])
    else:
        delivery = Delivery(guid=guid, event=event, payload=payload, sha256=sha256, run=run)
        delivery.action = str(payload.get("action") or "")[:60]
        try:
            with transaction.atomic():
                delivery.save()
        except IntegrityError:  # the same message came twice at once
            return None
    RUNS.send_later(run.pk)
    return run


def _is_wanted_again(earlier: Delivery, sha256: str) -> bool:
    return earlier.sha256 == sha256 and earlier.run is not None and earlier.run.state == FetchRun.State.FAILED


def _queued_run(repository: Repository) -> FetchRun:
    """The repository's run that no worker has taken up yet, held so that none does before this message is in it."""
    waiting = FetchRun.objects.select_for_update(of=("self",)).filter(
        kind=FetchRun.Kind.WEBHOOK, repository=repository, state=FetchRun.State.QUEUED
    )
    run = waiting.first()
    if run is None:
        target = f"{repository.host}/{repository.owner}/{repository.name}".lower()
        requested = {"repository": repository.full_name, "what": "messages"}
        run = FetchRun.objects.create(
            kind=FetchRun.Kind.WEBHOOK, repository=repository, target=target, requested=requested,
            heartbeat_at=timezone.now(),
        )  # fmt: skip
    return run
