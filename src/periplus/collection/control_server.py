"""The socket of a running crawl: it answers the verbs of `control`, each client in a thread of its own.

Nothing here touches the crawl: threads put requests (`engine.sharding.requests`), which the crawl takes between two
steps and turns into inputs of its state machine. A thread that waits costs nothing. A status is made at most once a
second, however many clients ask for it.

The path of a Unix socket is limited to about a hundred bytes. Where the path of a collection is longer, the socket lies
in the folder for temporary files and the collection has a symbolic link to it.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from periplus.engine.frontier import Preview
from periplus.engine.shard import Controls, ShardQuestion, ShardView
from periplus.engine.sharding import ShardedCrawl
from periplus.model import (
    CollectionError,
    Discovery,
    Granularity,
    Hints,
    Lastmod,
    PeriplusError,
    Purpose,
    Source,
    Url,
    UsageError,
)
from periplus.policy.filters.patterns import compiled
from periplus.urls import canonical

from .control import (
    FAR_SOCKETS,
    MAX_LINE,
    MAX_SITES,
    MAX_URLS,
    Allow,
    Discover,
    Exclude,
    LiveStatus,
    Pace,
    Pause,
    Prefer,
    Resume,
    Status,
    Submit,
    Verb,
    Widen,
    place_of,
)
from .progress import Progress
from .progress_text import time_left
from .readable import SOCKET

MAX_CLIENTS = 32
"""Clients at a time: one a web server, a few commands, and receivers."""
MAX_PATH = 100
"""Bytes of a socket's path that every system allows: Linux has 108, macOS 104."""
STATUS_EVERY = 1.0
"""Seconds between two statuses."""
_DONE_WITHIN = 50.0
"""Seconds for the crawl to do what was asked; less than a client waits."""
_BEGUN_WITHIN, _LOOK_AGAIN = 30.0, 0.05
"""Seconds to wait for a crawl that is about to begin, and between two looks for it."""
_SITES_WITHIN = 2.0
"""Seconds to wait for the queues of sites; a status has those of before if they take longer."""

log = logging.getLogger(__name__)
T = TypeVar("T")


class RunningCrawl(Protocol):
    """What the server must know of a run. `controls` are kept there, for the next crawl of the same run."""

    controls: Controls
    progress: Progress
    rates: tuple[float, ...]
    kind: str
    began_at: float

    @property
    def crawl(self) -> ShardedCrawl | None:
        """The crawl that runs now, if it has begun."""

    @property
    def folder(self) -> Path:
        """The collection."""


