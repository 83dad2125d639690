"""From the bytes of pages to `ParsedPage`s: find out what a body is, scan it once, and read the columns.

Reasons of the problems, beside those of `links` and `forms`:

- `empty`: no bytes at all.
- `binary`: the bytes are a picture, an archive or a document, or otherwise not text, whatever their type says.
- `not-html`: text, but not a page; only its text is read.
- `too-large`: longer than `MAX_BODY`; the rest was not read.
- `text-cut`: more text than `scan.MAX_TEXT`; the rest was not kept.
- `bad-characters`: bytes that mean nothing in the page's encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from periplus.formats.encodings import decode
from periplus.model import Digests, Links, PageSection, ParsedPage, Problem, Relations, Url, UsageError
from periplus.urls import canonical, resolve_all

from .charset import Charset, sniff_charset
from .churn import packed_blocks
from .digests import digests_of, marked_sketch, masked, sorted_targets
from .facts import base_of, read_facts
from .forms import forms_of, read_forms
from .links import Urls, links_of, read_relations, read_relatives, read_sources, resources_of
from .mime import ContentKind, Mime, sniff_mime
from .pagination import next_page
from .redirects import read_onward, redirects_of
from .scan import TagList, list_tags, resolve, scan
from .scan.columns import MAX_ANCHOR, MAX_LINKS, MAX_TEXT, Columns, Head
from .sketch import sketches_of
from .statistics import statistics_of
from .versions import profile_of

MAX_BODY: Final = 16 << 20
"""Bytes of a page that are read."""
_GROUP_PAGES: Final = 32
_GROUP_BYTES: Final = 1 << 20
"""Pages and bytes that are read together, at most: beyond this, only memory grows."""
_SPACES: Final = re.compile("[\0-\x20\x7f\xa0\u200b\u3000]+")
_REPLACEMENT: Final = "\ufffd"
_NO_DIGESTS: Final = Digests(0, 0, 0, 0)


class RawPage(Struct, frozen=True):
    """A page as it came: its body without content codings (see `decode_body`), its URL, and values of its headers.

    `wants_blocks`: whether its parts are to be read separately, which takes longer (see `churn`). `use_headers` are
    those about its use (see `formats.preferences`). `refresh` is the Refresh field, empty if absent.
    """

    body: bytes
    url: str
    content_type: str | None = None
    robots_tags: Sequence[str] = ()
    link_headers: Sequence[str] = ()
    wants_blocks: bool = False
    use_headers: Sequence[tuple[str, str]] = ()
    refresh: str = ""


class _Scanned(NamedTuple):
    """A page after the scan."""

    raw: RawPage
    own: Url
    charset: Charset
    mime: Mime
    columns: Columns
    problems: list[Problem]


def read_page(
    body: bytes,
    url: str,
    content_type: str | None = None,
    *,
    robots_tags: Sequence[str] = (),
    link_headers: Sequence[str] = (),
    use_headers: Sequence[tuple[str, str]] = (),
) -> ParsedPage:
    """Everything a page says. `body` is without content codings (see `decode_body`); the rest is from its headers.

    Never raises for what the body holds: what is wrong with it is in `problems`. A `url` without a scheme and a host is
    a `UsageError`.
    """
    _check_url(url)
    return read_pages([RawPage(body, url, content_type, robots_tags, link_headers, False, use_headers)])[0]


def _check_url(url: str) -> None:
    """Raise `UsageError` for what links cannot be resolved against. A file of this machine has a URL, too: file:///x."""
    if canonical(url) is None and ("://" not in url or url.find("/", 8) < 0):
        raise UsageError(
            f"the URL of a page must be absolute, got {url[:200]!r}", hint="write https://example.org/page"
        )


def html_of_body(body: bytes, content_type: str | None = None) -> bytes | None:
    """A page in UTF-8, as it is scanned; `None` if the body is not HTML."""
    charset = sniff_charset(body, content_type)
    mime = sniff_mime(body, content_type, is_utf16=charset.encoding.startswith("UTF-16"))
    return _as_utf8(body, charset)[0] if body and mime.kind is ContentKind.HTML else None


def read_tags(body: bytes, content_type: str | None = None) -> tuple[bytes, TagList] | None:
    """A page in UTF-8 and its tags, in a pass of their own (see `scan.list_tags`); `None` if the body is not HTML."""
    html = html_of_body(body, content_type)
    return None if html is None else (html, list_tags(html))


