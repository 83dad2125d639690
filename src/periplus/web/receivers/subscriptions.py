"""WebSub subscriptions of a collection: a file of them, and when each is asked for, renewed or given up.

A subscription begins when a feed names a hub. It is written down before the hub is asked, because the hub may verify it
at once. Asked, it waits ten minutes for the hub's question; verified, it is renewed after 80 % of its lease. A hub that
refuses or does not answer is asked again later, less and less often, or the next hub of the feed is. The callback of a
subscription ends with a random token of 128 bits: only the hub knows it.

The file holds secrets and is readable by its owner alone. Time is an argument.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.formats.websub import LEASE, Intent
from periplus.model import CollectionDamaged, Url

MAX_SUBSCRIPTIONS: Final = 1_000
"""Subscriptions of a collection."""
RENEW_AFTER: Final = 0.8
"""Share of a lease after which it is renewed."""
VERIFY_WITHIN: Final = 600.0
"""Seconds for the hub to verify a request; then it is asked again."""
RETRY_AFTER, MAX_RETRY = 3_600.0, 86_400.0
"""Seconds until a hub that refused is asked again: an hour, doubled with each refusal, at most a day."""

_TOKEN_BYTES = 16
_SECRET_BYTES = 32


class FeedHubs(Struct, frozen=True):
    """A feed, by the URL that its publisher names (hubs compare it as a text), and the hubs that it names."""

    topic: str
    hubs: tuple[Url, ...]


class Subscription(Struct, frozen=True):
    """One feed at one hub. `next_at`: when the hub is asked (again). `expires_at`: 0 if it is not active.

    `is_strong`: the hub has signed with more than SHA-1, so that SHA-1 is not accepted any more.
    """

    token: str
    topic: str
    hubs: tuple[Url, ...]
    secret: str
    next_at: float
    expires_at: float = 0.0
    attempts: int = 0
    is_strong: bool = False

    @property
    def hub(self) -> Url:
        """The hub to ask: the next one after each failure."""
        return self.hubs[self.attempts % len(self.hubs)]

    def is_active(self, now: float) -> bool:
        """Whether the hub may send messages."""
        return now < self.expires_at


class Subscriptions:
    """The subscriptions in a file. Any thread may use it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._by_token = {each.token: each for each in _read(path)}

    def add(self, feeds: Iterable[FeedHubs], now: float) -> int:
        """Plan subscriptions to feeds that have none; the number of new ones."""
        with self._lock:
            known = {each.topic for each in self._by_token.values()}
            new = [feed for feed in feeds if feed.hubs and feed.topic not in known]
            new = new[: max(MAX_SUBSCRIPTIONS - len(self._by_token), 0)]
            for feed in new:
                token = secrets.token_hex(_TOKEN_BYTES)
                secret = secrets.token_hex(_SECRET_BYTES)
                self._by_token[token] = Subscription(token, feed.topic, feed.hubs, secret, now)
            if new:
                self._write()
            return len(new)

    def take_due(self, now: float) -> list[Subscription]:
        """Subscriptions to ask for now; each is due again in `VERIFY_WITHIN` if nothing happens."""
        with self._lock:
            due = [each for each in self._by_token.values() if each.next_at <= now]
            for each in due:
                self._by_token[each.token] = replace(each, next_at=now + VERIFY_WITHIN)
            return due

    def refused(self, token: str, now: float) -> None:
        """The hub cannot be reached, or does not want this subscription."""
        with self._lock:
            known = self._by_token.get(token)
            if known is not None:
                wait = min(RETRY_AFTER * 2 ** min(known.attempts, 10), MAX_RETRY)
                self._by_token[token] = replace(known, attempts=known.attempts + 1, next_at=now + wait)
                self._write()

    def verify(self, token: str, intent: Intent, now: float) -> bool:
        """Answer a hub's question: yes for a feed that we want, under its own token, and nothing else."""
        with self._lock:
            known = self._by_token.get(token)
            if known is None or known.topic != intent.topic or intent.mode != "subscribe":
                return False
            lease = intent.lease or LEASE
            self._by_token[token] = replace(
                known, expires_at=now + lease, next_at=now + RENEW_AFTER * lease, attempts=0
            )
            self._write()
            return True

    def get(self, token: str) -> Subscription | None:
        """The subscription of a token."""
        with self._lock:
            return self._by_token.get(token)

    def signed_strongly(self, token: str) -> None:
        """The hub has signed with more than SHA-1."""
        with self._lock:
            known = self._by_token.get(token)
            if known is not None and not known.is_strong:
                self._by_token[token] = replace(known, is_strong=True)
                self._write()

    def all(self) -> list[Subscription]:
        """All subscriptions, in the order in which they were found."""
        with self._lock:
            return list(self._by_token.values())

    def _write(self) -> None:
        """Replace the file: whole or not at all, and on the disk when this returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_name(self._path.name + ".new")
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(msgspec.json.encode(list(self._by_token.values())))
            opened.flush()
            os.fsync(opened.fileno())
        draft.replace(self._path)


def _read(path: Path) -> list[Subscription]:
    if not path.exists():
        return []
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Subscription])
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(
            f"{path} is damaged: {error}", hint="delete it: subscriptions are made again from the feeds"
        ) from error
