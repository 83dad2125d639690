"""Does a page need its scripts? A score of the page as the server sent it.

Applications send a shell: hardly any text, an element that scripts fill, a note that JavaScript is required. Pages that
servers make have text and links of their own, whatever else their scripts do. Each sign adds points:

- 2: less than 200 characters of visible text; 1: less than 500;
- 2: an element with a name that frameworks fill (`root`, `app`, `__next`, ...) and less than 20 characters in it;
- 1: `<noscript>`, or a short text, that asks for JavaScript;
- 1: fewer than 3 links;
- -2: a redirect by meta refresh or script, a frameset, or a form with a password: there is nothing to be made visible;
- -9: there is no script.

A bare shell has 6 points. From `NEEDED_SCORE` on, a page is taken to need its scripts: none of the pages with forms and
lists on which this was tried, all made by servers, has as many.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from ...model import Page, Render

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
    r"<(?P<tag>[a-z][\w-]*)\b[^>]*\bid\s*=\s*[\"']?"
    r"(?:root|app|__next|__nuxt|___gatsby|ember\w*|svelte|q-app|react-root|main-app|app-root)[\"'\s>/]"
    r"|<(?P<element>app-root|my-app|ember-app)\b",
    re.IGNORECASE,
)
_NOSCRIPT: Final = re.compile(r"<noscript\b[^>]*>(.{0,4000}?)</noscript", re.IGNORECASE | re.DOTALL)
_HIDDEN: Final = re.compile(r"<(script|style|template|noscript)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TAG: Final = re.compile(r"<[^>]*>")
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


def script_need(page: Page, html: str) -> ScriptNeed:
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
    for found in _MOUNT.finditer(html):
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


def _asks_for_scripts(page: Page, html: str) -> bool:
    if len(page.text) < LONGEST_SHELL and _ASKS.search(page.text):
        return True
    return any(_ASKS.search(_TAG.sub(" ", found[1])) for found in _NOSCRIPT.finditer(html))


def _is_elsewhere(page: Page, html: str) -> bool:
    if (page.refresh is not None and page.refresh.url is not None) or page.script_redirect is not None:
        return True
    has_password = any(field.type == "password" for form in page.forms for field in form.fields)
    return has_password or bool(_FRAMESET.search(html))
