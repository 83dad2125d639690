"""Sends due messages to the receivers of a site, in batches, and records their answers.

`outcome` decides from an answer whether a message is done, dropped, or sent again later. Receivers are those that the
owner of the site has named.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from periplus.bridges.exchange import PushReply, ask
from periplus.formats import indexnow, websub
from periplus.formats.headers.caching import read_retry_after
from periplus_sites.ledger import Ledger

from ..settings import PublishSettings
from .outbox import INDEXNOW, WEBSUB, Message, Target, close, due, targets_of, tidy

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
    """Whether and when a message is sent again after an answer; status 0: no answer. `attempts` counts this one."""
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


_FORM: Final = "application/x-www-form-urlencoded"
_JSON: Final = "application/json; charset=utf-8"


class PushResult(Struct, frozen=True):
    """What was sent to one receiver at once, and its answer. `next_at`: when it is sent again."""

    target: str
    messages: int
    is_sent: bool
    answer: str
    next_at: float | None


def key_of(ledger: Ledger) -> str:
    """The IndexNow key of the site: 32 hexadecimal digits, made once."""
    with ledger.writing():
        key = ledger.note("indexnow_key")
        if key is None:
            key = secrets.token_hex(16)
            ledger.keep_note("indexnow_key", key)
    return str(key)


class Sender:
    """Sends messages of one ledger. `exchange` makes a request."""

    def __init__(
        self,
        ledger: Ledger,
        settings: PublishSettings,
        base_url: str,
        clock: Callable[[], float],
        exchange: Callable[..., PushReply] = ask,
    ) -> None:
        self._ledger = ledger
        self._settings = settings
        self._base = base_url
        self._clock = clock
        self._ask = exchange

    def send(self, *, is_early: bool = False) -> list[PushResult]:
        """Send what is due; with `is_early` also what waits only because of the debounce."""
        push = self._settings.push
        targets = targets_of(self._settings)
        tidy(self._ledger, targets, self._clock(), push.repeat)
        done = []
        for target in targets:
            ahead = push.debounce if is_early else 0.0
            while messages := due(self._ledger, target, self._clock(), push.repeat, indexnow.MAX_URLS, ahead=ahead):
                done.append(self._send(target, messages))
                if done[-1].next_at is not None:
                    break  # the receiver is in trouble: the rest waits for the next time
        return done

    def _send(self, target: Target, messages: Sequence[Message]) -> PushResult:
        reply = self._exchange(target, messages)
        now = self._clock()
        detail = f": {reply.error}" if reply.error else ""
        if reply.status == 403 and target.protocol == INDEXNOW:
            detail = f"; {self._key_problem()}"
        attempts = max(message.attempts for message in messages) + 1
        result = outcome(reply.status, read_retry_after(reply.retry_after, now), attempts, now, detail)
        close(self._ledger, messages, result.note, now, result.next_at)
        return PushResult(target.name, len(messages), result.is_sent, result.note, result.next_at)

    def _exchange(self, target: Target, messages: Sequence[Message]) -> PushReply:
        if target.protocol == WEBSUB:
            return self._ask("POST", target.address, websub.write_publish(messages[0].url), _FORM)
        if target.protocol != INDEXNOW:
            joint = "&" if "?" in target.address else "?"
            return self._ask("GET", f"{target.address}{joint}sitemap={quote(messages[0].url, safe='')}")
        key = key_of(self._ledger)
        host = urlsplit(self._base).netloc
        urls = [message.url for message in messages]
        (body,) = indexnow.write_batches(host, urls, key, f"{self._base}{indexnow.key_file(key).name}")
        return self._ask("POST", target.address, body, _JSON)

    def _key_problem(self) -> str:
        """What is wrong with our key file as the web server answers for it."""
        key = key_of(self._ledger)
        url = f"{self._base}{indexnow.key_file(key).name}"
        reply = self._ask("GET", url)
        if reply.status != 200:
            return f"{url} answers {reply.status or reply.error}"
        if not reply.content_type.startswith("text/plain"):
            return f"{url} is {reply.content_type or 'of no type'}, not text/plain"
        if reply.body.strip() != key.encode():
            return f"{url} does not contain the key"
        return f"{url} is as it should be"
