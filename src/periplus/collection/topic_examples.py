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
from periplus.engine.fetch import SingleRequests, opened_by
from periplus.formats.headers import Headers
from periplus.model import Failed, Fetched, ParsedPage, UsageError
from periplus.parts.focus.examples import MAX_EXAMPLES, examples_of
from periplus.parts.focus.words import words_of
from periplus.store import LearntFiles
from periplus.urls import canonical

from .collection import CollectionSetup
from .config.settings import Config
from .parts import KIND, TOPICS, load_part

MAX_BYTES: Final = 4 * 2**20
"""Bytes of an example page that are read."""
_PAGES: Final = (".html", ".htm", ".xhtml", ".txt")
"""Names of files in a folder that are read as pages."""
_TYPES: Final = ("text/html", "application/xhtml+xml", "text/plain")


class _Example(NamedTuple):
    words: list[str]
    language: str


def with_examples(collection: CollectionSetup) -> CollectionSetup:
    """A collection whose example pages were read, if it has some that were not. Its folder is held by the caller.

    Raises `ConfigError` if the program of its topic cannot be loaded: before the crawl begins.
    """
    topic = collection.config.topic
    load_part(TOPICS, topic.program or None)
    if not topic.like or topic.examples:
        return collection
    positive = list(_examples(topic.like, collection.config, "--like"))
    negative = list(_examples(topic.unlike, collection.config, "--unlike")) if topic.unlike else []
    examples = examples_of(
        [each.words for each in positive], [each.words for each in negative], [each.language for each in positive]
    )
    number = LearntFiles(collection.layout.learnt).write(KIND, examples.encode())
    return replace(collection, config=collection.config.with_options({"topic.examples": number}))


def _examples(places: Sequence[str], config: Config, option: str) -> Iterator[_Example]:
    """The pages at these places. Raises `UsageError` if one cannot be read, or if none has a text."""
    count = 0
    for place in places:
        for page in _pages(place, config, option):
            words = words_of(f"{page.title}\n{page.main_text or page.text}")
            if words and count < MAX_EXAMPLES:
                count += 1
                yield _Example(words, page.language[:2].lower())
    if not count:
        raise UsageError(f"{option}: no page with a text in {', '.join(places)[:200]}", hint="name pages of the topic")


def _pages(place: str, config: Config, option: str) -> Iterator[ParsedPage]:
    if "://" in place:
        yield _fetched(place, config, option)
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


def _fetched(place: str, config: Config, option: str) -> ParsedPage:
    """Fetch one page, with the rules of the crawl's wire. A person named it: it may be private (`trust.PERSONAL`)."""
    url = canonical(place)
    if url is None:
        raise UsageError(f"{option}: {place} is not a URL that can be fetched", hint="write https://...")
    opened = opened_by([url], config.dns.hosts, config.wire.allow_private)
    config = config.with_options({"wire.allow_private": opened})
    requests = SingleRequests(
        config.wire, identity=config.identity, clock=SystemClock(), dns=config.dns, guard=config.address_guard()
    )
    outcome = requests.get(url, max_bytes=MAX_BYTES, types=_TYPES)
    if not isinstance(outcome, Fetched) or outcome.status != 200:
        reason = outcome.reason if isinstance(outcome, Failed) else f"status {getattr(outcome, 'status', None)}"
        raise UsageError(f"{option}: {place} cannot be read: {reason}", hint="name another page, or a file")
    headers = Headers(outcome.headers)
    body, _ = decode_body(outcome.body, ",".join(headers.all("content-encoding")), max_size=MAX_BYTES)
    return read_page(body, url, headers.get("content-type") or "text/html")
