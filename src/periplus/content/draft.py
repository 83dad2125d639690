"""What one page has written, taken from its tree in one parse: everything of a `Page`, but raw.

Reasons of the problems, beside those of `links`, `forms` and `nesting`:

- `empty`: no bytes at all.
- `binary`: the bytes are a picture, an archive, a document or otherwise no text, whatever their type says.
- `not-html`: text, but not of a page; its text is read, and nothing else.
- `too-large`: longer than `MAX_BODY`; the rest was not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ..formats.encodings import decode
from ..formats.headers import read_robots_tag
from ..model import Directives, Problem
from .blocks import blocks_in
from .charset import Charset, sniff_charset
from .elements import Counts, count_names, elements_of, parse
from .facts import AGENT, Facts, base_of, read_facts, read_metas
from .forms import WrittenForm, read_forms
from .links import Anchors, Sources, read_anchors, read_sources
from .mime import Kind, Mime, sniff_mime
from .nesting import bounded
from .redirects import Onward, read_onward
from .relations import Relative, read_relatives
from .text import MAX_TEXT, read_text, without_signs

MAX_BODY: Final = 16 << 20


class RawPage(Struct, frozen=True):
    """A page as it came: its body, without content codings (see `decode_body`), its URL, and what its headers say.

    `wants_blocks`: whether its parts are to be told apart, which takes longer (see `blocks`).
    """

    body: bytes
    url: str
    content_type: str | None = None
    robots_tags: Sequence[str] = ()
    link_headers: Sequence[str] = ()
    wants_blocks: bool = False


class Draft(NamedTuple):
    """What a page has written: links are not resolved yet, its text is not folded and may hold signs (see `text`)."""

    charset: str
    mime: str
    base: str
    facts: Facts
    text: str
    anchors: Anchors
    sources: Sources
    relatives: list[Relative]
    forms: list[WrittenForm]
    onward: Onward
    problems: list[Problem]
    blocks: bytes = b""


class Prepared(NamedTuple):
    """A page that can be parsed: what it is, its bytes in UTF-8, cut where need be, and what its tags tell."""

    charset: Charset
    mime: Mime
    html: bytes = b""
    counts: Counts | None = None
    problems: Sequence[Problem] = ()


def prepare(page: RawPage) -> Prepared:
    """What a body is, and if it is a page, what of it can be parsed."""
    charset = sniff_charset(page.body, page.content_type)
    mime = sniff_mime(page.body, page.content_type, is_utf16=charset.encoding.startswith("UTF-16"))
    if not page.body or mime.kind is not Kind.HTML:
        return Prepared(charset, mime)
    html, problems = _as_utf8(page.body, charset)
    html, tags, cut = bounded(html)
    return Prepared(charset, mime, html, None if tags is None else count_names(tags), problems + cut)


def draft_of(page: RawPage, prepared: Prepared) -> Draft:
    """What a page has written. Never raises for what the body holds."""
    charset, mime, html, counts, problems = prepared
    if not page.body or mime.kind is not Kind.HTML:
        return _of_no_page(page, charset, mime)
    tree = parse(html)
    found = elements_of(tree, counts)
    base = base_of(found, page.url)
    metas = read_metas(found)
    anchors = read_anchors(tree, found, skip_fragments=base == page.url)
    forms, too_many = read_forms(found)
    return Draft(
        charset=charset.encoding,
        mime=mime.essence,
        base=base,
        facts=read_facts(tree, found, metas, page.robots_tags),
        sources=read_sources(found),
        relatives=read_relatives(found.get("link", ())),
        forms=forms,
        onward=read_onward(metas, found.get("script", ()), len(html)),
        blocks=blocks_in(tree) if page.wants_blocks else b"",
        text=read_text(tree, found, anchors),  # the last, because it spends the tree
        anchors=anchors._replace(nodes=[]),
        problems=[*problems, *too_many],
    )


def _of_no_page(page: RawPage, charset: Charset, mime: Mime) -> Draft:
    """A body that is no page: the text of a text, what the headers say, and nothing else."""
    text = ""
    problem = Problem("empty") if not page.body else Problem("binary", mime.essence)
    if page.body and mime.kind is not Kind.BINARY:
        problem = Problem("not-html", mime.essence)
        if mime.kind is Kind.TEXT:
            text = without_signs(decode(page.body[charset.bom : MAX_TEXT], charset.encoding))
    directives = read_robots_tag(page.robots_tags, AGENT) if page.robots_tags else Directives()
    return Draft(
        charset=charset.encoding,
        mime=mime.essence,
        base=page.url,
        facts=Facts("", "", "", directives),
        text=text,
        anchors=Anchors([], [], [], [], [], {}),
        sources=Sources([], [], []),
        relatives=[],
        forms=[],
        onward=Onward(None, None, None),
        problems=[problem],
    )


def _as_utf8(body: bytes, charset: Charset) -> tuple[bytes, list[Problem]]:
    """The page in the encoding of our parser, and no longer than we read."""
    problems = []
    if len(body) > MAX_BODY:
        problems.append(Problem("too-large", str(len(body)), MAX_BODY))
        body = body[:MAX_BODY]
    if charset.bom:
        body = body[charset.bom :]
    if charset.encoding == "UTF-8" or (charset.encoding == "windows-1252" and body.isascii()):
        return body, problems
    return decode(body, charset.encoding).encode("utf-8", "replace"), problems