def read_texts(
    body: bytes,
    url: str,
    content_type: str | None = None,
    *,
    robots_tags: Sequence[str] = (),
    link_headers: Sequence[str] = (),
    use_headers: Sequence[tuple[str, str]] = (),
) -> ParsedPage:
    """Like `read_page`, without links, resources, forms, redirects, digests and statistics: for exports of texts.

    Of its problems those of the body are there. Its sections are there, too, which `read_page` leaves out.
    """
    _check_url(url)
    raw = RawPage(body, url, content_type, robots_tags, link_headers, False, use_headers)
    _, own, charset, mime, columns, problems = _scanned(raw, wants_sections=True)
    head = columns.head
    base = base_of(head, url)
    has_base = base != url
    relatives = read_relatives(head.links)
    [relative_urls] = _resolved(
        [[relative.href for relative in relatives]], base, None if has_base else own, charset.encoding
    )
    facts = read_facts(columns.title, head, robots_tags, use_headers)
    return ParsedPage(
        url=own,
        base=canonical(base) or own if has_base else own,
        charset=charset.encoding,
        mime=mime.essence,
        title=facts.title,
        description=facts.description,
        language=facts.language,
        text=columns.text.decode("utf-8", "replace"),
        main_text=columns.main.decode("utf-8", "replace"),
        links=Links(),
        resources=(),
        relations=read_relations(relatives, relative_urls, link_headers, url),
        directives=facts.directives,
        refresh=None,
        script_redirect=None,
        forms=(),
        sketch=b"",
        digests=_NO_DIGESTS,
        problems=tuple(problems),
        preferences=facts.preferences,
        sections=_sections(columns),
    )


def _sections(columns: Columns) -> tuple[PageSection, ...]:
    """The sections of the main text by characters of it."""
    sections = []
    offset = at = 0
    for start, size, level, anchor in columns.sections:
        offset += start - at if columns.main.isascii() else len(columns.main[at:start].decode("utf-8", "replace"))
        at = start
        title = columns.main[start : start + size].decode("utf-8", "replace")[:MAX_ANCHOR]
        sections.append(PageSection(offset, anchor, level, title))
    return tuple(sections)


def read_pages(pages: Iterable[RawPage]) -> list[ParsedPage]:
    """Read several pages, in order: each as if it were read alone, but faster without the native scanner."""
    return [page for group in _groups(pages) for page in _read_group(group)]


