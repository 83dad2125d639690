"""What the answer to a message means: it is done, dropped, or sent again at a later time. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

KEY_RETRY: Final = 3_600.0
"""Seconds after which a message whose key file was not found is sent again: a deployment takes less."""
KEY_ATTEMPTS: Final = 5
"""Attempts with a key file that is not found."""
BUSY_RETRY: Final = 600.0
"""Seconds after the first 429 without a Retry-After; doubled each time."""
FAILED_RETRY: Final = 60.0
"""Seconds after the first failure of a server or of the network; doubled each time."""
LONGEST_RETRY: Final = 21_600.0
"""Seconds between two attempts at most: six hours, so that a repaired receiver is found the same day."""
MOST_ATTEMPTS: Final = 20
"""Attempts after which a message is dropped: about four days."""


class Outcome(Struct, frozen=True):
    """`next_at` is when to send again, `None` if the message is done or dropped. `is_sent`: it was accepted."""

    is_sent: bool
    next_at: float | None
    note: str


def outcome(status: int, retry_after: float | None, attempts: int, now: float, detail: str = "") -> Outcome:
    """What becomes of a message after an answer; status 0 is no answer. `attempts` counts this one."""
    if 200 <= status < 300:
        return Outcome(True, None, f"{status}: accepted, the key is not checked yet" if status == 202 else f"{status}")
    if status in (400, 422):
        return Outcome(False, None, f"{status}: refused, not sent again")
    if status == 403:
        note = f"403: the key was not accepted{detail}"
        return Outcome(False, now + KEY_RETRY if attempts < KEY_ATTEMPTS else None, note)
    note = f"{status}" if status else f"no answer{detail}"
    if attempts >= MOST_ATTEMPTS:
        return Outcome(False, None, f"{note}: dropped after {attempts} attempts")
    if status == 429:
        delay = retry_after if retry_after is not None else _doubled(BUSY_RETRY, attempts)
        return Outcome(False, now + max(delay, 1.0), note)
    return Outcome(False, now + _doubled(FAILED_RETRY, attempts), note)


def _doubled(first: float, attempts: int) -> float:
    return min(first * float(1 << min(attempts - 1, 20)), LONGEST_RETRY)
