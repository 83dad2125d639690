"""Keys of IndexNow messages: which are proved, which are wrong, and which are to be checked next.

A key is checked by fetching its file from the host that it speaks for. A proved key is believed for a day, a wrong one
refused for an hour. A host that does not answer is asked again, twice; then the key counts as wrong. A host is asked
by one request at a time, with the politeness delay in between: messages with invented keys must not become a flood
for the host that they name. No I/O here, and time is an argument.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from enum import Enum
from typing import Final

from msgspec import Struct

from periplus.formats import indexnow
from periplus.model import Failed, Fetched, FetchOutcome
from periplus.store import Claim

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
        self._known: OrderedDict[Claim, _Known] = OrderedDict()
        self._waiting: dict[Claim, _Check] = {}
        self._asked_at: OrderedDict[str, float] = OrderedDict()

    def state(self, claim: Claim, now: float) -> KeyState:
        """What is known of a claim now."""
        known = self._known.get(claim)
        if known is None or known.until <= now:
            return KeyState.UNKNOWN
        return KeyState.PROVED if known.is_proved else KeyState.WRONG

    def has_room(self, claim: Claim) -> bool:
        """Whether a claim may wait to be checked."""
        if claim in self._waiting:
            return True
        of_host = Counter(each.host for each in self._waiting)[claim.host]
        return len(self._waiting) < MAX_CLAIMS and of_host < MAX_CLAIMS_OF_HOST

    def add(self, claim: Claim, now: float) -> None:
        """Have a claim checked soon, unless it waits already."""
        self._waiting.setdefault(claim, _Check(now))

    def take_due(self, now: float) -> list[Claim]:
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

    def check_again(self, claim: Claim, now: float) -> None:
        """A check was not completed, through a fault on our side."""
        self._waiting[claim] = _Check(now + RETRIES[-1])

    def checked(self, claim: Claim, outcome: FetchOutcome, now: float) -> KeyState:
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
    """What an answer says of a key; `UNKNOWN` if the host could not answer."""
    if isinstance(outcome, Fetched) and outcome.status == 200:
        return KeyState.PROVED if indexnow.holds_key(outcome.body, key) else KeyState.WRONG
    has_failed = isinstance(outcome, Failed) and outcome.reason != "unwanted-type"
    is_error = isinstance(outcome, Fetched) and (outcome.status >= 500 or outcome.status == 429)
    return KeyState.UNKNOWN if has_failed or is_error else KeyState.WRONG
