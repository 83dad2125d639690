"""Decides whether a page needs its scripts, and reads script data and `#!` routes without a browser where it can.

`script_need` scores the page as the server sent it. Applications send a shell: hardly any text, an element that scripts
fill, a note that JavaScript is required. Pages that servers generate have text and links of their own. Each sign adds
points:

- 2: less than 200 characters of visible text; 1: less than 500;
- 2: an element with a name that frameworks fill (`root`, `app`, `__next`, ...) and less than 20 characters in it;
- 1: `<noscript>`, or a short text, that asks for JavaScript;
- 1: fewer than 3 links;
- -2: a redirect by meta refresh or script, a frameset, or a form with a password: rendering would show no more;
- -9: there is no script.

A bare shell has 6 points. From `NEEDED_SCORE` on, a page is taken to need its scripts. If the data for its scripts hold
enough text, it is read with these (`script_data`) instead of being rendered.
"""

from __future__ import annotations

import json
import re
from html import escape, unescape
from itertools import islice
from typing import Final
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.content import RawPage, read_pages, sniff_charset
from periplus.formats.encodings import decode
from periplus.model import DOCUMENT_TYPE, Fetched, Links, ParsedPage, Problem, ReadFrom, Render, Rendering, Url
from periplus.urls import canonical

NEEDED_SCORE: Final = 4
"""Points from which on a page is taken to need its scripts."""
LEAST_NEEDED_SCORE: Final = {Render.TEST: NEEDED_SCORE, Render.NEEDED: 2}
"""The same by what is known of the page's template: with fewer than 2 points, the server has begun to send the text."""
LONGEST_SHELL: Final = 500
"""Characters of visible text from which on a page with at least `FEWEST_LINKS` links cannot reach that score."""
FEWEST_LINKS: Final = 3
"""Links from which on a page seems to lead somewhere."""
_SHORT: Final = 200
"""Characters of visible text below which there is hardly any."""
_EMPTY_MOUNT: Final = 20
"""Characters below which an element that scripts fill is empty; some say "Loading..."."""
_MAX_MOUNT: Final = 65_536
"""Characters of an element that are looked at: one with more is not empty."""

_MOUNT: Final = re.compile(
    r"<(?P<tag>[a-z][\w-]*)\b[^<>]*\bid\s*=\s*[\"']?"
    r"(?:root|app|__next|__nuxt|___gatsby|ember\w*|svelte|q-app|react-root|main-app|app-root)[\"'\s>/]"
    r"|<(?P<element>app-root|my-app|ember-app)\b",
    re.IGNORECASE,
)
_MOST_MOUNTS: Final = 20
"""Elements that scripts may fill that are looked at."""
_NOSCRIPT: Final = re.compile(r"<noscript\b[^<>]*>(.*?)(?:</noscript|\Z)", re.IGNORECASE | re.DOTALL)
_LONGEST_NOTE: Final = 4000
"""Characters of a `<noscript>` that may be a note."""
_HIDDEN: Final = re.compile(
    r"<(script|style|template|noscript)\b.*?(?:</\1\s*+>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL
)
_TAG: Final = re.compile(r"<[^<>]*>")
_ASKS: Final = re.compile(r"java\s?script", re.IGNORECASE)
_SCRIPT: Final = re.compile(r"<script\b", re.IGNORECASE)
_FRAMESET: Final = re.compile(r"<frameset\b", re.IGNORECASE)


class ScriptNeed(Struct, frozen=True):
    """The score of a page, and the signs that it has, in words."""

    score: int
    signs: tuple[str, ...] = ()

    @property
    def is_needed(self) -> bool:
        """Whether the page is taken to need its scripts."""
        return self.score >= NEEDED_SCORE


def script_need(page: ParsedPage, html: str) -> ScriptNeed:
    """Score a page that was read from this HTML."""
    if not _SCRIPT.search(html):
        return ScriptNeed(-9, ("no script",))
    characters, links = len(page.text), len(page.links.to_others())
    signs: list[tuple[int, str]] = []
    if characters < _SHORT:
        signs.append((2, f"{characters} characters of text"))
    elif characters < LONGEST_SHELL:
        signs.append((1, f"{characters} characters of text"))
    if _has_empty_mount(html):
        signs.append((2, "an empty element that scripts fill"))
    if _asks_for_scripts(page, html):
        signs.append((1, "a note that JavaScript is required"))
    if links < FEWEST_LINKS:
        signs.append((1, f"{links} links"))
    if _is_elsewhere(page, html):
        signs.append((-2, "a redirect, a frameset or a login form"))
    return ScriptNeed(sum(points for points, _ in signs), tuple(words for _, words in signs))


def _has_empty_mount(html: str) -> bool:
    for found in islice(_MOUNT.finditer(html), _MOST_MOUNTS):
        tag = found["tag"] or found["element"]
        start = html.find(">", found.start()) + 1
        if start and len(_text_within(html[start : start + _MAX_MOUNT], tag)) < _EMPTY_MOUNT:
            return True
    return False


