"""IndexNow messages: URLs with a valid key are kept for the crawl, URLs with an unknown one until it is checked."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from threading import Lock

from periplus.formats.indexnow import MAX_KEY_FILE, Submission
from periplus.model import Discovery, Source, Url
from periplus.store import Claim
from periplus.urls import canonical

from .answers import Answer, full, too_many
from .counts import Kind, MessageCounts, Result
from .intake import Intake
from .keys import KEY_TYPES, KeyChecks, KeyState
from .limits import SenderLimits

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
        self._counts.add(Kind.INDEXNOW, result, found[0][0].counters if found else None)
        return answer

    def _received(self, submission: Submission, found: Found, address: str) -> tuple[Result, Answer]:
        if (status := submission.refusal) is not None:
            reasons = ", ".join(dict.fromkeys(problem.reason for problem in submission.problems))
            return Result.INVALID, Answer(status, f"This message cannot be used: {reasons or 'no URL'}.")
        if wait := self._limits.wait_for_urls(address, len(submission.urls), time.monotonic()):
            return Result.LIMITED, too_many(wait)
        if not found:
            return Result.OUT_OF_SCOPE, Answer(202, "Received. No collection crawls this host.")
        claim = Claim(submission.host, submission.key, submission.key_location)
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

    def _held(self, claim: Claim, found: Found) -> tuple[Result, Answer]:
        if not all(intake.inbox.hold(claim, discoveries) for intake, discoveries in found):
            return Result.FULL, full()
        with self._lock:
            self._keys.add(claim, time.monotonic())
        return Result.HELD, Answer(202, "Received. The key will be checked.")

    # keys

    def due_claims(self) -> list[Claim]:
        """Claims to give to `check` now, each in a thread."""
        with self._lock:
            return self._keys.take_due(time.monotonic())

    def check(self, claim: Claim) -> None:
        """Fetch the key file of a claim, and release or drop the URLs that wait for it."""
        try:
            self._check(claim)
        except BaseException:
            with self._lock:
                self._keys.check_again(claim, time.monotonic())
            raise

    def _check(self, claim: Claim) -> None:
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
        self._counts.add(Kind.INDEXNOW, Result.RELEASED if is_proved else Result.DROPPED, counters)
