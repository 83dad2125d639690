"""How another program controls a running crawl: a Unix socket in its collection, one JSON object a line.

    with ControlClient(folder) as crawl:
        crawl.ask("status")["progress"]["tally"]["pages"]
        crawl.ask("discover", urls=["https://example.org/new"])

Every request has a `verb`; the answer is `{"result": {...}}` or `{"error": "...", "hint": "..."}`, and answers come in
the order of the requests. Only the user who runs the crawl may open the socket (mode 0600). `control_server` is the
other end.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Struct

from periplus.engine.overview import SiteNow
from periplus.engine.shard import Controls
from periplus.model import CollectionError, UsageError

from .progress import Progress
from .readable import SOCKET

MAX_LINE = 8 * 1024 * 1024
"""Bytes of a request or an answer: a status has about 20 KB, and 10,000 URLs of 800 bytes fit."""
MAX_URLS = 10_000
"""URLs in one request: as many as one IndexNow message may have."""
MAX_SITES = 50
"""Sites in a status: more than one screen."""
_ANSWER_WITHIN = 60.0
"""Seconds to wait for an answer: a crawl that recovers from a crash answers late."""


class LiveStatus(Struct, frozen=True):
    """A running crawl at a moment (`at`, POSIX time); it is made at most once a second.

    `kind` is `crawl`, `watch` or `refresh`; `pid` the process that runs it; `since` when it began. `controls` are those
    of this run; `excluded` and `preferred` the patterns that hold. `sites` are those with the longest queues;
    `time_left` is the time left in words. `rates` are pages a second in each of the last 300 seconds.
    """

    collection: str
    kind: str
    pid: int
    since: float
    at: float
    is_stopping: bool
    progress: Progress
    controls: Controls = Controls()
    excluded: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    sites: tuple[SiteNow, ...] = ()
    time_left: str = ""
    rates: tuple[float, ...] = ()


class Status(Struct, frozen=True, tag_field="verb", tag="status", forbid_unknown_fields=True):
    """Return a `LiveStatus`."""


class Discover(Struct, frozen=True, tag_field="verb", tag="discover", forbid_unknown_fields=True):
    """Take URLs that were pinged. `dates` are POSIX times of their last change, one for each URL or `null`.

    The answer comes when the URLs are committed: `taken` is their number, `outside` lists those outside the scope and
    `invalid` those that are not URLs; neither is fetched. robots.txt and filters are applied to the others as always.
    """

    urls: tuple[str, ...]
    dates: tuple[float | None, ...] = ()


class Submit(Struct, frozen=True, tag_field="verb", tag="submit", forbid_unknown_fields=True):
    """Fetch sitemaps or feeds soon, also if they were fetched before. The answer is that of `discover`."""

    sitemaps: tuple[str, ...]


class Widen(Struct, frozen=True, tag_field="verb", tag="widen", forbid_unknown_fields=True):
    """Take the places of these URLs into the scope, for good, and fetch the URLs as if they were seeds."""

    urls: tuple[str, ...]


class Pause(Struct, frozen=True, tag_field="verb", tag="pause", forbid_unknown_fields=True):
    """Begin no request until `resume`; requests under way end. It holds until the crawl ends."""


class Resume(Struct, frozen=True, tag_field="verb", tag="resume", forbid_unknown_fields=True):
    """Go on after `pause`."""


class Pace(Struct, frozen=True, tag_field="verb", tag="pace", forbid_unknown_fields=True):
    """Start at most `rate` requests a second, over all sites; 0: any number, `null`: as the settings say.

    The delay between requests to one host stays. A watch has a budget of visits instead and refuses this.
    """

    rate: float | None = None


class Exclude(Struct, frozen=True, tag_field="verb", tag="exclude", forbid_unknown_fields=True):
    """Refuse URLs that match a pattern from now on, also those that wait, until `allow`.

    The answer says how many waiting URLs match, and lists the first. With `preview` nothing is changed.
    """

    pattern: str
    preview: bool = False


class Prefer(Struct, frozen=True, tag_field="verb", tag="prefer", forbid_unknown_fields=True):
    """Fetch URLs that match a pattern before the other URLs of their sites. The answer is that of `exclude`."""

    pattern: str
    preview: bool = False


class Allow(Struct, frozen=True, tag_field="verb", tag="allow", forbid_unknown_fields=True):
    """Drop a pattern that was excluded or preferred. URLs that were refused meanwhile stay refused."""

    pattern: str


class Stop(Struct, frozen=True, tag_field="verb", tag="stop", forbid_unknown_fields=True):
    """End the crawl as one Ctrl-C does: requests under way end, everything is kept."""


Verb = Status | Discover | Submit | Widen | Pause | Resume | Pace | Exclude | Prefer | Allow | Stop


class NoCrawlRuns(UsageError):  # noqa: N818 - it is what is the case
    """No crawl of this collection runs, or it has no socket."""


class CrawlRefused(CollectionError):  # noqa: N818 - it is what is the case
    """The crawl refused a request; the message and the hint are its own."""


class ControlClient:
    """A connection to the crawl that runs in a folder. One thread may use it at a time.

    `ask(verb, **arguments)` returns the result as a dict: the verbs and their arguments are the structs above. It
    raises `NoCrawlRuns` if no crawl runs there, and `CrawlRefused`, with the crawl's own message, if it refuses.
    After `discover` and `submit` have returned, a crawl that is killed still knows the URLs.

        ControlClient(folder).ask("discover", urls=[...], dates=[1767225600.0, None])
        ControlClient(folder).ask("submit", sitemaps=["https://example.org/sitemap.xml"])
    """

    def __init__(self, folder: Path, timeout: float = _ANSWER_WITHIN) -> None:
        self._folder = folder
        self._timeout = timeout
        self._connection: socket.socket | None = None
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next `ask` opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._read = None, b""

    def ask(self, verb: str, **arguments: object) -> dict[str, Any]:
        """Ask the crawl, and wait for its answer."""
        line = self.ask_raw(msgspec.json.encode({"verb": verb, **arguments}))
        answer = msgspec.json.decode(line, type=dict[str, Any])
        if "result" not in answer:
            raise CrawlRefused(str(answer.get("error", "no answer")), hint=str(answer.get("hint", "")))
        return dict(answer["result"])

    def discover(self, urls: Sequence[str], dates: Sequence[float | None] = ()) -> dict[str, Any]:
        """`discover` for any number of URLs, a few thousand at a time; the sums of the answers."""
        result: dict[str, Any] = {"taken": 0, "outside": [], "invalid": []}
        for start in range(0, len(urls), MAX_URLS):
            part = slice(start, start + MAX_URLS)
            answer = self.ask("discover", urls=list(urls[part]), dates=list(dates[part]))
            result = {name: result[name] + answer[name] for name in result}
        return result

    def ask_raw(self, request: bytes) -> bytes:
        """Send a line of JSON and return the line that answers it."""
        if len(request) >= MAX_LINE:
            raise UsageError(f"a request of {len(request)} bytes", hint=f"at most {MAX_LINE}: ask for less at a time")
        try:
            connection = self._connected()
            connection.sendall(request + b"\n")
            return self._line(connection)
        except (OSError, EOFError) as error:
            self.close()
            is_absent = (
                isinstance(error, FileNotFoundError | ConnectionRefusedError) or not (self._folder / SOCKET).exists()
            )
            problem = (
                f"no crawl of {self._folder} is running"
                if is_absent
                else f"the crawl of {self._folder} does not answer"
            )
            raise NoCrawlRuns(problem, hint=f"periplus info {self._folder} reads its files") from error

    def _connected(self) -> socket.socket:
        if self._connection is None:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(self._timeout)
            try:
                connection.connect(str(place_of(self._folder / SOCKET)))
            except OSError:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _line(self, connection: socket.socket) -> bytes:
        while b"\n" not in self._read:
            chunk = connection.recv(65_536)
            if not chunk or len(self._read) > MAX_LINE:
                raise EOFError
            self._read += chunk
        line, _, self._read = self._read.partition(b"\n")
        return line


FAR_SOCKETS = "periplus-"
"""How the folders begin that have the sockets of collections with long paths."""


def place_of(path: Path) -> Path:
    """Where the socket of a collection is. A link leads to one of this user's crawls, or counts as absent.

    The folder may come from somebody else: a link to the socket of another program is not followed.
    """
    place = Path(os.path.realpath(path))
    if path.is_symlink():
        is_ours = place.name == SOCKET and place.parent.name.startswith(FAR_SOCKETS)
        if not is_ours or place.stat().st_uid != os.getuid():
            raise FileNotFoundError(path)
    return place


def is_running(folder: Path) -> bool:
    """Whether a crawl of this folder answers on its socket."""
    try:
        with ControlClient(folder, timeout=5.0) as client:
            client._connected()
    except OSError:
        return False
    return True
