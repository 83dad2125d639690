"""The state of the middleware in one process: known pages, pages to compare, and counted visits of crawlers.

It is opened at the first request, so that servers may fork before. Requests read the ledger; one thread compares pages
and writes visits, and reports of changes are written with a connection of their own.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from periplus.content import read_page
from periplus.formats.compression_dictionary import CODING, read_available, write_dcz, write_use_as_dictionary
from periplus.formats.resourcesync import WELL_KNOWN
from periplus.formats.robots import Robots
from periplus.formats.web_bot_auth import (
    SignatureOutcome,
    SignaturePolicy,
    SignatureVerdict,
    SignedMessage,
    needs_cryptography,
)
from periplus.urls import canonical, domain_of
from periplus_sites.agents import Crawler, known_agents
from periplus_sites.identity import IdentityVerdict, LedgerAnswers, read_ranges, signs_for, verdict
from periplus_sites.ledger import Ledger, decode_content, keep_version, version_of

from .. import changes_feed, llms_guide
from ..archives import LIST, RESYNC_FOLDER
from ..dating import content_of, etag_of, raw_digest
from ..files import NotOurs, digest_of, with_block
from ..hook_requests import receive, refusal
from ..hooks import observe
from ..scan import hidden_reason
from ..serving import Answer, Known, OwnFile, accepts, file_answer, not_modified
from ..settings import PublishSettings, SignatureSettings
from ..usage import UsagePolicy

if TYPE_CHECKING:
    from periplus.apps.identity.verifier import SignatureVerifier

MOST_COUNTED: Final = 10_000
"""Different visits that are counted in a minute; more are not."""
MOST_ADDRESSES: Final = 10_000
"""Addresses whose verdicts are remembered; the largest crawlers use a few thousand."""
VISITS_KEPT: Final = 30 * 1_440
"""Minutes for which counted visits are kept."""
LONGEST_PATH: Final = 512
"""Letters of a path that are kept."""
_VERIFIED: Final = {IdentityVerdict.VERIFIED: 1, IdentityVerdict.UNKNOWN: 0, IdentityVerdict.FALSE: -1}
_Key = tuple[int, str, str, int, int]
"""Minute, crawler, path, status, and whether it is verified (1), a false claim (-1) or cannot be checked (0)."""
_SIGNED_VISITS: Final = (
    "create table if not exists signed_visits(minute integer not null, agent_url text not null, keyid text not null,"
    " outcome text not null, reason text not null, hits integer not null,"
    " primary key(minute, agent_url, keyid, outcome, reason)) without rowid"
)


class CrawlerVisits:
    """Crawler visits of one process, counted by minute since they were last written. `ledger` is read by requests.

    Crawlers and the check of their addresses are those of `periplus logs`: published ranges beside the ledger, and DNS
    answers that `periplus logs --refresh` has stored. No request waits for a lookup. Whether a visit was needless is
    decided when it is written, from earlier visits in the ledger, so that it holds across processes.
    """

    def __init__(self, ledger: Ledger, origin: str, clock: Callable[[], float]) -> None:
        self._origin = origin
        self._clock = clock
        self._crawler_of = known_agents().crawler_of
        self._ranges = read_ranges(ledger.path.parent / "ranges")[0]
        self._answers = LedgerAnswers(ledger, clock=clock)
        self._verdicts: dict[tuple[str, str], int] = {}
        self._counts: dict[_Key, list[int]] = {}
        self._signed: dict[tuple[int, str, str, str, str], int] = {}

    def count_signature(self, judged: SignatureVerdict) -> None:
        """Count a signed request. Only a verified one has an agent."""
        key = (int(self._clock() // 60), judged.agent, judged.keyid, judged.outcome.value, judged.reason)
        if key in self._signed or len(self._signed) < MOST_COUNTED:
            self._signed[key] = self._signed.get(key, 0) + 1

    def count(self, agent: str, address: str, path: str, status: int, size: int, signed_by: str = "") -> None:
        """Count an answer, if it went to a crawler. `signed_by` is the agent of a verified signature.

        A crawler is verified by a signature of an agent that `signs_for` it; without one, by its address.
        """
        crawler = self._crawler_of(agent)
        if crawler is None:
            return
        if signed_by and signs_for(signed_by, crawler):
            verified = 1
        else:
            verified = self._verified(crawler, address) if crawler.suffixes or crawler.ranges else 0
        key = (int(self._clock() // 60), crawler.name, path[:LONGEST_PATH], status, verified)
        found = self._counts.get(key)
        if found is not None:
            found[0] += 1
            found[1] += size
        elif len(self._counts) < MOST_COUNTED:
            self._counts[key] = [1, size]

    def _verified(self, crawler: Crawler, address: str) -> int:
        key = (crawler.name, address)
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) >= MOST_ADDRESSES:
                self._verdicts.clear()
            answer = self._answers.answers([address]).get(address)
            found = self._verdicts[key] = _VERIFIED[verdict(crawler, address, self._ranges, answer)]
        return found

    def write(self, ledger: Ledger) -> None:
        """Write what was counted, in the thread that writes; verdicts are made again after that."""
        counts, self._counts = self._counts, {}
        signed, self._signed = self._signed, {}
        self._verdicts = {}
        self._ranges = read_ranges(ledger.path.parent / "ranges")[0]
        if not counts and not signed:
            return
        oldest = int(self._clock() // 60) - VISITS_KEPT
        with ledger.writing() as db:
            if signed:
                db.execute(_SIGNED_VISITS)
                db.executemany(
                    "insert into signed_visits values(?,?,?,?,?,?) on conflict do update set"
                    " hits = hits + excluded.hits",
                    [(*key, hits) for key, hits in sorted(signed.items())],
                )
                db.execute("delete from signed_visits where minute < ?", (oldest,))
            for key, (hits, size) in sorted(counts.items()):
                needless = self._needless(ledger, key, hits) if key[3] == 200 else 0
                db.execute(
                    "insert into visits values(?,?,?,?,?,?,?,?) on conflict do update set hits = hits + excluded.hits,"
                    " bytes = bytes + excluded.bytes, needless = needless + excluded.needless",
                    (*key, hits, size, needless),
                )
            db.execute("delete from visits where minute < ?", (oldest,))

    def _needless(self, ledger: Ledger, key: _Key, hits: int) -> int:
        """How often a page was sent in a minute that had not changed since the last visit of the same crawler.

        What comes from addresses that are not the crawler's is not its visit.
        """
        minute, crawler, path, _, verified = key
        sql = "select coalesce(lastmod, first_seen) from resources where url = ? and gone is null"
        found = ledger.db.execute(sql, (canonical(self._origin + path),)).fetchone()
        if found is None or len(path) >= LONGEST_PATH:
            return 0
        sql = (
            "select max(minute) from visits where agent = ? and path = ? and minute <= ? and verified = ?"
            " and status in (200, 304)"
        )
        (before,) = ledger.db.execute(sql, (crawler, path, minute, verified)).fetchone()
        is_again = before is not None and before * 60 >= found[0]
        return hits if is_again else hits - 1


MOST_KNOWN: Final = 10_000
"""Pages whose rows are kept in memory."""
MOST_WAITING: Final = 64
"""Pages that wait to be compared; more pass by unread: 128 MB at most."""
PERIOD: Final = 60.0
"""Seconds between two writes of counted visits, two looks at the same page, and two messages in the log."""
CLIENT: Final = ":client"
"""The address of the visitor among the headers of a request: no header can have this name."""
SIGNER: Final = ":signer"
"""The agent of a verified signature among them."""
SIGNATURE: Final = "periplus.signature"
"""Where an application finds the verdict on the signature of a request: in the scope of ASGI, the environ of WSGI."""
MOST_DIRECTORIES_ASKED: Final = 16
"""Directories of keys that wait to be fetched; the requests that name more are not verified."""
_log = logging.getLogger("periplus.publish")
Lines = Callable[[Sequence[str], list[str]], list[str]]


def _verifier(settings: SignatureSettings, clock: Callable[[], float]) -> SignatureVerifier | None:
    if not settings.verify:
        return None
    from periplus.apps.identity.verifier import KeyDirectories, SignatureVerifier, fetch_directory  # loads the wire

    policy = SignaturePolicy(max_lifetime=settings.max_lifetime)
    return SignatureVerifier(KeyDirectories(fetch_directory, policy), policy, clock, once=settings.once)


class Live:
    """What the middleware of one process knows and gathers."""

    def __init__(
        self,
        ledger: Path,
        folder: Path,
        base_url: str,
        settings: PublishSettings,
        clock: Callable[[], float],
        lines: Lines,
        rules: Callable[[], Robots | None],
    ) -> None:
        self.settings = settings.serving
        self.clock = clock
        self.base = base_url
        self.has_dictionaries = settings.serving.dictionaries and base_url.startswith("https://")
        self.policy = UsagePolicy.of(settings.usage, base_url)
        self._manages_robots = settings.robots.manage
        self.has_robots = (settings.robots.manage or bool(self.policy)) and urlsplit(base_url).path == "/"
        self._origin = base_url[: len(base_url) - len(urlsplit(base_url).path)]
        self._root = urlsplit(base_url).path
        self._path = ledger
        self._folder = folder
        self._archives = settings.archives.folder
        self._hub = settings.feed.hub
        self._lines = lines
        self._rules = rules
        self._resync = settings.resync.enabled
        self._llms = settings.llms.enabled
        self._token = settings.hooks.token
        self._hook_path = settings.hooks.path if settings.hooks.token else None
        if settings.signatures.verify:
            needs_cryptography()
        self._verifying = settings.signatures
        self._verifier: SignatureVerifier | None = None
        self._pid = 0
        self._complained = -PERIOD
        self._opening = threading.Lock()

    def open(self) -> None:
        """Begin in this process, if that has not happened: a fork begins again, with a ledger of its own."""
        with self._opening:
            if self._pid == os.getpid():
                return
            self._ledger = Ledger(self._path)
            self._version = -1
            self._known: dict[str, Known | None] = {}
            self._own: dict[str, bool] = {}
            self._files: dict[str, tuple[tuple[int, int], OwnFile]] = {}
            self._robots: list[str] | None = None
            self._scanned_at = 0.0
            self._looked: dict[str, float] = {}
            self._visits = CrawlerVisits(self._ledger, self._origin, self.clock)
            self._verifier = _verifier(self._verifying, self.clock)
            self._asked: queue.Queue[str | None] = queue.Queue(MOST_DIRECTORIES_ASKED)
            self._asking: threading.Thread | None = None
            self._kept: dict[str, bytes] = {}
            self._waiting: queue.Queue[Callable[[Ledger], object] | None] = queue.Queue(MOST_WAITING)
            self._thread = threading.Thread(target=self._write, name="periplus-publish", daemon=True)
            self._thread.start()
            atexit.register(self.close)
            self._pid = os.getpid()

    def close(self) -> None:
        """Write what was gathered, and end the thread."""
        if self._pid != os.getpid():
            return
        self._pid = 0
        atexit.unregister(self.close)
        self._waiting.put(None)
        self._thread.join(10.0)
        if self._asking is not None:
            self._asked.put(None)
            self._asking.join(10.0)
        self._ledger.close()

    def is_hook(self, path: str) -> bool:
        """Whether reports of changes are posted to this path."""
        return path == self._hook_path

    def hook_refusal(self, method: str, headers: Mapping[str, str]) -> Answer | None:
        """Why a report is not read; `None` if it may be."""
        return refusal(method, headers, self._token)

    def reported(self, body: bytes) -> Answer:
        """Note what a program reports. With a connection of its own: others read while this one writes."""
        rules = self._rules()
        ledger = Ledger(self._path)
        try:
            return receive(body, ledger, self.base, self.clock(), lambda url: hidden_reason(url, None, rules))
        finally:
            ledger.close()

    def early_answer(self, method: str, path: str, query: str, headers: Mapping[str, str]) -> Answer | None:
        """The answer that the application need not give; `None` if it must be asked. `path` is percent-encoded."""
        if self._pid != os.getpid():
            self.open()
        self._refresh()
        if not query and (is_sealed := self._own.get(path)) is not None:
            file = self._file(path.removeprefix(self._root), is_sealed=is_sealed)
            if file is not None:
                return file_answer(method, headers, file)
        if self.settings.trust_for > 0 and ("if-none-match" in headers or "if-modified-since" in headers):
            known = self.known(path, query)
            if known is not None:
                return not_modified(method, headers, known, self.clock(), self.settings)
        return None

    def signature(
        self, method: str, path: str, query: str, fields: Sequence[tuple[str, str]]
    ) -> SignatureVerdict | None:
        """The verdict on the signature of a request; `None` if signatures are not verified.

        No request waits for keys: if they are not known, they are fetched for those that follow.
        """
        if self._pid != os.getpid():
            self.open()
        if self._verifier is None:
            return None
        host = next((value for name, value in fields if name.lower() == "host"), "")
        url = f"{self._origin}{path}?{query}" if query else self._origin + path
        request = SignedMessage(method, url, tuple(fields), b"" if method in ("GET", "HEAD") else None)
        if host and SignedMessage(method, f"{request.scheme}://{host}").authority != request.authority:
            return SignatureVerdict(SignatureOutcome.UNVERIFIED, "other-host")
        judged, pending = self._verifier.verdict(request, waits=False)
        for directory in pending:
            self._learn(directory)
        if judged.outcome is not SignatureOutcome.UNSIGNED:
            self._visits.count_signature(judged)
        return judged

    def _learn(self, directory: str) -> None:
        """Have a directory of keys fetched, by a thread of its own. Of a registered domain one waits at a time."""
        with self._asked.mutex:
            waiting = list(self._asked.queue)
        domain = domain_of(directory)
        if len(waiting) >= MOST_DIRECTORIES_ASKED or any(each and domain_of(each) == domain for each in waiting):
            return
        if self._asking is None:
            self._asking = threading.Thread(target=self._fetch_directories, name="periplus-keys", daemon=True)
            self._asking.start()
        with suppress(queue.Full):
            self._asked.put_nowait(directory)

    def _fetch_directories(self) -> None:
        while (directory := self._asked.get()) is not None:
            try:
                if self._verifier is not None:
                    self._verifier.learn(directory)
            except Exception as error:  # one directory is not worth the thread
                self.complain(error)

    def known(self, path: str, query: str) -> Known | None:
        """What the ledger knows of a page."""
        key = f"{path}?{query}" if query else path
        try:
            return self._known[key]
        except KeyError:
            pass
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        found = self._known[key] = self._row(key)
        return found

    def wants(self, path: str, query: str) -> bool:
        """Whether to look at the content of this page now."""
        if random.random() >= self.settings.observe:  # noqa: S311 - a sample, not a secret
            return False
        key = f"{path}?{query}" if query else path
        if self.known(path, query) is None and (query or not self.settings.discover):
            return False
        now = time.monotonic()
        if now - self._looked.get(key, -PERIOD) < PERIOD:
            return False
        if len(self._looked) >= MOST_KNOWN:
            self._looked.clear()
        self._looked[key] = now
        return True

    def is_version(self, path: str, query: str, body: bytes, known: Known) -> bool:
        """Whether a page that the application answered with is the version of the ledger."""
        if known.raw == raw_digest(body):
            return True
        url = f"{self._origin}{path}?{query}" if query else self._origin + path
        return etag_of(content_of(read_page(body, url, "text/html"))) == known.etag

    def with_dictionary(
        self, path: str, headers: Mapping[str, str], fields: Sequence[tuple[str, str]], body: bytes
    ) -> tuple[list[tuple[str, str]], bytes]:
        """The head and body of a page for everyone: it is a dictionary, and is coded by the one that the reader has."""
        use, url = write_use_as_dictionary(path), canonical(self._origin + path)
        if use is None or url is None:
            return list(fields), body
        self._keep(url, body)
        varies = [value for name, value in fields if name.lower() == "vary"]
        kept = [(name, value) for name, value in fields if name.lower() not in ("vary", "content-length")]
        kept += [("Use-As-Dictionary", use), ("Vary", ", ".join([*varies, "accept-encoding, available-dictionary"]))]
        offered = read_available(headers.get("available-dictionary", "")) if accepts(headers, CODING) else None
        version = None if offered is None else version_of(self._ledger, url, offered)
        if version is not None and len(coded := write_dcz(body, version)) < len(body):
            kept.append(("Content-Encoding", CODING))
            body = coded
        return [*kept, ("Content-Length", str(len(body)))], body

    def _keep(self, url: str, body: bytes) -> None:
        """Keep a version, in the thread."""
        digest = sha256(body).digest()
        if self._kept.get(url) == digest or self._waiting.full():
            return
        if len(self._kept) >= MOST_KNOWN:
            self._kept.clear()
        self._kept[url] = digest
        self._waiting.put_nowait(partial(keep_version, url=url, digest=digest, body=body))

    def saw(self, path: str, query: str, body: bytes, asked_at: float) -> None:
        """Compare a page that passed by with the ledger, in the thread, if its bytes are not the same.

        It is as old as its request: a scan may have ended while it was on its way.
        """
        known = self.known(path, query)
        if known is not None and known.raw == raw_digest(body):
            return
        url = canonical(f"{self._origin}{path}?{query}" if query else self._origin + path)
        if url is not None and not self._waiting.full():
            adds_new = self.settings.discover
            self._waiting.put_nowait(partial(observe, url=url, body=body, now=asked_at, adds_new=adds_new))

    def count(self, headers: Mapping[str, str], path: str, query: str, status: int, size: int) -> None:
        """Count the answer to a request, if it went to a crawler."""
        if self.settings.count_visits and self._pid == os.getpid():
            key = f"{path}?{query}" if query else path
            agent, address, signer = map(headers.get, ("user-agent", CLIENT, SIGNER))
            self._visits.count(agent or "", address or "", key, status, size, signer or "")

    def robots(self, body: bytes) -> bytes:
        """A robots.txt of the application with our block."""
        if self._robots is None:
            db = self._ledger.db
            kinds = "select name from files where kind in ({}) and dropped_at is null order by {}"
            sitemaps = [name for (name,) in db.execute(kinds.format("'index', 'news'", "name"))]
            archives = [name for (name,) in db.execute(kinds.format("'archive'", "id desc"))]
            self._robots = self._lines(sitemaps, archives) if self._manages_robots else []
        try:
            return with_block(body, self._robots, self.policy)
        except NotOurs:
            return body

    def usage_headers(self, path: str, fields: Mapping[str, str]) -> list[tuple[str, str]]:
        """What the policy states of a page, but for headers that the application has; names in `fields` are lower."""
        if not self.policy:
            return []
        return [each for each in self.policy.headers(path) if each[0] == "Link" or each[0].lower() not in fields]

    def complain(self, error: Exception) -> None:
        """Log a failure of the middleware, at most once a minute."""
        if time.monotonic() - self._complained >= PERIOD:
            self._complained = time.monotonic()
            _log.error("the publisher's middleware failed and let a request pass: %r", error, exc_info=error)

    def _refresh(self) -> None:
        """Forget what is in memory if another connection has written to the ledger."""
        version = self._ledger.db.execute("pragma data_version").fetchone()[0]
        if version == self._version:
            return
        self._scanned_at = float(self._ledger.note("scanned_at") or 0.0)
        self._known = {}
        self._robots = None
        self._own = self._own_paths()
        self._version = version

    def _own_paths(self) -> dict[str, bool]:
        """The paths of the files written by the publisher, and whether they stay as they are."""
        db = self._ledger.db
        root = self._root
        own = {
            f"{root}{self._archives}/{name}" if kind == "archive" else root + name: bool(is_sealed)
            for name, kind, is_sealed in db.execute("select name, kind, is_sealed from files")
        }
        key = self._ledger.note("indexnow_key")
        others = (changes_feed.NAME, f"{self._archives}/{LIST}", *((f"{key}.txt",) if key else ()))
        if self._llms:
            others = (*others, llms_guide.NAME)
        others = (*others, *self.policy.files())
        if self._resync:
            lists = (f"{RESYNC_FOLDER}/{path.name}" for path in (self._folder / RESYNC_FOLDER).glob("*.xml"))
            others = (*others, WELL_KNOWN, *lists)
        return own | {root + name: False for name in others}

    def _file(self, name: str, *, is_sealed: bool) -> OwnFile | None:
        path = self._folder / name
        try:
            about = path.stat()
        except OSError:
            return None
        stamp = (about.st_mtime_ns, about.st_size)
        kept = self._files.get(name)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        body = path.read_bytes()
        link = f'<{self._hub}>; rel="hub", <{self.base}{name}>; rel="self"' if self._hub else ""
        file = OwnFile(name, body, digest_of(body), is_sealed, "" if name.startswith(self._archives) else link)
        if len(self._files) >= 8 or len(body) > 1 << 20:
            self._files.clear()
        if len(body) <= 1 << 20:
            self._files[name] = (stamp, file)
        return file

    def _row(self, key: str) -> Known | None:
        url = canonical(self._origin + key)
        sql = "select content, lastmod, confirmed from resources where url = ? and gone is null and hidden = ''"
        row = self._ledger.db.execute(sql, (url,)).fetchone()
        if row is None:
            return None
        packed, lastmod, confirmed = row
        content = None if packed is None else decode_content(packed)
        etag = "" if content is None else etag_of(content)
        raw = None if content is None else content.raw
        return Known(etag, lastmod, max(confirmed, self._scanned_at), raw)

    def _write(self) -> None:
        """The thread: compare pages, and write visits once a minute."""
        try:
            ledger = Ledger(self._path)
        except Exception as error:  # without the thread pages pass by unread
            self.complain(error)
            return
        next_write = time.monotonic() + PERIOD
        is_open = True
        while is_open:
            try:
                found = self._waiting.get(timeout=max(next_write - time.monotonic(), 0.01))
                if found is None:
                    is_open = False
                else:
                    found(ledger)
            except queue.Empty:
                pass
            except Exception as error:  # one page is not worth the thread
                self.complain(error)
            if not is_open or time.monotonic() >= next_write:
                next_write = time.monotonic() + PERIOD
                try:
                    self._visits.write(ledger)
                except Exception as error:  # counts are lost, the application goes on
                    self.complain(error)
        ledger.close()
