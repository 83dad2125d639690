"""The WebSub subscriber: finds hubs of feeds, keeps subscriptions, answers verifications, and receives messages.

A feed names its hub and itself in the Link field of its answer, which takes precedence, or in its text (`rel=hub`,
`rel=self`; WebSub section 4). A message contains a feed, of which only the URLs, dates and titles are used: the crawl
fetches the pages.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from periplus.collection.collection import CollectionSetup
from periplus.content import decode_body
from periplus.formats import feed, headers, websub
from periplus.formats.websub import LEASE, Intent, SubscriberRequest
from periplus.model import CollectionDamaged, CollectionError, Discovery, Fetched, Hints, Problem, Source, Stored, Url
from periplus.store.durable import write_file
from periplus.store.tables import scan
from periplus.store.warc import read_record
from periplus.urls import canonical

from .intake import Answer, Intake, MessageCounts, MessageKind, Result, SenderLimits, full, too_many

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
    """The subscriptions of a collection, in a file. Any thread may use it; time is an argument.

    A subscription is written before the hub is asked, because the hub may verify it at once. If it does not within
    `VERIFY_WITHIN`, it is asked again; a verified subscription is renewed after `RENEW_AFTER` of its lease. After a
    refusal or a failed request the next hub of the feed is asked, at growing intervals. The callback ends with a random
    token of 128 bits, known only to the hub. The file holds secrets and is readable by its owner alone.
    """

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
        write_file(self._path, msgspec.json.encode(list(self._by_token.values())), mode=0o600)


def _read(path: Path) -> list[Subscription]:
    if not path.exists():
        return []
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Subscription])
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(
            f"{path} is damaged: {error}", hint="delete it: subscriptions are made again from the feeds"
        ) from error


MAX_FEEDS: Final = 2_000
"""Feeds of a collection that are looked at: more than it may have subscriptions, since few name a hub."""
MAX_HUBS: Final = 3
"""Hubs of a feed that are tried."""
_MAX_BLOCK: Final = 16 * 1024 * 1024
_KINDS: Final = ("rss", "atom")
_COLUMNS: Final = ["url", "status", "warc_file", "warc_offset", "warc_length", "digest", "is_revisit"]


def feeds_with_hubs(collection: CollectionSetup) -> Iterator[FeedHubs]:
    """Feeds whose last version in the archive names a hub."""
    for url, stored in _versions(collection, _feed_urls(collection)).items():
        try:
            message = read_record(collection.layout.warc, stored, max_block=_MAX_BLOCK).message()
        except CollectionDamaged:  # the record may lie in a file that the crawl has not finished
            continue
        fields = headers.Headers(message.fields)
        body, _ = decode_body(message.body, fields.get("content-encoding") or "")
        if found := hubs_of(url, body, fields.all("link")):
            yield found


def hubs_of(url: str, body: bytes, links: Sequence[str]) -> FeedHubs | None:
    """The topic and the hubs of a feed that was served at `url` with these Link fields; `None` without a hub."""
    stated = headers.read_links(links, url)
    read = feed.read(body, url)
    hubs = [link.url for link in stated if "hub" in link.rel] or list(read.hubs)
    selves = [link.url for link in stated if "self" in link.rel] or [read.url or url]
    found = tuple(dict.fromkeys(hub for each in hubs if (hub := canonical(each)) is not None))
    return FeedHubs(selves[0], found[:MAX_HUBS]) if found else None


def _feed_urls(collection: CollectionSetup) -> set[str]:
    layout = collection.layout
    found: set[str] = set()
    for batch in scan(layout.tables, "sitemaps", spooled=layout.spooled, columns=["url", "kind"]):
        is_feed = pc.is_in(_plain(batch["kind"]), value_set=pa.array(_KINDS))
        found.update(batch.filter(is_feed)["url"].to_pylist())
        if len(found) >= MAX_FEEDS:
            break
    return found


def _versions(collection: CollectionSetup, urls: set[str]) -> dict[Url, Stored]:
    """The location of the last stored version of each feed."""
    layout = collection.layout
    found: dict[Url, Stored] = {}
    wanted = pa.array(sorted(urls), pa.string())
    for batch in scan(layout.tables, "fetches", spooled=layout.spooled, columns=_COLUMNS) if urls else ():
        is_stored = pc.and_(pc.equal(batch["status"], 200), pc.is_valid(batch["warc_file"]))
        for row in batch.filter(pc.and_(pc.is_in(batch["url"], value_set=wanted), is_stored)).to_pylist():
            if not row["is_revisit"]:
                place = row["warc_file"], row["warc_offset"], row["warc_length"], row["digest"]
                found[Url(row["url"])] = Stored(*place)
    return found


def _plain(column: pa.Array) -> pa.Array:
    """A column of repeated texts as texts."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


log = logging.getLogger("periplus.web")

LOOK_EVERY = 600.0
"""Seconds between two looks for feeds with hubs: the tables are read for it."""
PATH = "/websub/"
"""Where callbacks are, below the public URL."""


