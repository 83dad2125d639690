"""The contents of pages: generated when they are requested, from a page's key and its last changes.

A page has regions of three kinds, so that "changed" has degrees. The static region is paragraphs, each rewritten by
some of the page's changes together with its links; facts are touched by small changes; the scrolling region is
comments, or the list of what is new. The churning region (a counter, a quote, a token) turns over by the clock.
Links keep pointing at the page that was there when their paragraph was written, dead or alive, as links do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from periplus.model import ChangeLevel

from .change import DAY
from .live import LiveSite, Neighbours, PageState
from .paths import PRINT, day_text, has_noindex, has_print_version, title_of
from .randomness import PASSAGES, at, eight, passages, person, sentences
from .sites import Role

PARAGRAPHS = 4
_PASSAGE, _SENTENCE = PASSAGES - 1, 2 * PASSAGES - 1
_TEXT_SALT, _CHURN_SALT = 0xD6E8FEB86659FD93, 0xA0761D6478BD642F
_FAR, _DETOUR = 4096, 1 << 15
"""One link in 16 goes to another site; one in two uses the second spelling of a page's URL, where it has one."""

_IN_NAVIGATION = 6
_DOCTYPE = b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>'
_STYLE = b"""<style>
body { font: 17px/1.5 Georgia, serif; color: #222; background: #fdfcf8; max-width: 46em; margin: 0 auto; padding: 1em; }
header nav { font: 14px/2 system-ui, sans-serif; border-bottom: 2px solid #2a6f97; padding-bottom: .5em; }
header nav a { margin-right: .9em; white-space: nowrap; }
a { color: #2a6f97; text-decoration: none; }
a:hover { text-decoration: underline; }
.by, footer, .churn { color: #667; font-size: 85%; }
.comment { border-left: 3px solid #ddd; margin: 1em 0; padding-left: 1em; }
th { text-align: left; padding-right: 2em; }
</style>
"""


Trace: TypeAlias = tuple[int, int]
"""The tick of a change that can still be seen, and bits to say how."""

_FACT, _COMMENT = 0, 3


def traces(state: PageState) -> tuple[list[Trace], list[Trace]]:
    """What an article's recent changes left behind: the author of each paragraph, and the comments, the oldest first.

    Of four changes one touches the facts alone, one adds a comment, two rewrite a paragraph or two.
    """
    written = [(state.born, -1)] * PARAGRAPHS
    comments = []
    for tick, event in reversed(state.recent):
        bits = at(state.key ^ _TEXT_SALT, event)
        deed, where = bits & 3, bits >> 8
        if deed == _COMMENT:
            comments.append((tick, where))
        elif deed != _FACT:
            written[where % PARAGRAPHS] = written[(where >> 16) % PARAGRAPHS] = (tick, event)
    return written, comments