def _text_within(rest: str, tag: str) -> str:
    """The text of an element whose contents begin here."""
    depth, end = 1, len(rest)
    for found in re.finditer(rf"<(/?){re.escape(tag)}\b", rest, re.IGNORECASE):
        depth += -1 if found[1] else 1
        if not depth:
            end = found.start()
            break
    return " ".join(_TAG.sub(" ", _HIDDEN.sub(" ", rest[:end])).split())


def _asks_for_scripts(page: ParsedPage, html: str) -> bool:
    if len(page.text) < LONGEST_SHELL and _ASKS.search(page.text):
        return True
    notes = (found[1] for found in _NOSCRIPT.finditer(html))
    return any(len(note) <= _LONGEST_NOTE and _ASKS.search(_TAG.sub(" ", note)) for note in notes)


def _is_elsewhere(page: ParsedPage, html: str) -> bool:
    if (page.refresh is not None and page.refresh.url is not None) or page.script_redirect is not None:
        return True
    has_password = any(field.type == "password" for form in page.forms for field in form.fields)
    return has_password or bool(_FRAMESET.search(html))


LEAST_TEXT: Final = 500
"""Characters of text with which data are worth a page."""
MAX_DATA: Final = 5_000_000
"""Characters of JSON that are read: larger ones are caches of a whole site."""
_MAX_VALUES: Final = 50_000
"""Values of the JSON that are looked at."""
_MAX_LINKS: Final = 1_000
"""Links that are taken from data."""
_LEAST_SENTENCE: Final = 20
"""Characters from which on a text with a space in it counts as written for people."""

_SCRIPTS: Final = re.compile(r"<script\b([^<>]*)>(.*?)(?:</script|\Z)", re.IGNORECASE | re.DOTALL)
_IS_DATA: Final = re.compile(r"__NEXT_DATA__|application/ld\+json", re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    r"(?:window\.|self\.)?__(?:INITIAL_STATE|PRELOADED_STATE|APOLLO_STATE|INITIAL_DATA)__\s*=\s*(?=[{\[])"
)
_LINK: Final = re.compile(r"(?:https?://|/(?!/))[^\s<>\"'{}|\\^`]{1,2000}\Z")
_FILE: Final = re.compile(r"\.(?:js|css|png|jpe?g|gif|svg|webp|ico|woff2?|json|mp4)(?:[?#]|\Z)", re.IGNORECASE)
_MARKUP: Final = re.compile(r"<[^<>]{1,2000}>")


class ScriptData(Struct, frozen=True):
    """Texts and links in the data of a page."""

    texts: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def characters(self) -> int:
        """Characters of all texts."""
        return sum(map(len, self.texts))

    @property
    def is_enough(self) -> bool:
        """Whether the page can be read with these data instead of being rendered."""
        return self.characters >= LEAST_TEXT


def script_data(html: str) -> ScriptData:
    """The data that a page holds for its own scripts, all kinds together: often all that the scripts will show.

    The kinds are `<script id="__NEXT_DATA__">`, `<script type="application/ld+json">`, and an assignment to
    `window.__INITIAL_STATE__` or a similar name. Texts and links are taken from the JSON values. The meaning of a value
    is unknown, so only texts that look like sentences count.
    """
    texts: dict[str, None] = {}
    links: dict[str, None] = {}
    for value in _values(html):
        _collect(value, texts, links)
    return ScriptData(tuple(texts), tuple(links)[:_MAX_LINKS])


def with_data(html: str, data: ScriptData) -> bytes:
    """The page with its data as text and links at its end, in UTF-8: what reads pages, reads them there."""
    texts = "".join(f"<p>{escape(text)}</p>\n" for text in data.texts)
    links = "".join(f'<a href="{escape(link)}"></a>\n' for link in data.links)
    return f'{html}\n<main><article id="periplus-script-data">\n{texts}{links}</article></main>'.encode(
        "utf-8", "replace"
    )


def _values(html: str) -> list[object]:
    found: list[object] = []
    for script in _SCRIPTS.finditer(html):
        attributes, content = script[1], script[2]
        if len(content) > MAX_DATA:
            continue
        if _IS_DATA.search(attributes):
            try:
                found.append(msgspec.json.decode(content.strip()))
            except (msgspec.DecodeError, RecursionError):
                continue
        elif assigned := _ASSIGNED.search(content):
            try:
                found.append(json.JSONDecoder().raw_decode(content, assigned.end())[0])
            except (ValueError, RecursionError):
                continue
    return found


def _collect(value: object, texts: dict[str, None], links: dict[str, None]) -> None:
    """Take texts and links from a JSON value, in its order."""
    waiting = [value]
    for _ in range(_MAX_VALUES):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(reversed(list(one.values())))
        elif isinstance(one, list):
            waiting.extend(reversed(one))
        elif isinstance(one, str):
            _take(one, texts, links)


