"""Sends what is due to the receivers of a site, grouped, and notes their answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from periplus.formats import indexnow, websub
from periplus.formats.headers.caching import read_retry_after
from periplus.publish.ledger import Ledger
from periplus.publish.settings import PublishSettings

from .answers import outcome
from .http_client import Reply, ask
from .outbox import INDEXNOW, WEBSUB, Message, Target, close, due, targets_of, tidy

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
        exchange: Callable[..., Reply] = ask,
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

    def _exchange(self, target: Target, messages: Sequence[Message]) -> Reply:
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
