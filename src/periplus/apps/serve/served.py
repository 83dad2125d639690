"""What is served: collections by name, and the settings of the server.

A collection is opened when it is first used, and read only: a crawl may be writing it. Search indexes are kept open and
lent to one request at a time.

Of the file of tokens the first line is the token of operators, the second, if there is one, that of viewers.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from msgspec import Struct

from periplus.apps.search.indexing import current_generation, open_index
from periplus.apps.search.query_log import QueryLog
from periplus.collection.collection import CollectionSetup, existing
from periplus.insight.query_pool import QueryPool
from periplus.model import UsageError

from .connections import network_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from periplus.apps.search import Index
    from periplus.insight.views import Views

_NEW_TOKEN = 24
"""Random bytes of a token that is made: 32 characters."""
_MAX_FILE = 10_000
"""Bytes of a file of tokens."""


class Tokens(Struct, frozen=True):
    """The tokens of a server; `is_new` if they were made now."""

    operator: str = ""
    viewer: str = ""
    is_new: bool = False


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file. If it does not exist, it is made with a random token, readable by its owner only."""
    try:
        if not path.exists():
            return _made(path)
        with path.open(encoding="utf-8") as file:
            lines = file.read(_MAX_FILE).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "not in UTF-8"
        raise UsageError(f"{path}: {what}", hint="Give a file with a token, or one that does not exist yet.") from error
    tokens = [line.strip() for line in lines if line.strip()]
    if not tokens:
        raise UsageError(f"{path} has no token", hint="Delete the file: --token-file then makes one.")
    return Tokens(tokens[0], tokens[1] if len(tokens) > 1 else "")


def _made(path: Path) -> Tokens:
    token = secrets.token_urlsafe(_NEW_TOKEN)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{token}\n")
    return Tokens(token, is_new=True)


T = TypeVar("T")

DEFAULT_PORT = 8600
MIN_TOKEN = 16
"""Bytes of a token: 128 bits if they are random, which cannot be guessed."""
_OPEN_INDEXES = 4
"""Indexes of one collection that stay open between requests; more are opened while more requests search at once."""
MAX_AT_ONCE = 4
"""Requests of one address that are worked on in threads at once. The server has 40 threads."""
_REMEMBERED_FOR = 60.0
"""Seconds for which facts are kept that take a walk over a whole table or index."""
_MAX_REMEMBERED = 256
"""Facts of one collection that are kept."""


class ServeSettings(Struct, frozen=True, kw_only=True):
    """How the server listens, and who may see what."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    """0: any free port."""
    token: str = ""
    """The token of operators; empty: every request is an operator's, which needs a loopback address."""
    viewer_token: str = ""
    """The token of viewers, who read everything and change nothing; empty: there are none."""
    public_search: bool = False
    """Whether search needs no token."""
    public_url: str = ""
    """The address behind a reverse proxy, such as https://search.example.org; empty: no proxy."""
    receive: bool = False
    """Whether messages of sites are received for every collection; else for those with that setting."""
    max_body: int = 1_000_000
    """Bytes of a request body."""
    timeout: float = 30.0
    """Seconds for the body of a request to arrive, for an answer to begin, and for a client that does not read."""
    header_timeout: float = 5.0
    """Seconds for the header of a request to arrive."""
    max_connections: int = 250
    """Connections at once, 100 of them for live pages. Those that wait for a request make room; else 503."""
    max_connections_per_address: int = 64
    """Connections of one address at once: ten browsers. With `public_url` the proxy on this machine is not limited."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        """Raise `UsageError` if this would let strangers in."""
        for name, token in (("token", self.token), ("viewer token", self.viewer_token)):
            if token and len(token.encode()) < MIN_TOKEN:
                raise UsageError(
                    f"the {name} has {len(token.encode())} bytes; at least {MIN_TOKEN} are needed",
                    hint="Give a file that does not exist yet: --token-file FILE writes a random one.",
                )
        if self.viewer_token and self.viewer_token == self.token:
            raise UsageError("the viewer token is the token of operators", hint="Give viewers another one.")
        if not self.token and (self.public_url or not self.is_loopback):
            raise UsageError(
                f"{self.public_url or self.host} can be reached from other machines and needs a token",
                hint="Add --token-file FILE; if the file does not exist, a token is written to it.",
            )


class ServedCollection:
    """One collection: its folder, settings and index."""

    def __init__(self, name: str, folder: Path, queries: QueryPool | None = None) -> None:
        self.name = name
        self.folder = folder
        self.queries = queries or QueryPool()
        """Runs queries that we did not write."""
        self._lock = threading.Lock()
        self._found: CollectionSetup | None = None
        self._found_at = 0.0
        self._idle: list[tuple[int, Index]] = []
        self._remembered: dict[Hashable, tuple[float, object]] = {}
        self._query_log = QueryLog(folder)

    @property
    def query_log(self) -> QueryLog | None:
        """The log of queries, if the settings want one."""
        return self._query_log if self.collection.config.serve.query_log else None

    @property
    def collection(self) -> CollectionSetup:
        """The collection with its settings, read again when its `periplus.toml` changes."""
        changed_at = (self.folder / "periplus.toml").stat().st_mtime
        with self._lock:
            if self._found is None or changed_at != self._found_at:
                self._found, self._found_at = existing(self.folder), changed_at
            return self._found

    @property
    def has_index(self) -> bool:
        """Whether `periplus index` has been run."""
        return current_generation(self.collection.layout) is not None

    @property
    def shows_copies(self) -> bool:
        """Whether stored copies of pages may be shown."""
        return self.collection.config.search.cached

    @property
    def origins(self) -> tuple[str, ...]:
        """Sites whose scripts may search it."""
        return self.collection.config.serve.origins

    def languages(self) -> list[str]:
        """The languages of the index, the most frequent first, as of at most a minute ago."""

        def counted() -> list[str]:
            with self.index() as index:
                return [language for language, _ in index.languages()]

        return self.remembered("languages", counted)

    def sites(self) -> list[str]:
        """The sites of the index, the largest first, as of at most a minute ago."""

        def counted() -> list[str]:
            with self.index() as index:
                return [site for site, _ in index.site_sizes()]

        return self.remembered("sites", counted)

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned for this key within the last minute; else it is called."""
        now = time.monotonic()
        with self._lock:
            kept = self._remembered.get(key)
        if kept is not None and now < kept[0]:
            return cast("T", kept[1])
        made = make()
        with self._lock:
            self._remembered[key] = (now + _REMEMBERED_FOR, made)
            while len(self._remembered) > _MAX_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
        return made

    @contextmanager
    def index(self) -> Iterator[Index]:
        """Lend the search index to one request. Raises `UsageError` if there is none."""
        index, number = self._borrowed()
        try:
            yield index
        except BaseException:
            index.close()
            raise
        with self._lock:
            if len(self._idle) < _OPEN_INDEXES:
                self._idle.append((number, index))
                return
        index.close()

    def _borrowed(self) -> tuple[Index, int]:
        """An idle index, or a new one; indexes of earlier generations are closed."""
        found = self.collection
        folder = current_generation(found.layout)
        number = 0 if folder is None else folder.stat().st_ino
        with self._lock:
            stale = [index for each, index in self._idle if each != number]
            self._idle = [(each, index) for each, index in self._idle if each == number]
            idle = self._idle.pop() if self._idle else None
        for index in stale:
            index.close()
        return (idle[1] if idle is not None else open_index(found)), number

    def views(self) -> Views:
        """The tables and views of the collection in SQL, for queries of our own; a context manager."""
        from periplus.insight.views import Views  # loads DuckDB, which takes a moment

        return Views(self.folder, spooled=self.collection.layout.spooled)

    def close(self) -> None:
        """Close idle indexes, and write the queries that wait."""
        self._query_log.flush()
        with self._lock:
            idle, self._idle = self._idle, []
        for _, index in idle:
            index.close()