def _take(text: str, texts: dict[str, None], links: dict[str, None]) -> None:
    text = text.strip()
    if _LINK.match(text):
        if not _FILE.search(text):
            links.setdefault(text)
    elif len(text) >= _LEAST_SENTENCE and " " in text:
        plain = " ".join(unescape(_MARKUP.sub(" ", text)).split())
        if len(plain) >= _LEAST_SENTENCE and not plain.startswith(("{", "[", "function")):
            texts.setdefault(plain)


PARAMETER: Final = "_escaped_fragment_"
_MAX_ROUTES: Final = 1_000
"""Links to routes that are taken from a page."""
_HREF: Final = re.compile(r"<a\b[^<>]*?\shref\s*=\s*(?:\"([^\"]*#!/?[^\"]*)\"|'([^']*#![^']*)')", re.IGNORECASE)


def escaped(link: str, base: str) -> Url | None:
    """The URL for a link with `#!`; `None` if it has none, or is not a link.

    An application shows another page when the part of its URL behind `#!` changes, but a canonical URL has no fragment.
    So such a page is named as in Google's scheme for crawlers (2009 to 2015): that part is the value of the parameter
    `_escaped_fragment_`. Servers that support the scheme answer with the page itself; others ignore the parameter and
    send the application, which a browser then opens with the fragment.
    """
    address, bang, route = link.partition("#!")
    if not bang or not route:
        return None
    url = canonical(address or base, Url(base))
    if url is None:
        return None
    kept = [part for part in url.partition("?")[2].split("&") if part and not part.startswith(f"{PARAMETER}=")]
    value = quote(unquote(route), safe="/:;,~$-_.!*'()")
    return canonical(f"{url.partition('?')[0]}?{'&'.join([*kept, f'{PARAMETER}={value}'])}")


def unescaped(url: Url) -> str:
    """The URL that a browser opens: with `#!` in place of the parameter, if it has that."""
    address, _, query = url.partition("?")
    parts = query.split("&") if query else []
    routes = [part.partition("=")[2] for part in parts if part.startswith(f"{PARAMETER}=")]
    if not routes:
        return url
    kept = [part for part in parts if not part.startswith(f"{PARAMETER}=")]
    return f"{address}{'?' if kept else ''}{'&'.join(kept)}#!{unquote(routes[0])}"


def hash_routes(html: str, base: Url) -> list[Url]:
    """The routes behind `#!` that a document links to, each once."""
    if "#!" not in html:
        return []
    found: dict[Url, None] = {}
    for link in _HREF.finditer(html):
        url = escaped(unescape(link[1] or link[2]), base)
        if url is not None:
            found.setdefault(url)
        if len(found) >= _MAX_ROUTES:
            break
    return list(found)


def completed(page: ParsedPage, raw: RawPage, answer: Fetched) -> ParsedPage:
    """Complete a page with what only its rendering, or the data for its scripts, contains."""
    rendering = answer.rendering
    if rendering is not None and rendering.is_rendered:
        return _rendered(page, raw, rendering)
    if rendering is not None and rendering.reason:
        page = replace(page, problems=(*page.problems, Problem(rendering.reason)))
    if answer.task.render is Render.NEVER or answer.task.render is Render.ALWAYS:
        return page
    return _with_data(page, raw, answer.task.render)


def _rendered(page: ParsedPage, raw: RawPage, rendering: Rendering) -> ParsedPage:
    problems = (*page.problems, Problem(rendering.reason)) if rendering.reason else page.problems
    routes = hash_routes(raw.body.decode("utf-8", "replace"), page.base)
    known = {*page.links.urls}
    more = [url for url in routes if url not in known]
    links = page.links
    if more:
        links = Links([*links.urls, *more], [*links.anchors, *[""] * len(more)], links.rels, links.kinds, links.own)
    return replace(
        page,
        links=links,
        problems=problems,
        script_redirect=page.script_redirect or rendering.target,
        read_from=ReadFrom.BROWSER,
    )


def _with_data(page: ParsedPage, raw: RawPage, render: Render) -> ParsedPage:
    """A page that needs its scripts, read with the data that it has for them; the page itself otherwise."""
    if len(page.text) >= LONGEST_SHELL or b"<script" not in raw.body:
        return page
    html = decode(raw.body, sniff_charset(raw.body, raw.content_type).encoding)
    if script_need(page, html).score < LEAST_NEEDED_SCORE[render]:
        return page
    data = script_data(html)
    if not data.is_enough:
        return page
    (read,) = read_pages([replace(raw, body=with_data(html, data), content_type=DOCUMENT_TYPE)])
    return replace(read, problems=page.problems, read_from=ReadFrom.DATA)
