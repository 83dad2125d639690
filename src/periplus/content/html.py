"""From the bytes of a page to a `Page`, in one parse: the order of work, and what becomes of what is no page.

Reasons of the problems, beside those of `links`, `forms` and `nesting`:

- `empty`: no bytes at all.
- `binary`: the bytes are a picture, an archive, a document or otherwise no text, whatever their type says.
- `not-html`: text, but not of a page; its text is read, and nothing else.
- `too-large`: longer than `MAX_BODY`; the rest was not read.
- `text-cut`: more text than `text.MAX_TEXT`; the rest was not kept.
- `bad-characters`: bytes that mean nothing in the page's encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Final

from ..formats.encodings import decode
from ..formats.headers import read_robots_tag
from ..model import Directives, Page, Problem, Url
from ..urls import canonical, resolve_all
from .charset import Charset, sniff_charset
from .digests import digests_of
from .elements import elements_of, parse
from .facts import AGENT, base_of, read_facts
from .forms import actions_of, read_forms
from .links import Urls, read_anchors, read_links, read_resources, read_sources
from .mime import Kind, Mime, sniff_mime
from .nesting import bounded
from .redirects import read_onward, redirects_of
from .relations import read_relations, read_relatives
from .sketch import sketch_of_numbers
from .text import MAX_TEXT, NO_SIGNS, fold, read_texts
from .words import words_of

MAX_BODY: Final = 16 << 20
_REPLACEMENT: Final = "\ufffd".encode()


def read_page(
    body: bytes,
    url: str,
    content_type: str | None = None,
    *,
    robots_tags: Sequence[str] = (),
    link_headers: Sequence[str] = (),
) -> Page:
    """Everything a page says. `body` is without content codings (see `decode_body`); the rest is from its headers.

    Never raises for what the body holds: what is wrong with it is in `problems`.
    """
    charset = sniff_charset(body, content_type)
    mime = sniff_mime(body, content_type, is_utf16=charset.encoding.startswith("UTF-16"))
    if not body or mime.kind is not Kind.HTML:
        return _read_other(body, url, charset, mime, robots_tags, link_headers)
    html, problems = _as_utf8(body, charset)
    html, tags, cut = bounded(html)
    problems += cut
    tree = parse(html)
    found = elements_of(tree, tags)
    base = base_of(found, url)
    anchors = read_anchors(tree, found, skip_fragments=base == url)
    sources = read_sources(found)
    relatives = read_relatives(found.get("link", ()))
    onward = read_onward(found.get("meta", ()), found.get("script", ()), len(html))
    link_urls, source_urls, relative_urls, form_urls, next_urls = _resolved(
        (anchors.hrefs, sources.hrefs, [one.href for one in relatives], actions_of(found), onward.hrefs),
        base,
        charset.encoding,
    )
    links, link_problems = read_links(anchors, link_urls)
    resources, resource_problems = read_resources(sources, source_urls)
    forms, form_problems = read_forms(found, form_urls)
    refresh, script_target = redirects_of(onward, next_urls)
    facts = read_facts(tree, found, robots_tags)
    texts = read_texts(tree, found, anchors)
    problems += link_problems + resource_problems + form_problems
    if texts.is_cut:
        problems.append(Problem("text-cut", at=MAX_TEXT))
    if _REPLACEMENT in texts.text:
        problems.append(Problem("bad-characters", charset.encoding))
    words = words_of(texts.main)
    own = canonical(url) or Url(url)
    return Page(
        url=own,
        base=own if base == url else canonical(base) or own,
        charset=charset.encoding,
        mime=mime.essence,
        title=facts.title,
        description=facts.description,
        language=facts.language,
        text=texts.text.decode(),
        main_text=texts.main.decode(),
        links=links,
        resources=resources,
        relations=read_relations(relatives, relative_urls, link_headers, url),
        directives=facts.directives,
        refresh=refresh,
        script_redirect=script_target,
        forms=forms,
        sketch=sketch_of_numbers(words),
        digests=digests_of(body, texts.text, texts.main, [link.url for link in links]),
        problems=tuple(problems),
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


def _resolved(columns: Sequence[list[str]], base: str, encoding: str) -> list[Urls]:
    """The links of several readers, resolved all at once: every call has a cost of its own, and sites repeat them."""
    urls = resolve_all(list(chain.from_iterable(columns)), base, encoding)
    ends = accumulate(len(column) for column in columns)
    return [urls[end - len(column) : end] for column, end in zip(columns, ends, strict=True)]


def _read_other(
    body: bytes, url: str, charset: Charset, mime: Mime, robots_tags: Sequence[str], link_headers: Sequence[str]
) -> Page:
    """A body that is no page: the text of a text, what the headers say, and nothing else."""
    text = b""
    problem = Problem("empty") if not body else Problem("binary", mime.essence)
    if body and mime.kind is not Kind.BINARY:
        problem = Problem("not-html", mime.essence)
        if mime.kind is Kind.TEXT:
            text = fold(decode(body[charset.bom : MAX_TEXT], charset.encoding).translate(NO_SIGNS))
    words = words_of(text)
    own = canonical(url) or Url(url)
    return Page(
        url=own,
        base=own,
        charset=charset.encoding,
        mime=mime.essence,
        title="",
        description="",
        language="",
        text=text.decode(),
        main_text=text.decode(),
        links=(),
        resources=(),
        relations=read_relations([], [], link_headers, url),
        directives=read_robots_tag(robots_tags, AGENT) if robots_tags else Directives(),
        refresh=None,
        script_redirect=None,
        forms=(),
        sketch=sketch_of_numbers(words),
        digests=digests_of(body, text, text, ()),
        problems=(problem,),
    )
