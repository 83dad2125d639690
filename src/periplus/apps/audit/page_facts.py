"""One pass over the stored pages of a site: the places of all page checks, and what the queries over all pages need.

The tables of a collection only count what pages embed, so the pages are read again from the WARC files, each once, by
a pass that lists tags alone (`content.read_tags`). Rows go to Arrow in batches: memory holds some numbers and short
texts a page. The tables, by name:

* `audited_read`: `url` of every page that was read, its first `h1`, `bytes` of its HTML and how many files it
  `requests`;
* `audited_faults`: `name` of a finding, `url`, `note` with the line and the text of the first place, `kind`, `group`;
* `audited_embedded`: `page`, `url` and `kind` of every image, style sheet, script and card picture;
* `audited_alternates`: `page`, `url`, `hreflang` and `line`;
* `audited_fragments`: `page`, `url`, `fragment` and `line` of every link into a page; `hash` and `other` of the
  fragment, as written and decoded;
* `audited_ids`: `url` and the hashes of its `ids`.

Nothing here sends a request.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes
from zlib import crc32

import pyarrow as pa
from msgspec import Struct

from periplus.content import read_tags
from periplus.content.links import srcset_urls
from periplus.formats.headers import Headers
from periplus.model import Url
from periplus.store.export.captures import Capture, latest_captures
from periplus.store.export.documents import read_answer
from periplus.urls import resolve_all, site_of

from .audited_page import AuditedPage, FaultPlace, PageCheck
from .page_checks import PAGE_CHECKS

if TYPE_CHECKING:
    from periplus.insight.views import Views

MAX_PAGES: Final = 20_000
"""Stored pages that are read again: some seconds of work for each thousand."""
IMAGE, STYLE, SCRIPT, CARD = "image", "style", "script", "card"
_EMBEDDING: Final = {"stylesheet": STYLE, "icon": IMAGE, "apple-touch-icon": IMAGE}
"""Relations of `<link>` that embed a file."""
_CARDS: Final = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
_MAX_FRAGMENTS: Final = 500
"""Links into pages that are kept of one page."""
_BATCH: Final = 2000
"""Rows of a table that are kept as Python objects."""
_HEADER_PAGES: Final = 20
"""Pages whose headers are looked at: a server sends the same with all."""
_COLUMNS: Final[dict[str, dict[str, pa.DataType]]] = {
    "audited_read": {"url": pa.string(), "h1": pa.string(), "bytes": pa.int64(), "requests": pa.int32()},
    "audited_faults": dict.fromkeys(("name", "url", "note", "kind", "group"), pa.string()),
    "audited_embedded": dict.fromkeys(("page", "url", "kind"), pa.string()),
    "audited_alternates": {**dict.fromkeys(("page", "url", "hreflang"), pa.string()), "line": pa.int32()},
    "audited_fragments": {
        "page": pa.string(), "url": pa.string(), "fragment": pa.string(), "line": pa.int32(),
        "hash": pa.uint32(), "other": pa.uint32(),
    },
    "audited_ids": {"url": pa.string(), "ids": pa.list_(pa.uint32())},
}  # fmt: skip


class AuditedFacts(Struct, frozen=True):
    """The tables; how many pages there are in each group of a relative check; headers that no page was sent with."""

    tables: dict[str, pa.Table]
    groups: dict[str, int]
    unsent: tuple[str, ...]

    @property
    def pages(self) -> int:
        """How many pages were read."""
        return int(self.tables["audited_read"].num_rows)


class _Rows:
    """Rows of one table, which become Arrow by and by."""

    def __init__(self, columns: dict[str, pa.DataType]) -> None:
        self._schema = pa.schema(list(columns.items()))
        self._batches: list[pa.RecordBatch] = []
        self.rows: list[tuple[object, ...]] = []

    def settle(self, least: int = _BATCH) -> None:
        if len(self.rows) >= least:
            columns = zip(*self.rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
            self._batches.append(pa.record_batch(arrays, schema=self._schema))
            self.rows.clear()

    def table(self) -> pa.Table:
        self.settle(1)
        return pa.Table.from_batches(self._batches, self._schema)


SECURITY_HEADERS: Final = (
    "strict-transport-security", "content-security-policy", "x-content-type-options", "x-frame-options",
    "referrer-policy",
)  # fmt: skip


class _Reader:
    """Reads one page after the other."""

    def __init__(self) -> None:
        self.tables = {name: _Rows(columns) for name, columns in _COLUMNS.items()}
        self.groups: Counter[str] = Counter()
        self.unsent = set(SECURITY_HEADERS)
        self.count = 0

    def add(self, page: AuditedPage) -> None:
        self.count += 1
        if self.count <= _HEADER_PAGES:
            self._look_at_headers(page)
        embedded = _embedded(page)
        self._row("audited_read", page.url, _first_heading(page), len(page.html), _requests(page))
        self.tables["audited_embedded"].rows += ((page.url, url, kind) for url, kind in embedded.items())
        self._add_alternates(page)
        self._add_fragments(page)
        self._add_faults(page)
        self.groups.update(page.groups)
        for rows in self.tables.values():
            rows.settle()

    def _row(self, table: str, *values: object) -> None:
        self.tables[table].rows.append(values)

    def _look_at_headers(self, page: AuditedPage) -> None:
        self.unsent -= page.headers.keys()
        if not page.is_secure:
            self.unsent.discard("strict-transport-security")
        if "frame-ancestors" in page.headers.get("content-security-policy", ""):
            self.unsent.discard("x-frame-options")

    def _add_faults(self, page: AuditedPage) -> None:
        for check in _checks_of(page.traits(_ASKED)):
            name = check.kind.name
            if check.kind.is_relative:
                for kind, places in _by_kind(check.find(page)).items():
                    self._row("audited_faults", name, page.url, _note(places), kind, places[0].group)
            elif places := list(check.find(page)):
                self._row("audited_faults", name, page.url, _note(places), places[0].kind, "")

    def _add_alternates(self, page: AuditedPage) -> None:
        tags = [tag for tag in page.related("alternate") if tag.attributes.get("hreflang")]
        if not tags:
            return
        for tag, url in zip(tags, page.resolved([tag.attributes["href"] or "" for tag in tags]), strict=True):
            if url is not None:
                self._row("audited_alternates", page.url, url, tag.attributes["hreflang"], tag.line)

    def _add_fragments(self, page: AuditedPage) -> None:
        ids = unescape(page.ids.decode("utf-8", "replace")).encode() if b"&" in page.ids else page.ids
        own = ids.split(b"\n")
        if _PREFIX in ids:
            own = [place.removeprefix(_PREFIX) for place in own] + own
        self._row("audited_ids", page.url, list(map(crc32, own)))
        links = _into_pages(page, set(own))
        if not links:
            return
        targets = list(dict.fromkeys(target for target, _ in links))
        urls = dict(zip(targets, resolve_all(targets, page.base), strict=True))
        for (target, fragment), line in links.items():
            url = urls[target] if target else page.url
            if url is not None:
                written = fragment.encode("utf-8", "replace")
                hashed = crc32(written)
                other = crc32(unquote_to_bytes(written)) if b"%" in written else hashed
                self._row("audited_fragments", page.url, url, fragment, line, hashed, other)


_ASKED: Final = frozenset().union(*(check.needs for check in PAGE_CHECKS))


@cache
def _checks_of(traits: frozenset[str]) -> tuple[PageCheck, ...]:
    """The checks of pages with these traits: few combinations occur on a site."""
    return tuple(check for check in PAGE_CHECKS if not check.needs or check.needs & traits)


def _by_kind(places: Iterable[FaultPlace]) -> dict[str, list[FaultPlace]]:
    found: dict[str, list[FaultPlace]] = {}
    for place in places:
        found.setdefault(place.kind, []).append(place)
    return found


def _note(places: Sequence[FaultPlace]) -> str:
    first = places[0]
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    return f"{f'line {first.line}' if first.line else 'Link header'}: {first.text}{more}"


def _first_heading(page: AuditedPage) -> str:
    return next((page.text_of(tag) for tag in page.named("h1") if tag.is_named), "")


_BY_SCRIPT: Final = frozenset({"onclick", "role", "data-toggle", "data-bs-toggle", "data-target", "aria-controls"})
"""Attributes of links that a script takes over: what is behind # is no place in a page."""


