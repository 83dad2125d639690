"""The example pages of a topic, read from URLs, files and folders.

Example pages are read once, when they are given, and stored as a file of what was learnt (`store.learnt`), so that a
crawl that continues needs neither the files nor the network. The number of that file is a setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from periplus.content import decode_body, read_page
from periplus.engine.clock import SystemClock
from periplus.engine.fetch import RequestTables, SingleRequests, opened_by
from periplus.engine.part import Setup
from periplus.engine.plugins import TOPICS, load_plugin
from periplus.formats.headers import Headers
from periplus.model import Failed, Fetched, ParsedPage, UsageError
from periplus.store import LearntFiles
from periplus.urls import canonical

from .examples import MAX_EXAMPLES, examples_of
from .settings import FocusTables
from .topic import KIND
from .words import words_of

MAX_BYTES: Final = 4 * 2**20
"""Bytes of an example page that are read."""
_PAGES: Final = (".html", ".htm", ".xhtml", ".txt")
"""Names of files in a folder that are read as pages."""
_TYPES: Final = ("text/html", "application/xhtml+xml", "text/plain")


class _Example(NamedTuple):
    words: list[str]
    language: str


def read_examples(setup: Setup) -> dict[str, object]:
    """Read the example pages, if there are some that were not read; the setting that names what was read.

    Raises `ConfigError` if the program of the topic cannot be loaded: before the crawl begins.
    """
    topic = setup.settings.some(FocusTables).topic
    load_plugin(TOPICS, topic.program or None)
    if not topic.like or topic.examples:
        return {}
    positive = list(_examples(topic.like, setup, "--like"))
    negative = list(_examples(topic.unlike, setup, "--unlike")) if topic.unlike else []
    examples = examples_of(
        [each.words for each in positive], [each.words for each in negative], [each.language for each in positive]
    )
    return {"topic.examples": LearntFiles(setup.layout.learnt).write(KIND, examples.encode())}


def _examples(places: Sequence[str], setup: Setup, option: str) -> Iterator[_Example]:
    """The pages at these places. Raises `UsageError` if one cannot be read, or if none has a text."""
    count = 0
    for place in places:
        for page in _pages(place, setup, option):
            words = words_of(f"{page.title}\n{page.main_text or page.text}")
            if words and count < MAX_EXAMPLES:
                count += 1
                yield _Example(words, page.language[:2].lower())
    if not count:
        raise UsageError(f"{option}: no page with a text in {', '.join(places)[:200]}", hint="name pages of the topic")


def _pages(place: str, setup: Setup, option: str) -> Iterator[ParsedPage]:
    if "://" in place:
        yield _fetched(place, setup, option)
        return
    path = Path(place)
    files = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() else []
    if not files:
        raise UsageError(f"{option}: there is no file or folder {place}", hint="a URL begins with https://")
    for file in files:
        if file == path or (file.is_file() and file.suffix.lower() in _PAGES):
            with file.open("rb") as stream:
                body = stream.read(MAX_BYTES)
            mime = "text/plain" if file.suffix.lower() == ".txt" else "text/html"
            yield read_page(body, file.resolve().as_uri(), mime)


def _fetched(place: str, setup: Setup, option: str) -> ParsedPage:
    """Fetch one page, with the rules of the crawl's wire. A person named it: it may be private (`trust.PERSONAL`)."""
    url = canonical(place)
    if url is None:
        raise UsageError(f"{option}: {place} is not a URL that can be fetched", hint="write https://...")
    tables = setup.settings.some(RequestTables)
    opened = opened_by([url], tables.dns.hosts, tables.wire.allow_private)
    tables = replace(tables, wire=replace(tables.wire, allow_private=opened))
    requests = SingleRequests(
        tables.wire,
        identity=setup.identity,
        clock=SystemClock(),
        dns=tables.dns,
        guard=tables.guard,
    )
    outcome = requests.get(url, max_bytes=MAX_BYTES, types=_TYPES)
    if not isinstance(outcome, Fetched) or outcome.status != 200:
        reason = outcome.reason if isinstance(outcome, Failed) else f"status {getattr(outcome, 'status', None)}"
        raise UsageError(f"{option}: {place} cannot be read: {reason}", hint="name another page, or a file")
    headers = Headers(outcome.headers)
    body, _ = decode_body(outcome.body, ",".join(headers.all("content-encoding")), max_size=MAX_BYTES)
    return read_page(body, url, headers.get("content-type") or "text/html")