class ControlServer:
    """Listens in the folder of a collection until it is closed. The caller holds the lock of the collection."""

    def __init__(self, run: RunningCrawl) -> None:
        self._desk = _Desk(run)
        self._path = run.folder / SOCKET
        self._clients = BoundedSemaphore(MAX_CLIENTS)
        self._open: set[socket.socket] = set()
        self._listener = _listening(self._path)
        Thread(target=self._accept, name="periplus-control", daemon=True).start()

    def close(self) -> None:
        """Remove the socket and end all connections."""
        remove_socket(self._path)
        for each in (self._listener, *list(self._open)):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if not self._clients.acquire(blocking=False):
                with suppress(OSError):
                    connection.sendall(_refusal(UsageError("too many clients", hint="close one of them")) + b"\n")
                connection.close()
                continue
            self._open.add(connection)
            Thread(target=self._serve, args=(connection,), name="periplus-control-client", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        read = b""
        try:
            while chunk := connection.recv(65_536):
                read += chunk
                while b"\n" in read:
                    line, _, read = read.partition(b"\n")
                    connection.sendall(self._desk.answer(line) + b"\n")
                if len(read) > MAX_LINE:
                    connection.sendall(_refusal(UsageError(f"a line of more than {MAX_LINE} bytes")) + b"\n")
                    return
        except OSError:
            pass
        finally:
            self._open.discard(connection)
            connection.close()
            self._clients.release()


def _listening(path: Path) -> socket.socket:
    """A socket at this path, or one elsewhere and a link to it. What a killed crawl has left there is removed."""
    remove_socket(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if len(os.fsencode(path)) <= MAX_PATH:
            _bind(listener, path)
        else:
            place = Path(tempfile.mkdtemp(prefix=FAR_SOCKETS)) / SOCKET
            _bind(listener, place)
            path.symlink_to(place)
        listener.listen(MAX_CLIENTS)
    except OSError:
        listener.close()
        raise
    return listener


def _bind(listener: socket.socket, path: Path) -> None:
    """Bind and protect: between the two nothing is accepted yet, as `listen` comes later."""
    listener.bind(str(path))
    path.chmod(0o600)


def remove_socket(path: Path) -> None:
    """Remove the socket at this path, and the target if the path is a symbolic link."""
    with suppress(OSError):
        place = place_of(path)
        if path.is_symlink():
            place.unlink(missing_ok=True)
            place.parent.rmdir()
    path.unlink(missing_ok=True)


def _refusal(error: PeriplusError) -> bytes:
    return msgspec.json.encode({"error": str(error), "hint": error.hint})


class _Desk:
    """Answers requests, of all clients."""

    def __init__(self, run: RunningCrawl) -> None:
        self._run = run
        self._decoder = msgspec.json.Decoder(Verb)
        self._changing = Lock()
        self._looking = Lock()
        self._status = b""
        self._made_at = 0.0
        self._views: list[ShardView] = []

    def answer(self, line: bytes) -> bytes:
        """The line that answers a line."""
        try:
            verb = self._decoder.decode(line)
            if isinstance(verb, Status):
                return self._status_line()
            return msgspec.json.encode({"result": self._do(verb)})
        except msgspec.MsgspecError as error:
            return _refusal(UsageError(f"not a request: {error}", hint="docs/live.md lists the verbs"))
        except PeriplusError as error:
            return _refusal(error)

    def _do(self, verb: Verb) -> dict[str, Any]:
        match verb:
            case Discover():
                return self._discover(verb)
            case Submit(sitemaps=sitemaps):
                return self._take(sitemaps, lambda url: Discovery(url, Source.PING, _now(), purpose=Purpose.SITEMAP))
            case Widen(urls=urls):
                return self._widen(urls)
            case Pause() | Resume():
                return self._change(lambda now: replace(now, is_paused=isinstance(verb, Pause)))
            case Pace(rate=rate):
                return self._pace(rate)
            case Exclude(pattern=pattern, preview=is_preview):
                return self._steer(pattern, lambda now: _excluding(now, pattern), is_preview=is_preview)
            case Prefer(pattern=pattern, preview=is_preview):
                return self._steer(pattern, lambda now: _preferring(now, pattern), is_preview=is_preview)
            case Allow(pattern=pattern):
                return self._change(lambda now: _allowing(now, pattern))
            case _:
                self._crawl.stop()
                return {"is_stopping": True}

    @property
    def _crawl(self) -> ShardedCrawl:
        """The crawl; waits for it, because a run may first compute ranks or apply what is pending in its shards."""
        give_up = time.monotonic() + _BEGUN_WITHIN
        while (crawl := self._run.crawl) is None:
            if time.monotonic() > give_up:
                raise CollectionError("the crawl is just beginning", hint="ask again in a moment")
            time.sleep(_LOOK_AGAIN)
        return crawl

    # URLs

    def _discover(self, verb: Discover) -> dict[str, Any]:
        if verb.dates and len(verb.dates) != len(verb.urls):
            raise UsageError(
                f"{len(verb.dates)} dates for {len(verb.urls)} URLs", hint="give one date for each URL, or none"
            )
        dates = dict(zip(verb.urls, verb.dates, strict=False))

        def found(url: Url, text: str) -> Discovery:
            at = dates.get(text)
            hints = Hints() if at is None else Hints(lastmod=Lastmod(at, Granularity.SECOND))
            return Discovery(url, Source.PING, _now(), hints=hints)

        return self._take_named(verb.urls, found)

    def _take(self, texts: tuple[str, ...], make: Callable[[Url], Discovery]) -> dict[str, Any]:
        return self._take_named(texts, lambda url, _text: make(url))

    def _take_named(self, texts: tuple[str, ...], make: Callable[[Url, str], Discovery]) -> dict[str, Any]:
        """Let the crawl take those that are URLs in its scope, and wait until they are committed."""
        named, invalid = _urls(texts)
        views = _result(self._crawl.ask(ShardQuestion(urls=tuple(named)))) if named else []
        outside = dict.fromkeys(views[0].outside if views else ())
        found = [make(url, text) for url, text in named.items() if url not in outside]
        if found:
            _result(self._crawl.discover(found))
        return {"taken": len(found), "outside": list(outside), "invalid": invalid}

    def _widen(self, texts: tuple[str, ...]) -> dict[str, Any]:
        named, invalid = _urls(texts)
        if named:
            found = [Discovery(url, Source.SEED, _now()) for url in named]
            _result(self._crawl.discover(found, places=tuple(named)))
        return {"taken": len(named), "outside": [], "invalid": invalid}

    # controls

    def _change(self, change: Callable[[Controls], Controls]) -> dict[str, Any]:
        """Change what all shards follow, and wait until they do."""
        with self._changing:
            controls = change(self._run.controls)
            future = self._crawl.control(controls)
            self._run.controls = controls
            self._made_at = 0.0
        _result(future)
        self._made_at = 0.0
        return {"is_paused": controls.is_paused, "rate": controls.rate}

    def _pace(self, rate: float | None) -> dict[str, Any]:
        if self._run.kind == "watch":
            raise UsageError("a watch has no rate", hint="stop it, and give another --budget")
        if rate is not None and not 0.0 <= rate <= 1e6:
            raise UsageError(f"rate must be at least 0, got {rate:g}", hint="requests a second; 0: any number")
        return self._change(lambda now: replace(now, rate=rate))

    def _steer(self, pattern: str, change: Callable[[Controls], Controls], *, is_preview: bool) -> dict[str, Any]:
        compiled(pattern)
        views = _result(self._crawl.ask(ShardQuestion(pattern=pattern)))
        found = sum((view.preview for view in views if view.preview is not None), Preview())
        if not is_preview:
            self._change(change)
        return {"is_preview": is_preview, **msgspec.to_builtins(found)}

    # status

    def _status_line(self) -> bytes:
        with self._looking:
            if not self._status or time.monotonic() >= self._made_at + STATUS_EVERY:
                self._look()
                self._made_at = time.monotonic()
                self._status = msgspec.json.encode({"result": self._live_status()})
            return self._status

    def _look(self) -> None:
        if self._run.crawl is None:
            return
        with suppress(PeriplusError, TimeoutError):
            self._views = self._crawl.ask(ShardQuestion(sites=MAX_SITES)).result(_SITES_WITHIN)

    def _live_status(self) -> LiveStatus:
        run, crawl = self._run, self._run.crawl
        sites = sorted(
            (site for view in self._views for site in view.sites), key=lambda each: (-each.queued, each.site)
        )
        return LiveStatus(
            collection=str(run.folder),
            kind=run.kind,
            pid=os.getpid(),
            since=run.began_at,
            at=_now(),
            is_stopping=crawl is not None and crawl.is_stopping,
            progress=run.progress,
            controls=run.controls,
            excluded=tuple(dict.fromkeys(each for view in self._views for each in view.excluded)),
            preferred=tuple(dict.fromkeys(each for view in self._views for each in view.preferred)),
            sites=tuple(sites[:MAX_SITES]),
            time_left=time_left(run.progress),
            rates=run.rates,
        )


def _urls(texts: tuple[str, ...]) -> tuple[dict[Url, str], list[str]]:
    """Texts as URLs, each once, with what was written; and those that are not URLs."""
    if len(texts) > MAX_URLS:
        raise UsageError(f"{len(texts)} URLs in one request", hint=f"send at most {MAX_URLS} at a time")
    made = [(canonical(text), text) for text in texts]
    return {url: text for url, text in made if url is not None}, [text for url, text in made if url is None]


def _excluding(now: Controls, pattern: str) -> Controls:
    return replace(now, excluded=_with(now.excluded, pattern), allowed=_without(now.allowed, pattern))


def _preferring(now: Controls, pattern: str) -> Controls:
    return replace(now, preferred=_with(now.preferred, pattern), allowed=_without(now.allowed, pattern))


def _allowing(now: Controls, pattern: str) -> Controls:
    return replace(
        now,
        excluded=_without(now.excluded, pattern),
        preferred=_without(now.preferred, pattern),
        allowed=_with(now.allowed, pattern),
    )


def _with(patterns: tuple[str, ...], pattern: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*patterns, pattern)))


def _without(patterns: tuple[str, ...], pattern: str) -> tuple[str, ...]:
    return tuple(each for each in patterns if each != pattern)


def _result(future: Future[T]) -> T:
    try:
        return future.result(_DONE_WITHIN)
    except TimeoutError as error:
        raise CollectionError("the crawl did not answer in time", hint="ask again: it is done at most twice") from error


def _now() -> float:
    return time.time()
