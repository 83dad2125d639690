"""Decides whose signature a request has.

Directories of keys are fetched when a request names one that is not known: over https and from public addresses only,
at most 64 KiB and 50 keys, in 3 seconds, one request at a time for each directory. A directory is kept as long as its
server says, a day at most. If it cannot be fetched, it is not asked again for 5 minutes; if it lacks the key of a
request, for one. A directory that was read replaces what was known of its agent; one that failed does not. Who reads a
log, which may name any number of directories, gives a bound of what is fetched.

A verdict is for the site: the client is never told why it was not believed.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from periplus.content import decode_body
from periplus.engine.clock import SystemClock
from periplus.engine.fetch import CrawlerIdentity, RequestTables, ResolverSettings, SingleRequests, WireSettings
from periplus.formats.headers import Headers, fresh_for
from periplus.formats.web_bot_auth import (
    MAX_DIRECTORY_BYTES,
    KeyDirectory,
    PublicKey,
    SignatureClaim,
    SignatureOutcome,
    SignaturePolicy,
    SignatureVerdict,
    SignedMessage,
    judged,
    read_claims,
    read_directory,
)
from periplus.model import Excluded, Fetched, FetchOutcome, Redirected, Url
from periplus.urls import domain_of

FETCH_TIMEOUT: Final = 3.0
"""Seconds for one directory."""
FAILURES_KEPT: Final = 300.0
"""Seconds for which a directory is not asked again that failed..."""
LACKING_KEPT: Final = 60.0
"""...and one that lacked a key."""
LONGEST_KEPT: Final = 86_400.0
SHORTEST_KEPT: Final = 60.0
UNSTATED: Final = 3_600.0
"""Seconds for which a directory is kept: the bounds, and the time where its server says nothing."""
MOST_DIRECTORIES: Final = 1_000
"""Directories that are kept; above it, one that failed is dropped, else the one that was used longest ago."""
MOST_NONCES: Final = 100_000
"""Nonces that are remembered until their signatures expire; above it, the oldest are dropped."""
PENDING: Final = "key-pending"
"""The reason of a verdict that did not wait for a directory, or for which no more are fetched."""
DOMAIN_SHARE: Final = 10
"""The directories of one registered domain, of those that are fetched at most: a tenth. Addresses are one domain."""


class DirectoryAnswer(Struct, frozen=True):
    """What came back for a directory; `failure` is why nothing did."""

    status: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    failure: str = ""


FetchDirectory = Callable[[str], DirectoryAnswer]


class KnownDirectory(Struct):
    """A directory, until when it is used, and when it may be asked for again."""

    directory: KeyDirectory
    until: float
    ask_after: float


class KeyDirectories:
    """Directories by their URL, of which at most `most_fetched` are fetched. Any thread may use it."""

    def __init__(self, fetch: FetchDirectory, policy: SignaturePolicy, most_fetched: int | None = None) -> None:
        self._fetch = fetch
        self._policy = policy
        self._known: dict[str, KnownDirectory] = {}
        self._fetching: set[str] = set()
        self._most = most_fetched
        self._fetched: Counter[str | None] = Counter()
        """By registered domain, if there is a bound."""
        self._changed = threading.Condition()

    def put(self, url: str, answer: DirectoryAnswer, fetched_at: float) -> None:
        """Take a directory that was fetched at some time."""
        message = SignedMessage("GET", url, answer.fields, answer.body, is_response=True)
        if answer.failure:
            read = KeyDirectory(problems=(answer.failure,), failed=answer.failure)
        else:
            read = read_directory(message, answer.status, fetched_at, self._policy)
        with self._changed:
            before = self._known.pop(url, None)
            until = fetched_at + (FAILURES_KEPT if read.failed else _lifetime(answer, fetched_at))
            ask_after = fetched_at + (FAILURES_KEPT if read.failed else LACKING_KEPT)
            if read.failed and before is not None and not before.directory.failed:
                read, until = before.directory, before.until
            self._known[url] = KnownDirectory(read, until, ask_after)
            if len(self._known) > MOST_DIRECTORIES:
                failed = (each for each, known in self._known.items() if known.directory.failed and each != url)
                del self._known[next(failed, None) or next(iter(self._known))]

    def key(self, url: str, keyid: str, now: float, *, at: float, waits: bool) -> PublicKey | str:
        """The key that an agent publishes, or why it cannot be used for a request of the time `at`.

        Without `waits`, nothing is fetched.
        """
        found = self._used(url)
        if found is None or (now >= found.ask_after and (now >= found.until or not _has(found.directory, keyid))):
            if not waits or not self._refresh(url, now):
                return PENDING
            found = self._known.get(url)
        if found is None:
            return "directory-unreachable"
        directory = found.directory
        key = directory.keys.get(keyid) or directory.dated.get(keyid)
        if key is not None:
            return key.date_problem(at, self._policy.skew) or key
        return directory.refused.get(keyid) or directory.failed or "key-unknown"

    def _used(self, url: str) -> KnownDirectory | None:
        """What is known of a directory, which is then the last to be dropped."""
        with self._changed:
            found = self._known.pop(url, None)
            if found is not None:
                self._known[url] = found
        return found

    def _refresh(self, url: str, now: float) -> bool:
        """Fetch a directory, unless enough were; a thread that comes while another does waits for it."""
        with self._changed:
            if url in self._fetching:
                self._changed.wait_for(lambda: url not in self._fetching, 2 * FETCH_TIMEOUT)
                return True
            if not self._is_within_bound(url):
                return False
            self._fetching.add(url)
        try:
            self.put(url, self._fetch(url), now)
        except Exception:  # what cannot be read is not asked for again at once, whatever is wrong with it
            self.put(url, DirectoryAnswer(failure="directory-unreadable"), now)
        finally:
            with self._changed:
                self._fetching.discard(url)
                self._changed.notify_all()
        return True

    def _is_within_bound(self, url: str) -> bool:
        """Whether a directory may be fetched, which is then counted."""
        if self._most is None:
            return True
        domain = domain_of(url)
        if self._fetched.total() >= self._most or self._fetched[domain] >= self._most // DOMAIN_SHARE:
            return False
        self._fetched[domain] += 1
        return True


def _has(directory: KeyDirectory, keyid: str) -> bool:
    return keyid in directory.keys or keyid in directory.refused


def _lifetime(answer: DirectoryAnswer, now: float) -> float:
    stated = fresh_for(Headers(answer.fields), now)
    return UNSTATED if stated is None else min(max(stated, SHORTEST_KEPT), LONGEST_KEPT)


class SignatureVerifier:
    """Decides about requests. With `once`, a nonce is accepted once from each key. Any thread may use it."""

    def __init__(
        self,
        directories: KeyDirectories,
        policy: SignaturePolicy,
        clock: Callable[[], float] = time.time,
        *,
        once: bool = False,
    ) -> None:
        self._directories = directories
        self._policy = policy
        self._clock = clock
        self._nonces: dict[tuple[str, str], float] | None = {} if once else None
        self._lock = threading.Lock()

    def verdict(
        self, request: SignedMessage, *, at: float | None = None, waits: bool = True
    ) -> tuple[SignatureVerdict, Sequence[str]]:
        """The verdict on a request, and the URLs of directories that it did not wait for.

        `at` is the time of the request, if it is not now. Of several signatures each is judged by itself: one that is
        verified identifies the sender, otherwise the first decides. With `once`, all are judged, and a copy of one of
        them makes the request a copy.
        """
        now = self._clock() if at is None else at
        verdicts, pending = [], []
        for claim in read_claims(request, now, self._policy):
            judgement = self._judged(claim, request, now, waits=waits) if isinstance(claim, SignatureClaim) else claim
            if judgement.reason == PENDING and isinstance(claim, SignatureClaim):
                pending.append(claim.keys_url)
            verdicts.append(judgement)
            if judgement.outcome is SignatureOutcome.VERIFIED and self._nonces is None:
                break  # the directories of other signers need not be fetched
        copied = [each for each in verdicts if each.reason == _REPLAYED]
        verified = [each for each in verdicts if each.outcome is SignatureOutcome.VERIFIED]
        return (copied or verified or verdicts)[0], pending

    def learn(self, url: str) -> None:
        """Fetch a directory that a verdict did not wait for."""
        now = self._clock()
        self._directories.key(url, "", now, at=now, waits=True)

    def _judged(self, claim: SignatureClaim, request: SignedMessage, now: float, *, waits: bool) -> SignatureVerdict:
        key = self._directories.key(claim.keys_url, claim.keyid, self._clock(), at=now, waits=waits)
        if isinstance(key, str):
            return claim.invalid(key) if key in _INVALID else claim.unverified(key)
        judgement = judged(claim, key, request)
        is_new = judgement.outcome is not SignatureOutcome.VERIFIED or self._is_new(claim, now)
        return judgement if is_new else claim.invalid(_REPLAYED)

    def _is_new(self, claim: SignatureClaim, now: float) -> bool:
        """Whether the nonce of a right signature was not seen before; one without a nonce is known by its bytes."""
        if self._nonces is None:
            return True
        name = (claim.keyid, claim.nonce or claim.signature.hex())
        with self._lock:
            if self._nonces.get(name, now) > now:
                return False
            self._nonces[name] = claim.expires + self._policy.skew + 1.0
            while len(self._nonces) > MOST_NONCES:
                del self._nonces[next(iter(self._nonces))]
        return True


_REPLAYED: Final = "replayed"
_INVALID: Final = frozenset({"test-key", "private-key"})
"""What makes a key worthless; everything else only says that there is none to check the signature with."""


def fetch_directory(url: str) -> DirectoryAnswer:
    """Fetch a directory from a public address."""
    wire = WireSettings(timeout=FETCH_TIMEOUT, connect_timeout=FETCH_TIMEOUT)
    tables = RequestTables(wire, ResolverSettings(timeout=FETCH_TIMEOUT))
    requests = SingleRequests(
        tables.wire, identity=CrawlerIdentity(), clock=SystemClock(), dns=tables.dns, guard=tables.guard
    )
    return fetch_with(requests, url)


def fetch_with(requests: SingleRequests, url: str) -> DirectoryAnswer:
    """Fetch a directory with requests whose settings bound time and addresses."""
    return _answer(requests.get(Url(url), max_bytes=MAX_DIRECTORY_BYTES + 1, types=("*/*",), max_redirects=0))


def _answer(outcome: FetchOutcome) -> DirectoryAnswer:
    match outcome:
        case Fetched():
            codings = ",".join(Headers(outcome.headers).all("content-encoding"))
            body, _ = decode_body(outcome.body, codings, max_size=MAX_DIRECTORY_BYTES + 1)
            return DirectoryAnswer(outcome.status, outcome.headers, body)
        case Redirected():
            return DirectoryAnswer(outcome.status, outcome.headers)
        case Excluded():
            return DirectoryAnswer(failure="private-address")
    return DirectoryAnswer(failure="directory-unreachable")