def _into_pages(page: AuditedPage, ids: set[bytes]) -> dict[tuple[str, str], int]:
    """Target and fragment of links into pages of the site, each with the line of the first.

    The target is empty for this page; places that it has are left out.
    """
    found: dict[tuple[str, str], int] = {}
    targets: dict[str, bool] = {"": True}
    for _, line, attributes, *_ in page.fragment_links:
        target, _, fragment = (attributes["href"] or "").strip().partition("#")
        is_own = targets.get(target)
        if is_own is None:
            is_own = targets[target] = page.is_own(target)
        if not is_own or (target, fragment) in found or (not target and fragment.encode("utf-8", "replace") in ids):
            continue
        if _PLACE.fullmatch(fragment) and fragment.lower() != "top" and _BY_SCRIPT.isdisjoint(attributes):
            found[target, fragment] = line
            if len(found) >= _MAX_FRAGMENTS:
                break
    return found


_PREFIX: Final = b"user-content-"
"""What GitHub and others put before the names of places in texts of their users; a script finds them without it."""
_PLACE: Final = re.compile(r"[^/=!:~?&()<>{}]+")
"""A fragment that is the name of a place: not a state of a script, not a text to highlight."""


def _embedded(page: AuditedPage) -> dict[str, str]:
    """URL and kind of everything that a page embeds, and of the pictures of its cards."""
    written: dict[str, str] = {}
    for href, kind in _written(page):
        written.setdefault(href.strip(), kind)
    written.pop("", None)
    urls = page.resolved(list(written))
    return {str(url): kind for url, kind in zip(urls, written.values(), strict=True) if url is not None}


