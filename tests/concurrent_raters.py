"""Many raters at once over real HTTP: they repeat what was not answered, hang up, ask twice, while processes die."""

import contextlib
import http.client
import json
import random
import signal
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psutil

from tests.site import Site

PATIENCE_SECONDS = 240
"""So long is one request repeated."""
ANSWERS_BETWEEN = 10, 30
"""How many answers come between two kills, at least and at most: on a slow machine a process lives long enough to give
one, and on a fast one the work is not over before the first kill."""
AWAY = (OSError, http.client.HTTPException, ValueError)


def prepare(mode: str, n_raters: int, n_items: int, raters_per_item: int) -> dict[str, Any]:
    """Run in the site: a study with an open round; its slug and a token for each rater."""
    from accounts.actions import make_token
    from annotation.models import Study
    from ingest.models import Issue
    from tests import builders as make

    number = Study.objects.count() + 1
    names = [f"rater-{each}" for each in range(1, n_raters + 1)]
    text = make.SYMPTOMS.replace("slug: symptoms", f"slug: symptoms-{number}")
    study = make.study(f"study-{number}", text=text, raters=names)
    first = Issue.objects.count() + 1
    make.issues(n_items, first=first)
    make.open_round(study, n_items, raters=names, first=first, raters_per_item=raters_per_item, mode=mode)
    tokens = [make_token(user=make.user(name), name="crowd", scope="rate")[1] for name in names]
    owner = make_token(user=make.owner_seat(study).user, name="crowd", scope="manage")[1]
    return {"slug": study.slug, "tokens": tokens, "owner": owner}


@dataclass
class Told:
    """What a rater was told: by key what the server acknowledged, and the items handed out, in order."""

    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    handed_out: list[str] = field(default_factory=list)
    n_repeated: int = 0
    error: str = ""


class RaterAtWork(threading.Thread):
    """One rater: asks for the next item and answers it until there is nothing left, whatever happens on the way."""

    def __init__(self, port: int, slug: str, token: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._port, self._slug, self._token = port, slug, token
        self._rng = random.Random(seed)
        self._connection: http.client.HTTPConnection | None = None
        self.told = Told()

    def run(self) -> None:
        try:
            while (given := self._next()) is not None:
                if given["assignment"] not in self.told.handed_out:
                    self.told.handed_out.append(given["assignment"])
                self._answer(given)
        except Exception as error:
            self.told.error = repr(error)

    def _next(self) -> dict[str, Any] | None:
        """The next assignment; None when the round needs nothing more of this rater."""
        while True:
            status, given = self._until_answered("GET", "rounds/1/next/")
            if status == 200:
                return given
            assert status == 204, (status, given)
            status, round_ = self._until_answered("GET", "rounds/1/")
            if status == 200 and round_["state"] == "open" and round_["mode"] == "pool" and self._rng.random() < 0.9:
                time.sleep(0.2)  # a lease of someone else may come back
                continue
            return None

    def _answer(self, given: dict[str, Any]) -> None:
        key = uuid.UUID(int=self._rng.getrandbits(128)).hex
        labels = {"symptom": [self._rng.choice(["crash", "hang", "slow"])]}
        body = {"assignment": given["assignment"], "labels": labels}
        times = 2 if self._rng.random() < 0.1 else 1  # a double click
        for _ in range(times):
            status, stored = self._until_answered("POST", "annotations/", body, key)
            assert status in (200, 201), (status, stored)
            before = self.told.acknowledged.get(key)
            assert before is None or before["id"] == stored["id"], "the same key was stored twice"
            self.told.acknowledged[key] = stored | {"labels": labels}

    def _until_answered(self, method: str, path: str, body: Any = None, key: str = "") -> tuple[int, Any]:
        """Repeats the very request until it is answered; now and then hangs up before the answer can come."""
        status: int | None = None
        ends_at = time.monotonic() + PATIENCE_SECONDS
        while True:
            assert time.monotonic() < ends_at, f"{method} {path} was never answered; the last status was {status}"
            hangs_up = body is not None and self._rng.random() < 0.05
            with contextlib.suppress(*AWAY):
                status, given = self._ask(method, path, body, key, hangs_up)
                if status < 500 and status != 429:
                    return status, given
            self.told.n_repeated += 1
            self._hang_up()
            time.sleep(self._rng.uniform(0.02, 0.2))

    def _ask(self, method: str, path: str, body: Any, key: str, hangs_up: bool) -> tuple[int, Any]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        text = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1/studies/{self._slug}/{path}", text, headers)
        if hangs_up:
            raise OSError("the network is gone")
        answer = self._connection.getresponse()
        said = answer.read()
        return answer.status, json.loads(said) if said and answer.status < 500 else None

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class Killer(threading.Thread):
    """Ends (-9) a web process after some answers: mostly one that answers, sometimes the one that listens."""

    def __init__(self, site: Site, seed: int, n_answered: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self._site, self._rng, self._n_answered = site, random.Random(seed), n_answered
        self._over = threading.Event()
        self.n_killed = 0

    def run(self) -> None:
        due = self._rng.randint(*ANSWERS_BETWEEN)
        while not self._over.wait(0.01):
            if self._n_answered() < due:
                continue
            with contextlib.suppress(psutil.NoSuchProcess, IndexError):
                found = self._site.web()
                to_kill = found[0] if self._rng.random() < 0.1 else self._rng.choice(found[1:])
                to_kill.send_signal(signal.SIGKILL)
                self.n_killed += 1
                due = self._n_answered() + self._rng.randint(*ANSWERS_BETWEEN)

    def stop(self) -> None:
        self._over.set()
        self.join()


@dataclass(frozen=True)
class Outcome:
    """What the raters were told, and how many web processes were killed meanwhile."""

    slug: str
    raters: list[Told]
    n_killed: int
    owner: str = field(repr=False)
    """A token of the study's owner."""

    @property
    def acknowledged(self) -> dict[str, dict[str, Any]]:
        return {key: stored for told in self.raters for key, stored in told.acknowledged.items()}


def work(
    site: Any,
    mode: str,
    *,
    n_raters: int,
    n_items: int,
    raters_per_item: int,
    seed: int,
    rater: type["RaterAtWork"] = RaterAtWork,
) -> Outcome:
    """Lets the raters label everything while web processes die; gives what each of them was told."""
    prepared = json.loads(
        site.run(
            "import json; from tests.concurrent_raters import prepare;"
            f" print(json.dumps(prepare({mode!r}, {n_raters}, {n_items}, {raters_per_item})))"
        )
    )
    rng = random.Random(seed)
    raters = [rater(site.port, prepared["slug"], token, rng.getrandbits(64)) for token in prepared["tokens"]]
    killer = Killer(site, rng.getrandbits(64), lambda: sum(len(rater.told.acknowledged) for rater in raters))
    killer.start()
    for rater in raters:
        rater.start()
    for rater in raters:
        rater.join()
    killer.stop()
    return Outcome(prepared["slug"], [rater.told for rater in raters], killer.n_killed, prepared["owner"])