def _groups(pages: Iterable[RawPage]) -> Iterator[list[RawPage]]:
    group: list[RawPage] = []
    size = 0
    for page in pages:
        if group and (len(group) == _GROUP_PAGES or size + len(page.body) > _GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(page)
        size += len(page.body)
    if group:
        yield group


def _read_group(pages: list[RawPage]) -> list[ParsedPage]:
    scanned = [_scanned(page) for page in pages]
    missing = [one.columns.main for one in scanned if one.columns.sketch is None]
    computed = map(marked_sketch, sketches_of(missing))
    sketches = [next(computed) if one.columns.sketch is None else one.columns.sketch for one in scanned]
    return [_page(one, sketch) for one, sketch in zip(scanned, sketches, strict=True)]


def _scanned(page: RawPage, *, wants_sections: bool = False) -> _Scanned:
    charset = sniff_charset(page.body, page.content_type)
    mime = sniff_mime(page.body, page.content_type, is_utf16=charset.encoding.startswith("UTF-16"))
    own = canonical(page.url)
    if page.body and mime.kind is ContentKind.HTML:
        html, problems = _as_utf8(page.body, charset)
        columns = scan(html, own or "", wants_blocks=page.wants_blocks, wants_sections=wants_sections)
    else:
        columns, problems = _not_html(page.body, charset, mime)
    return _Scanned(page, own or Url(page.url), charset, mime, columns, problems)


def _as_utf8(body: bytes, charset: Charset) -> tuple[bytes, list[Problem]]:
    """The page in the encoding of the scanner with newlines normalised, and at most as long as is read."""
    problems = []
    if len(body) > MAX_BODY:
        problems.append(Problem("too-large", str(len(body)), MAX_BODY))
        body = body[:MAX_BODY]
    if charset.bom:
        body = body[charset.bom :]
    if charset.encoding != "UTF-8" and not (charset.encoding == "windows-1252" and body.isascii()):
        body = decode(body, charset.encoding).encode("utf-8", "replace")[:MAX_BODY]
    if b"\r" in body:  # HTML Standard, 13.2.3.5
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return body, problems


def _not_html(body: bytes, charset: Charset, mime: Mime) -> tuple[Columns, list[Problem]]:
    """A body that is not a page: the text of plain text, otherwise nothing."""
    text = b""
    if not body:
        problem = Problem("empty")
    elif mime.kind is ContentKind.BINARY:
        problem = Problem("binary", mime.essence)
    else:
        problem = Problem("not-html", mime.essence)
        if mime.kind is ContentKind.TEXT:
            decoded = decode(body[charset.bom : MAX_TEXT], charset.encoding)
            text = _SPACES.sub(" ", decoded).strip(" ").encode("utf-8", "replace")
    is_cut = len(text) > MAX_TEXT
    text = text[:MAX_TEXT].decode("utf-8", "ignore").encode() if is_cut else text
    head = Head([], [], [], [], [])
    columns = Columns(
        text, text, is_cut, "", [], [], {}, {}, {}, [], [], head, b"", None, [], [], [], None, b"", None, 0, []
    )
    return columns, [problem]


def _page(scanned: _Scanned, sketch: bytes) -> ParsedPage:
    raw, own, charset, mime, columns, problems = scanned
    head = columns.head
    base = base_of(head, raw.url) if head.bases else raw.url
    has_base = base != raw.url
    sources = read_sources(columns.media)
    relatives = read_relatives(head.links)
    written_forms = read_forms(columns.forms)
    onward = read_onward(head, raw.refresh)
    link_urls, source_urls, relative_urls, form_urls, next_urls = _resolved(
        (
            [href for _, href in columns.unresolved],
            sources.hrefs,
            [relative.href for relative in relatives],
            [form.action for form in written_forms],
            onward.hrefs,
        ),
        base,
        None if has_base else own,
        charset.encoding,
    )
    links, link_problems = links_of(columns, link_urls, has_base=has_base)
    resources, resource_problems = resources_of(sources, source_urls)
    relations = _with_next(read_relations(relatives, relative_urls, raw.link_headers, raw.url), own, columns)
    forms, form_problems = forms_of(written_forms, form_urls)
    refresh, script_target = redirects_of(onward, next_urls)
    facts = read_facts(columns.title, head, raw.robots_tags, raw.use_headers)
    text = columns.text.decode("utf-8", "replace")
    main_text = columns.main.decode("utf-8", "replace")
    masked_main = masked(columns.main) if columns.masked is None else columns.masked
    targets = sorted_targets(links, own) if columns.targets is None else columns.targets
    digests = digests_of(raw.body, columns.text, masked_main, targets)
    statistics = statistics_of(
        raw.body,
        columns.text,
        columns.main,
        facts.title,
        columns.anchor_words,
        own,
        digests.raw,
        facts.language,
        columns.counts,
    )
    problems += link_problems + resource_problems + form_problems
    if columns.is_cut:
        problems.append(Problem("text-cut", at=MAX_TEXT))
    if _REPLACEMENT in text:
        problems.append(Problem("bad-characters", charset.encoding))
    return ParsedPage(
        url=own,
        base=canonical(base) or own if has_base else own,
        charset=charset.encoding,
        mime=mime.essence,
        title=facts.title,
        description=facts.description,
        language=facts.language,
        text=text,
        main_text=main_text,
        links=links,
        resources=resources,
        relations=relations,
        directives=facts.directives,
        refresh=refresh,
        script_redirect=script_target,
        forms=forms,
        sketch=sketch,
        digests=digests,
        problems=tuple(problems),
        blocks=packed_blocks(columns.blocks) if columns.blocks else b"",
        statistics=statistics,
        preferences=facts.preferences,
        profile=profile_of(
            columns.text,
            masked_main,
            targets if len(links.urls) < MAX_LINKS else b"",  # a new link pushes out the last
            facts.title,
            relations,
            raw.body,
        ),
    )


def _with_next(declared: Relations, own: Url, columns: Columns) -> Relations:
    """The relations of a page; the next one by its links, whose targets are known, if it does not declare any."""
    if declared.next is not None:
        return declared
    found = next_page(own, cast("Urls", columns.urls), columns.anchors, columns.rels, columns.marks)
    return declared if found is None else replace(declared, next=found, is_next_declared=False)


def _resolved(columns: Sequence[list[str]], base: str, own: Url | None, encoding: str) -> list[Urls]:
    """The hrefs of several readers, resolved; `own`: the URL of the page where that is the base.

    What is left to the URL parser is resolved in one call.
    """
    found = [[None] * len(hrefs) if own is None or not hrefs else resolve(own, hrefs) for hrefs in columns]
    resolved = cast("list[Urls]", found)
    left = [
        (urls, position, hrefs[position])
        for hrefs, urls in zip(columns, resolved, strict=True)
        if None in urls
        for position, url in enumerate(urls)
        if url is None
    ]
    if left:
        targets = resolve_all([href for _, _, href in left], base, encoding)
        for (urls, position, _), target in zip(left, targets, strict=True):
            urls[position] = target
    return resolved
