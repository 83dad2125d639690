"""A collection of a scripted web, served with receivers, and requests to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from periplus.apps.serve.receivers import MessageKind, Receivers, Result, receivers_of
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.collection.collection import CollectionSetup
from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.store import MessageInbox

KEY = "0123456789abcdef"
TOKEN = "a token of the operator"
PATIENCE = 300.0
"""Seconds to wait for what happens in the background; on a machine with nothing else to do, a fraction of one."""


class Reply(NamedTuple):
    """An answer of the server."""

    status: int
    body: bytes
    headers: dict[str, str]


class Running(msgspec.Struct, frozen=True):
    """A server that runs."""

    url: str
    served: Served

    @property
    def receivers(self) -> Receivers:
        return receivers_of(self.served)

    def count(self, kind: MessageKind, result: Result) -> int:
        return self.receivers.counts[kind, result]

    def ask(self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, **headers: str) -> Reply:
        """Send a request; underscores in the names of header fields are dashes."""
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
        try:
            fields = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, answer.read(), found)
        finally:
            connection.close()

    def get(self, path: str) -> Reply:
        return self.ask("GET", path)


def collection(folder: Path, seeds: list[str], options: dict[str, object]) -> CollectionSetup:
    """A collection on disk that nothing was crawled into yet."""
    config = Config().with_options({"crawl.workers": 1} | options)
    made = CollectionSetup(folder, config, seeds_from(seeds), is_new=True)
    made.save()
    return made


def crawled(made: CollectionSetup) -> None:
    """Crawl a collection to the end."""
    open_crawl(made.config, made.folder, made.seeds, 1).run()
    settle(made.folder)


@contextmanager
def serving(*folders: Path, **settings: object) -> Iterator[Running]:
    """A server of these collections on any port; it receives unless told otherwise."""
    chosen = msgspec.convert({"port": 0, "receive": True} | settings, ServeSettings)
    served = Served(list(folders), chosen)
    with running(served) as url:
        yield Running(url, served)


def waiting(made: CollectionSetup) -> list[str]:
    """The URLs in the inbox that wait for the crawl."""
    inbox = MessageInbox(made.layout.inbox)
    pushed = inbox.peek(100_000)
    inbox.close()
    return [] if pushed is None else [each.url for each in pushed.discoveries]


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    ends = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)