class Subscriber:
    """The subscriptions of one collection. `public_url`: where hubs reach this server; empty: nothing is asked for."""

    def __init__(self, intake: Intake, public_url: str) -> None:
        self.intake = intake
        self.subscriptions = Subscriptions(intake.collection.layout.subscriptions)
        self._public_url = public_url.rstrip("/")
        self._look_at = 0.0
        if intake.settings.websub and not public_url:
            log.warning("%s: no hub is asked, as its [receivers] public_url is empty", intake.name)

    @property
    def is_asking(self) -> bool:
        """Whether hubs are asked for messages."""
        return bool(self.intake.settings.websub and self._public_url)

    def is_look_due(self, now: float) -> bool:
        """Whether it is time to look for feeds with hubs (`look`); the next time is `LOOK_EVERY` seconds later."""
        if not self.is_asking or now < self._look_at:
            return False
        self._look_at = now + LOOK_EVERY
        return True

    def look(self) -> None:
        """Plan subscriptions to feeds that name a hub and have none."""
        try:
            self.subscriptions.add(feeds_with_hubs(self.intake.collection), time.time())
        except CollectionError as error:
            log.warning("%s: feeds cannot be read: %s", self.intake.name, error)

    def ask(self, subscription: Subscription) -> bool:
        """Ask a hub for messages, or for more of them. `False`: it refused, or cannot be reached."""
        callback = f"{self._public_url}{PATH}{subscription.token}"
        secret = subscription.secret.encode()
        body = websub.write_request(SubscriberRequest("subscribe", subscription.topic, callback, secret, websub.LEASE))
        outcome = self.intake.requests().post(subscription.hub, body)
        is_accepted = isinstance(outcome, Fetched) and 200 <= outcome.status < 300
        if not is_accepted:
            self.subscriptions.refused(subscription.token, time.time())
            reason = outcome.status if isinstance(outcome, Fetched) else getattr(outcome, "reason", "moved")
            log.info(
                "%s: the hub %s did not accept %s: %s", self.intake.name, subscription.hub, subscription.topic, reason
            )
        return is_accepted


class WebSubReceiver:
    """Answers hubs for all collections. Any thread may use it."""

    def __init__(self, subscribers: Sequence[Subscriber], limits: SenderLimits, counts: MessageCounts) -> None:
        self._subscribers = subscribers
        self._limits = limits
        self._counts = counts

    def verify(self, token: str, intent: Intent | Problem) -> Answer:
        """Answer a hub's question: its challenge for a subscription that we want, else 404."""
        if isinstance(intent, Problem):
            self._counts.add(MessageKind.WEBSUB, Result.INVALID)
            return Answer(400, f"This question cannot be read: {intent.reason}.")
        subscriber = self._of(token)
        if subscriber is None:
            self._counts.add(MessageKind.WEBSUB, Result.UNKNOWN)
            return Answer(404, "There is no such subscription.")
        if subscriber.subscriptions.verify(token, intent, time.time()):
            self._counts.add(MessageKind.WEBSUB, Result.VERIFIED, subscriber.intake.counters)
            return Answer(200, intent.challenge)
        self._counts.add(MessageKind.WEBSUB, Result.REFUSED, subscriber.intake.counters)
        if intent.mode == "denied":
            subscriber.subscriptions.refused(token, time.time())
            return Answer(200, "Understood.")
        return Answer(404, "This was not asked for.")

    def receive(self, token: str, signature: str | None, body: bytes, address: str) -> Answer:
        """Take a message of a hub. A sender without the secret gets 202 like the hub."""
        result, answer = self._received(token, signature, body, address)
        subscriber = self._of(token)
        self._counts.add(MessageKind.WEBSUB, result, None if subscriber is None else subscriber.intake.counters)
        return answer

    def _received(self, token: str, signature: str | None, body: bytes, address: str) -> tuple[Result, Answer]:
        subscriber = self._of(token)
        subscription = None if subscriber is None else subscriber.subscriptions.get(token)
        if subscriber is None or subscription is None:
            return Result.UNKNOWN, Answer(404, "There is no such subscription.")
        if not subscription.is_active(time.time()):
            return Result.UNKNOWN, Answer(410, "This subscription has ended.")
        method = websub.check_signature(
            signature, body, subscription.secret.encode(), accepts_sha1=not subscription.is_strong
        )
        taken = Answer(202, "Received.")
        if isinstance(method, Problem):
            return Result.BAD_SIGNATURE, taken
        if method != "sha1":
            subscriber.subscriptions.signed_strongly(token)
        found = [each for each in discoveries_in(body, subscription.topic) if subscriber.intake.holds(each.url)]
        if not found:
            return Result.OUT_OF_SCOPE, taken
        if wait := self._limits.wait_for_urls(address, len(found), time.monotonic()):
            return Result.LIMITED, too_many(wait)
        if not subscriber.intake.inbox.append(found):
            return Result.FULL, full()
        return Result.ACCEPTED, taken

    def _of(self, token: str) -> Subscriber | None:
        return next((each for each in self._subscribers if each.subscriptions.get(token) is not None), None)


def discoveries_in(body: bytes, topic: str) -> list[Discovery]:
    """The entries of a feed: with a date, signals of a change at that time (`ping`); without one, only discoveries.

    Most entries of a message were in the last one, too, so an entry without a date does not indicate a change. That
    an entry is gone is a change of the page that its id names.
    """
    now, read = time.time(), feed.read(body, topic)
    told = [(item.url, item.lastmod, item.title or None) for item in read.items]
    told += [(gone.ref, gone.at, None) for gone in read.tombstones]
    found: dict[Url, Discovery] = {}
    for written, lastmod, title in told:
        url = canonical(written) if written else None
        if url is not None:
            source = Source.FEED if lastmod is None else Source.PING
            hints = Hints(lastmod=lastmod, title=title)
            found.setdefault(url, Discovery(url, source, now, referrer=canonical(topic), hints=hints))
    return list(found.values())