class Addition(Protocol):
    """Routes that another room adds to the server, as the modules of this one do."""

    def routes(self) -> list[Any]:
        """The routes."""

    def lifespan(self, served: Served) -> AbstractAsyncContextManager[None]:
        """What is open while the server runs."""


class Served:
    """The collections and settings of one server. `stopping` is set when it begins to stop."""

    def __init__(
        self, folders: Sequence[Path], settings: ServeSettings | None = None, additions: Sequence[Addition] = ()
    ) -> None:
        self.settings = settings or ServeSettings()
        self.additions = tuple(additions)
        self.settings.check()
        if not folders:
            raise UsageError("no collection to serve", hint="Give the folder of a collection: periplus serve DIR")
        self.stopping = threading.Event()
        self.queries = QueryPool(self.stopping.is_set)
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self.collections: dict[str, ServedCollection] = {}
        for folder in folders:
            existing(folder)
            name = _free_name(folder, self.collections)
            self.collections[name] = ServedCollection(name, folder, self.queries)

    @property
    def first(self) -> ServedCollection:
        """The collection that is meant where none is named."""
        return next(iter(self.collections.values()))

    def turns_of(self, host: str) -> asyncio.Semaphore:
        """The turns of a client, whose requests beyond `MAX_AT_ONCE` wait for each other."""
        address = network_of(host)
        turns = self._turns.get(address)
        if turns is None:
            turns = self._turns[address] = asyncio.Semaphore(MAX_AT_ONCE)
        return turns

    def close(self) -> None:
        """Close every collection, and end the processes for queries."""
        self.queries.close()
        for collection in self.collections.values():
            collection.close()


def served_with(
    folders: Sequence[Path],
    *,
    host: str,
    port: int,
    token_file: Path | None,
    public_search: bool,
    public_url: str,
    receive: bool = False,
    additions: Sequence[Addition] = (),
) -> tuple[Served, bool]:
    """What options of the command line ask for, and whether a token was made now."""
    for folder in folders:  # before a token is made: a wrong folder must leave nothing behind
        existing(folder)
    tokens = Tokens() if token_file is None else read_tokens(token_file)
    settings = ServeSettings(
        host=host,
        port=port,
        token=tokens.operator,
        viewer_token=tokens.viewer,
        public_search=public_search,
        public_url=public_url,
        receive=receive,
    )
    return Served(folders, settings, additions), tokens.is_new


def served_of(request: Request) -> Served:
    """What the server of a request serves."""
    served: Served = request.app.state.served
    return served


def chosen_collection(request: Request) -> ServedCollection:
    """The collection that a request names with `?collection=`, by default the first; 404 if there is none."""
    from starlette.exceptions import HTTPException

    served = served_of(request)
    name = request.query_params.get("collection", "")
    if not name:
        return served.first
    if name not in served.collections:
        raise HTTPException(404, "There is no collection of this name.")
    return served.collections[name]


def _free_name(folder: Path, taken: dict[str, ServedCollection]) -> str:
    """The name of the folder, with a number if another collection has it."""
    name = folder.resolve().name or "collection"
    number = 2
    while name in taken:
        name = f"{folder.resolve().name}-{number}"
        number += 1
    return name