class Pages:
    """The pages of one site."""

    def __init__(self, live: LiveSite, neighbours: Neighbours) -> None:
        self._live = live
        self._slots = live.slots
        self._signs = live.signs
        self._neighbours = neighbours
        self._far = _FAR if live.site.role in (Role.CORE, Role.IN) else 0
        self._sentences = sentences()
        self._passages = passages()
        site = live.site
        self._name = live.signs.title(0)
        self._head = self._head_end()
        self._nav = self._navigation()
        self._foot = (
            b"</main>\n<footer><p>%b is a site of the lab. " % site.host.encode()
            + (b'<a href="/index.html">Home</a> ' if site.names_index else b"")
            + b'<a href="/about.html">About us</a></p></footer>\n</body>\n</html>\n'
        )

    # -- whole pages

    def body(self, state: PageState, tick: int, view: str = "") -> bytes:
        """The page, in the view that was asked for ("", "print" or "sorted"), at `tick`."""
        moment = self._live.site.moment(tick)
        title = self._title(state)
        if state.slot >= self._slots.first_article:
            main = self._article(state, title, view)
        elif state.slot >= self._slots.first_listing:
            main = self._listing(state, title, moment, view)
        else:
            main = self._hub(state, title, moment)
        if view == "print":
            return b"".join(
                (_DOCTYPE, title, b"</title>\n", self._tags(state), b"</head>\n<body>\n", *main, b"</body>\n</html>\n")
            )
        return b"".join(
            (_DOCTYPE, title, self._head, self._tags(state), self._nav, *main, *self._churn(state, tick), self._foot)
        )

    def level(self, before: PageState, after: PageState) -> ChangeLevel:
        """How much of a page differs between two of its states, churning regions aside."""
        if before.version == after.version:
            return ChangeLevel.SAME
        is_article = after.slot >= self._slots.first_article and before.generation == after.generation
        return ChangeLevel.MINOR if is_article and traces(before) == traces(after) else ChangeLevel.MAJOR

    # -- regions

    def _title(self, state: PageState) -> bytes:
        is_article = state.slot >= self._slots.first_article
        return title_of(state.key, state.generation) if is_article else self._signs.title(state.slot)

    def _href(self, state: PageState) -> bytes:
        if state.slot < self._slots.first_article:
            return self._live.paths.fixed(state.slot)
        path = self._live.paths.article(state.slot, state.key, state.generation, state.born)
        return path.replace(b"&", b"&amp;")

    def _article(self, state: PageState, title: bytes, view: str) -> list[bytes]:
        key = state.key
        written, comments = traces(state)
        base = at(key ^ _TEXT_SALT, -2 - state.generation)
        parts = [b"<article>\n<h1>", title, b"</h1>\n", self._byline(state, base)]
        for place, (tick, event) in enumerate(written):
            self._paragraph(parts, at(base, event * 8 + place), tick)
        last = state.recent[0][1] if state.recent else -1
        parts.append(self._facts(at(base, last * 8 + 7)))
        parts += [self._comment(bits, tick) for tick, bits in reversed(comments)]
        if view == "print":
            parts.append(b"<p>Printed from %b</p>\n" % self._signs.anchor(state.slot, state.born).markup)
        elif has_print_version(key):
            parts.append(b'<p><a href="%b%b">Printable version</a></p>\n' % (PRINT.encode(), self._href(state)))
        parts.append(b"</article>\n")
        return parts

    def _paragraph(self, parts: list[bytes], key: int, moment: int) -> None:
        """Sixteen sentences with four links between them, the links as of when it was written."""
        signs, pool, far = self._signs, self._passages, self._far
        pointers = signs.pointers
        mask = len(pointers) - 1
        a, b, c, d, e, f, g, h = eight(key)
        parts.append(b"<p>")
        for draw, words in ((a, b), (c, d), (e, f), (g, h)):
            if draw < far:
                parts += (pool[words & _PASSAGE], self._neighbours.far_link(draw << 16 | words, moment), b". ")
                continue
            anchor = pointers[draw & mask]
            if anchor is None or not anchor.born <= moment < anchor.ends:
                anchor = signs.pointer(draw & mask, moment)
            parts += (pool[words & _PASSAGE], anchor.detour if words & _DETOUR else anchor.markup, b". ")
        parts.append(b"</p>\n")

    def _byline(self, state: PageState, bits: int) -> bytes:
        born, modified = self._day(state.born), self._stamp(state.modified)
        return b'<p class="by">By %b, %b. Updated <time>%b</time>.</p>\n' % (person(bits & 0xFFFF), born, modified)

    def _facts(self, bits: int) -> bytes:
        price, stock = (bits >> 8) % 90000, (bits >> 32) % 500
        return b"<table><tr><th>Price<td>%d.%02d<tr><th>In stock<td>%d</table>\n" % (price // 100, price % 100, stock)

    def _comment(self, bits: int, tick: int) -> bytes:
        words = self._sentences[bits >> 16 & _SENTENCE] + self._sentences[bits >> 32 & _SENTENCE]
        return b'<div class="comment"><b>%b</b> on %b: %b</div>\n' % (person(bits & 0xFFFF), self._stamp(tick), words)

    def _listing(self, state: PageState, title: bytes, moment: int, view: str) -> list[bytes]:
        live = self._live
        articles = live.slots.shown_by(state.slot)
        items = [self._item(slot, moment) for slot in (reversed(articles) if view == "sorted" else articles)]
        below = [b"<li>%b</li>\n" % live.signs.anchor(slot, moment).markup for slot in live.slots.below(state.slot)]
        order = b""
        if live.site.alias.startswith("sort="):
            href = live.paths.fixed(state.slot) + b"?" + live.site.alias.encode()
            order = b'<p><a href="%b">Sort by price</a></p>\n' % href
        return [*self._opening(state, title, moment), order, b"<ul>\n", *items, b"</ul>\n<ul>\n", *below, b"</ul>\n"]

    def _hub(self, state: PageState, title: bytes, moment: int) -> list[bytes]:
        """What is new; on the home page also the sections, the hubs and the neighbours."""
        live = self._live
        items = [self._item(slot, born) for born, slot in live.latest(state.slot, moment)]
        parts = [*self._opening(state, title, moment), b"<h2>New</h2>\n<ul>\n", *items, b"</ul>\n"]
        if state.slot == 0:
            hubs = [live.signs.anchor(slot, moment).markup for slot in range(1, live.slots.first_listing)]
            sections = [live.signs.anchor(slot, moment).markup for slot in live.slots.below(0)]
            friends = self._neighbours.ring(live)
            for heading, links in ((b"Latest", hubs), (b"Sections", sections), (b"Friends", friends)):
                parts += (b"<h2>%b</h2>\n<p>" % heading, b", ".join(links), b"</p>\n")
        return parts

    def _opening(self, state: PageState, title: bytes, moment: int) -> list[bytes]:
        """Heading and two paragraphs, which the page's own changes rewrite."""
        tick, event = self._live.changes.last(state.key, moment, 0)
        heading = b"<h1>%b</h1>\n<p>Updated <time>%b</time></p>\n"
        parts = [heading % (title, self._stamp(state.modified))]
        self._paragraph(parts, at(state.key ^ _TEXT_SALT, event), tick)
        self._paragraph(parts, at(state.key, -3), 0)
        return parts

    def _item(self, slot: int, moment: int) -> bytes:
        anchor = self._signs.anchor(slot, moment)
        summary = self._sentences[at(slot, anchor.born) & _SENTENCE]
        if anchor.detour is anchor.markup:
            return b"<li>%b %b</li>\n" % (anchor.markup, summary)
        return b"<li>%b %b %b</li>\n" % (anchor.markup, summary, anchor.detour)

    def _churn(self, state: PageState, tick: int) -> Iterable[bytes]:
        every = self._live.site.churn_every
        if not every:
            return ()
        bits = at(state.key ^ _CHURN_SALT, tick // every)
        return (
            b'<aside class="churn">\n<p>You are visitor number %d.</p>\n<blockquote>' % (1000 + tick // every),
            self._sentences[bits & _SENTENCE],
            b'</blockquote>\n<p class="ad" data-slot="%x">%b</p>\n' % (bits >> 20, self._sentences[bits >> 50]),
            b'<input type="hidden" name="csrf" value="%016x">\n</aside>\n' % bits,
        )

    # -- frames

    def _head_end(self) -> bytes:
        site = self._live.site
        feed = b""
        if site.feed:
            kind = f"application/{site.feed}+xml".encode()
            feed = b'<link rel="alternate" type="%b" title="News" href="/feed.xml">\n' % kind
        start = b' - %b</title>\n<meta name="viewport" content="width=device-width">\n' % self._name
        return start + _STYLE + feed

    def _tags(self, state: PageState) -> bytes:
        tags = b""
        article = state.slot >= self._slots.first_article
        if self._live.site.names_canonical:
            path = self._href(state)
            tags = b'<link rel="canonical" href="http://%b%b">\n' % (self._live.site.host.encode(), path)
        if article and has_noindex(state.key):
            tags += b'<meta name="robots" content="noindex">\n'
        return tags

    def _navigation(self) -> bytes:
        live = self._live
        fixed = [0, *range(1, min(live.slots.first_listing, 3)), *live.slots.below(0)[:_IN_NAVIGATION]]
        links = [live.signs.anchor(slot, 0).markup for slot in fixed]
        if live.site.records:
            links.append(b'<a href="/search">Search</a>')
        return b"</head>\n<body>\n<header><nav>\n" + b"\n".join(links) + b"\n</nav></header>\n<main>\n"

    def _day(self, tick: int) -> bytes:
        return day_text((tick + self._live.origin) // DAY)

    def _stamp(self, tick: int) -> bytes:
        day, second = divmod(tick + self._live.origin, DAY)
        return b"%b %02d:%02d:%02d" % (day_text(day), second // 3600, second // 60 % 60, second % 60)
