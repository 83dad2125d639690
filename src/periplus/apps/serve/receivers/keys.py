"""Keys of IndexNow messages: which are proved, which are wrong, and which are to be checked next.

A key is checked by fetching its file from the host that it belongs to. A proved key is believed for a day, a wrong one
refused for an hour. A host that does not answer is asked again, twice; then the key counts as wrong. A host is asked
by one request at a time, with the politeness delay in between: messages with invented keys must not become a flood
for the host that they name. No I/O here, and time is an argument.

URLs of messages with a valid key are kept for the crawl, those with an unknown one until it is checked.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from enum import Enum
from threading import Lock
from typing import Final

from msgspec import Struct

from periplus.formats import indexnow
from periplus.formats.indexnow import MAX_KEY_FILE, Submission
from periplus.model import Discovery, Failed, Fetched, FetchOutcome, Source, Url
from periplus.store import KeyClaim
from periplus.urls import canonical

from .intake import Answer, Intake, MessageCounts, MessageKind, Result, SenderLimits, full, too_many

log = logging.getLogger("periplus.web")

Found = list[tuple[Intake, list[Discovery]]]
"""Collections, each with the URLs of a message that belong to it; none without."""


class IndexNowReceiver:
    """Receives messages for some collections. Any thread may use it."""

    def __init__(self, intakes: Sequence[Intake], limits: SenderLimits, counts: MessageCounts) -> None:
        self._intakes = intakes
        self._limits = limits
        self._counts = counts
        self._lock = Lock()
        self._keys = KeyChecks(max((each.collection.config.politeness.delay for each in intakes), default=1.0))
        for intake in intakes:
            for claim in intake.inbox.claims():
                self._keys.add(claim, time.monotonic())

    def receive(self, submission: Submission, address: str) -> Answer:
        """Answer a message, by the statuses of the protocol; its URLs are on the disk by then."""
        found = self._by_intake(submission)
        result, answer = self._received(submission, found, address)
        self._counts.add(MessageKind.INDEXNOW, result, found[0][0].counters if found else None)
        return answer

    def _received(self, submission: Submission, found: Found, address: str) -> tuple[Result, Answer]:
        if (status := submission.refusal) is not None:
            reasons = ", ".join(dict.fromkeys(problem.reason for problem in submission.problems))
            return Result.INVALID, Answer(status, f"This message cannot be used: {reasons or 'no URL'}.")
        if wait := self._limits.wait_for_urls(address, len(submission.urls), time.monotonic()):
            return Result.LIMITED, too_many(wait)
        if not found:
            return Result.OUT_OF_SCOPE, Answer(202, "Received. No collection crawls this host.")
        claim = KeyClaim(submission.host, submission.key, submission.key_location)
        with self._lock:
            state = self._keys.state(claim, time.monotonic())
            has_room = self._keys.has_room(claim)
        if state is KeyState.WRONG:
            return Result.WRONG_KEY, Answer(403, "The key file does not hold this key.")
        if state is KeyState.PROVED:
            return self._kept(found)
        return self._held(claim, found) if has_room else (Result.FULL, full())

    def _by_intake(self, submission: Submission) -> Found:
        """The URLs of a message for each collection that they belong to."""
        now = time.time()
        urls = [url for each in submission.urls if (url := canonical(each)) is not None]
        found = [
            (intake, [Discovery(url, Source.PING, now) for url in urls if intake.holds(url)])
            for intake in self._intakes
        ]
        return [(intake, discoveries) for intake, discoveries in found if discoveries]

    def _kept(self, found: Found) -> tuple[Result, Answer]:
        if not all(intake.inbox.append(discoveries) for intake, discoveries in found):
            return Result.FULL, full()
        return Result.ACCEPTED, Answer(200, "Received.")

    def _held(self, claim: KeyClaim, found: Found) -> tuple[Result, Answer]:
        if not all(intake.inbox.hold(claim, discoveries) for intake, discoveries in found):
            return Result.FULL, full()
        with self._lock:
            self._keys.add(claim, time.monotonic())
        return Result.HELD, Answer(202, "Received. The key will be checked.")

    # keys

    def due_claims(self) -> list[KeyClaim]:
        """Claims to give to `check` now, each in a thread."""
        with self._lock:
            return self._keys.take_due(time.monotonic())

    def check(self, claim: KeyClaim) -> None:
        """Fetch the key file of a claim, and release or drop the URLs that wait for it."""
        try:
            self._check(claim)
        except BaseException:
            with self._lock:
                self._keys.check_again(claim, time.monotonic())
            raise

    def _check(self, claim: KeyClaim) -> None:
        location = canonical(claim.location) or Url(claim.location)
        requests = next((each for each in self._intakes if each.holds(location)), self._intakes[0]).requests()
        outcome = requests.get(location, max_bytes=MAX_KEY_FILE, types=KEY_TYPES)
        with self._lock:
            state = self._keys.checked(claim, outcome, time.monotonic())
        if state is KeyState.UNKNOWN:
            return
        is_proved = state is KeyState.PROVED
        counters = None
        for intake in self._intakes:
            if number := intake.inbox.release(claim) if is_proved else intake.inbox.drop(claim):
                log.info("%s: %d URLs %s", claim.location, number, "accepted" if is_proved else "dropped: wrong key")
                counters = counters or intake.counters
        self._counts.add(MessageKind.INDEXNOW, Result.RELEASED if is_proved else Result.DROPPED, counters)


PROVED_FOR: Final = 86_400.0
"""Seconds for which a proved key is believed without another look: a site that takes its key file away is refused
within a day."""
WRONG_FOR: Final = 3_600.0
"""Seconds for which a wrong key is refused without another look."""
RETRIES: Final = (10.0, 60.0)
"""Seconds until a host that did not answer is asked again."""
MAX_CLAIMS: Final = 1_000
"""Keys that wait to be checked, of all hosts."""
MAX_CLAIMS_OF_HOST: Final = 10
"""Keys that wait to be checked for one host: an honest site has one."""
MAX_KNOWN: Final = 10_000
"""Results that are remembered."""
KEY_TYPES: Final = ("text/*",)
"""Content types of a key file."""


class KeyState(Enum):
    """What is known of a key."""

    PROVED = "proved"
    WRONG = "wrong"
    UNKNOWN = "unknown"


class _Check(Struct):
    at: float
    attempts: int = 0
    is_running: bool = False


class _Known(Struct, frozen=True):
    is_proved: bool
    until: float


class KeyChecks:
    """Results of checks, and checks that are due. `delay`: seconds between two requests to a host."""

    def __init__(self, delay: float = 1.0) -> None:
        self._delay = delay
        self._known: OrderedDict[KeyClaim, _Known] = OrderedDict()
        self._waiting: dict[KeyClaim, _Check] = {}
        self._asked_at: OrderedDict[str, float] = OrderedDict()

    def state(self, claim: KeyClaim, now: float) -> KeyState:
        """What is known of a claim now."""
        known = self._known.get(claim)
        if known is None or known.until <= now:
            return KeyState.UNKNOWN
        return KeyState.PROVED if known.is_proved else KeyState.WRONG

    def has_room(self, claim: KeyClaim) -> bool:
        """Whether a claim may wait to be checked."""
        if claim in self._waiting:
            return True
        of_host = Counter(each.host for each in self._waiting)[claim.host]
        return len(self._waiting) < MAX_CLAIMS and of_host < MAX_CLAIMS_OF_HOST

    def add(self, claim: KeyClaim, now: float) -> None:
        """Have a claim checked soon, unless it waits already."""
        self._waiting.setdefault(claim, _Check(now))

    def take_due(self, now: float) -> list[KeyClaim]:
        """Claims to check now, at most one of a host; each must be ended by `checked`."""
        busy = {claim.host for claim, check in self._waiting.items() if check.is_running}
        due = []
        for claim, check in self._waiting.items():
            is_rested = now >= self._asked_at.get(claim.host, -self._delay) + self._delay
            if claim.host not in busy and check.at <= now and is_rested:
                check.is_running = True
                busy.add(claim.host)
                self._asked_at[claim.host] = now
                due.append(claim)
        while len(self._asked_at) > MAX_KNOWN:
            self._asked_at.popitem(last=False)
        return due

    def check_again(self, claim: KeyClaim, now: float) -> None:
        """A check was not completed, through a fault on our side."""
        self._waiting[claim] = _Check(now + RETRIES[-1])

    def checked(self, claim: KeyClaim, outcome: FetchOutcome, now: float) -> KeyState:
        """The file was fetched, or not. `UNKNOWN`: it will be fetched again."""
        self._asked_at[claim.host] = now
        state = state_after(outcome, claim.key)
        check = self._waiting.pop(claim, None)
        if state is KeyState.UNKNOWN and check is not None and check.attempts < len(RETRIES):
            self._waiting[claim] = _Check(now + RETRIES[check.attempts], check.attempts + 1)
            return state
        is_proved = state is KeyState.PROVED
        self._known[claim] = _Known(is_proved, now + (PROVED_FOR if is_proved else WRONG_FOR))
        self._known.move_to_end(claim)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return KeyState.PROVED if is_proved else KeyState.WRONG


def state_after(outcome: FetchOutcome, key: str) -> KeyState:
    """The verdict of an answer on a key; `UNKNOWN` if the host could not answer."""
    if isinstance(outcome, Fetched) and outcome.status == 200:
        return KeyState.PROVED if indexnow.holds_key(outcome.body, key) else KeyState.WRONG
    has_failed = isinstance(outcome, Failed) and outcome.reason != "unwanted-type"
    is_error = isinstance(outcome, Fetched) and (outcome.status >= 500 or outcome.status == 429)
    return KeyState.UNKNOWN if has_failed or is_error else KeyState.WRONG
