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
from functools import partial
from typing import Final

from ..formats.headers import read_robots_tag
from ..model import Directives, Page, Problem, Refresh, Url
from ..urls import canonical, resolve_all
from .charset import Charset, sniff_charset
from .digests import digests_of
from .elements import Elements, elements_of, parse
from .encodings import decode
from .facts import AGENT, base_of, read_facts
from .forms import read_forms
from .links import Resolve, read_anchors, read_links, read_resources
from .mime import Kind, Mime, sniff_mime
from .nesting import bounded
from .redirects import MAX_REDIRECT_PAGE, refresh_of, script_redirect
from .relations import read_relations
from .sketch import sketch_of_numbers
from .tags import tags_of
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
    tags = tags_of(html)
    html, cut = bounded(html, tags)
    problems += cut
    tree = parse(html)
    found = elements_of(tree, tags)
    base = base_of(found, url)
    resolve = partial(resolve_all, base=base, encoding=charset.encoding)
    anchors = read_anchors(tree, found, skip_fragments=base == url)
    links, link_problems = read_links(anchors, resolve)
    resources, resource_problems = read_resources(found, resolve)
    forms, form_problems = read_forms(found, resolve)
    facts = read_facts(tree, found, robots_tags)
    relations = read_relations(found.get("link", ()), link_headers, url, resolve)
    refresh, script_target = _redirects(found, len(html), resolve)
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
        relations=relations,
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


def _redirects(found: Elements, size: int, resolve: Resolve) -> tuple[Refresh | None, Url | None]:
    refresh = refresh_of(found.get("meta", []))
    script = script_redirect(found.get("script", [])) if size <= MAX_REDIRECT_PAGE else None
    target = refresh[1] if refresh else None
    urls = resolve([target or "", script or ""]) if target or script else [None, None]
    if refresh is None or (target is not None and urls[0] is None):
        return None, urls[1] if script else None
    return Refresh(float(refresh[0]), urls[0] if target else None), urls[1] if script else None


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
        relations=read_relations((), link_headers, url, partial(resolve_all, base=url)),
        directives=read_robots_tag(robots_tags, AGENT) if robots_tags else Directives(),
        refresh=None,
        script_redirect=None,
        forms=(),
        sketch=sketch_of_numbers(words),
        digests=digests_of(body, text, text, ()),
        problems=(problem,),
    )