def _requests(page: AuditedPage) -> int:
    """How many files a browser loads: of the sizes of one image, one."""
    sources = {tag[2].get("src") or tag[2].get("srcset") for tag in page.named("img", "video", "audio", "script")}
    linked = {tag[2].get("href") for relation in _EMBEDDING for tag in page.related(relation)}
    return sum(1 for href in sources | linked if href and not href.startswith("data:"))


def _written(page: AuditedPage) -> Iterator[tuple[str, str]]:
    for tag in page.named("img", "source", "video", "audio"):
        attributes = tag[2]
        yield attributes.get("src") or "", IMAGE
        yield attributes.get("poster") or "", IMAGE
        if srcset := attributes.get("srcset"):
            yield from ((href, IMAGE) for href in srcset_urls(srcset))
    yield from ((tag[2].get("src") or "", SCRIPT) for tag in page.named("script"))
    for relation, kind in _EMBEDDING.items():
        yield from ((tag[2]["href"] or "", kind) for tag in page.related(relation))
    for name in _CARDS:
        yield from ((content, CARD) for _, content in page.metas.get(name, ()))


def read_facts(views: Views, sites: Sequence[str]) -> AuditedFacts:
    """Read the stored pages of a site, at most `MAX_PAGES`."""
    reader, archive = _Reader(), views.folder / "warc"
    for capture in latest_captures(views.tables, views.spooled):
        if reader.count >= MAX_PAGES:
            break
        if site_of(capture.url) in sites and (page := _page(archive, capture)) is not None:
            reader.add(page)
    tables = {name: rows.table() for name, rows in reader.tables.items()}
    unsent = tuple(name for name in SECURITY_HEADERS if name in reader.unsent and reader.count)
    return AuditedFacts(tables, dict(reader.groups), unsent)


def _page(archive: Path, capture: Capture) -> AuditedPage | None:
    answer = read_answer(archive, capture)
    if isinstance(answer, str):
        return None
    headers, body = answer
    read = read_tags(body, Headers(headers).get("content-type"))
    if read is None:
        return None
    fields: dict[str, str] = {}
    for name, value in headers:
        fields[name.lower()] = f"{fields[name.lower()]}, {value}" if name.lower() in fields else value
    return AuditedPage(str(Url(capture.url)), *read, fields, body)
