"""What pages look like: generated at the moment they are asked for, from a page's key and its last changes.

A page has regions of three kinds, so that "changed" has degrees. The static region is paragraphs, each rewritten by
some of the page's changes together with its links; facts are touched by small changes; the scrolling region is
comments, or the list of what is new. The churning region (a counter, a quote, a token) turns over by the clock.
Links keep pointing at the page that was there when their paragraph was written, dead or alive, as links do.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import islice

from periplus.model import ChangeLevel

from .life import DAY
from .live import LiveSite, State, has_noindex, has_print_version
from .neighbours import Neighbours
from .paths import PRINT, day_text
from .randomness import at, eight
from .sites import Role
from .vocabulary import PASSAGES, passages, person, sentences

PARAGRAPHS = 6
MEMORY = 6
"""Changes that a page shows traces of: what an older one did has been undone since."""

_PASSAGE, _SENTENCE = PASSAGES - 1, 2 * PASSAGES - 1
_TEXT_SALT, _CHURN_SALT = 0xD6E8FEB86659FD93, 0xA0761D6478BD642F
_FAR_SHARE = 20  # of 256 links


class Deed(Enum):
    """What a change did to an article."""

    FACT = 0
    PARAGRAPH = 1
    PARAGRAPH_TOO = 2
    COMMENT = 3


def deed_of(key: int, number: int) -> tuple[Deed, int]:
    """What a change did, and bits to say where."""
    bits = at(key ^ _TEXT_SALT, number)
    return Deed(bits & 3), bits >> 8


class Pages:
    """The pages of one site."""

    def __init__(self, live: LiveSite, neighbours: Neighbours) -> None:
        self._live = live
        self._neighbours = neighbours
        self._far_share = _FAR_SHARE if live.site.role in (Role.CORE, Role.IN) else 0
        self._sentences = sentences()
        self._passages = passages()
        site = live.site
        self._name = live.fixed_title(0)
        self._head = self._head_end()
        self._nav = self._navigation()
        self._foot = (
            b"</main>\n<footer><p>%b is a site of the lab. " % site.host.encode()
            + b'<a href="/about.html">About us</a></p></footer>\n</body>\n</html>\n'
        )

    # -- whole pages

    def body(self, state: State, tick: int, view: str = "") -> bytes:
        """The page, in the view that was asked for ("", "print" or "sorted"), at `tick`."""
        moment = self._live.site.moment(tick)
        if state.slot >= self._live.site.first_article:
            main = self._article(state, moment, view)
        elif state.slot >= self._live.site.first_listing:
            main = self._listing(state, moment, view)
        else:
            main = self._hub(state, moment)
        title = self._title(state)
        if view == "print":
            return b"".join(
                (_DOCTYPE, title, b"</title>\n", self._tags(state), b"</head>\n<body>\n", *main, b"</body>\n</html>\n")
            )
        return b"".join(
            (_DOCTYPE, title, self._head, self._tags(state), self._nav, *main, *self._churn(state, tick), self._foot)
        )

    def level(self, before: State, after: State, tick: int) -> ChangeLevel:
        """How much of a page differs between two of its states, churning regions aside; `tick` is of the later."""
        if before.version == after.version:
            return ChangeLevel.SAME
        if after.slot < self._live.site.first_article or before.generation != after.generation:
            return ChangeLevel.MAJOR
        changes = self._live.changes.before(after.key, self._live.site.moment(tick), since=after.born)
        seen = (before.version & (1 << 40) - 1) - 1
        for change in changes:
            if change.number <= seen:
                break
            if deed_of(after.key, change.number)[0] is not Deed.FACT:
                return ChangeLevel.MAJOR
        return ChangeLevel.MINOR

    # -- regions

    def _title(self, state: State) -> bytes:
        if state.slot < self._live.site.first_article:
            return self._live.fixed_title(state.slot)
        return self._live.anchor(state.slot, state.born).title

    def _article(self, state: State, moment: int, view: str) -> list[bytes]:
        key = state.key
        written = [(state.born, -1)] * PARAGRAPHS
        comments = []
        last = -1
        changes = list(islice(self._live.changes.before(key, moment, since=state.born), MEMORY))
        if changes:
            last = changes[0].number
        for change in reversed(changes):
            deed, bits = deed_of(key, change.number)
            if deed is Deed.COMMENT:
                comments.append(self._comment(bits, change.tick))
            elif deed is not Deed.FACT:
                written[bits % PARAGRAPHS] = (change.tick, change.number)
        base = at(key ^ _TEXT_SALT, -2 - state.generation)
        parts = [b"<article>\n<h1>", self._title(state), b"</h1>\n", self._byline(state, base)]
        for place, (tick, number) in enumerate(written):
            self._paragraph(parts, at(base, number * 8 + place), tick)
        parts.append(self._facts(at(base, last * 8 + 7)))
        parts.extend(reversed(comments))
        if view == "print":
            parts.append(b"<p>Printed from %b</p>\n</article>\n" % self._live.anchor(state.slot, state.born).markup)
        else:
            if has_print_version(key):
                href = PRINT.encode() + self._live.anchor(state.slot, state.born).path.replace(b"&", b"&amp;")
                parts.append(b'<p><a href="%b">Printable version</a></p>\n' % href)
            parts.append(b"</article>\n")
        return parts

    def _paragraph(self, parts: list[bytes], key: int, moment: int) -> None:
        """Eight sentences with four links between them, the links as of when it was written.

        A page spends most of its time here, so the draw of a target by rank (`randomness.skewed`) is written out.
        """
        live, far_share, pool = self._live, self._far_share, self._passages
        known, base, size = live.anchors.get, live.anchor_base, live.site.size
        bits = eight(key)
        parts.append(b"<p>")
        for draw, more in zip(bits[:4], bits[4:], strict=True):
            if more >> 13 & 255 < far_share:
                markup = self._neighbours.far_link(draw << 32 | more, moment)
            else:
                square = draw * draw >> 32
                slot = (square * square >> 32) * size >> 32
                anchor = known(base + slot)
                if anchor is None or not anchor.born <= moment < anchor.ends:
                    anchor = live.pointer(slot, moment)
                markup = anchor.detour if more >> 21 & 1 else anchor.markup
            parts += (pool[more & _PASSAGE], markup, b". ")
        parts.append(b"</p>\n")

    def _byline(self, state: State, bits: int) -> bytes:
        born, modified = self._day(state.born), self._stamp(state.modified)
        return b'<p class="by">By %b, %b. Updated <time>%b</time>.</p>\n' % (person(bits), born, modified)

    def _facts(self, bits: int) -> bytes:
        price, stock = (bits >> 8) % 90000, (bits >> 32) % 500
        return b"<table><tr><th>Price<td>%d.%02d<tr><th>In stock<td>%d</table>\n" % (price // 100, price % 100, stock)

    def _comment(self, bits: int, tick: int) -> bytes:
        words = self._sentences[bits >> 16 & _SENTENCE] + self._sentences[bits >> 32 & _SENTENCE]
        return b'<div class="comment"><b>%b</b> on %b: %b</div>\n' % (person(bits), self._stamp(tick), words)

    def _listing(self, state: State, moment: int, view: str) -> list[bytes]:
        live = self._live
        articles = live.listed_articles(state.slot)
        items = [self._item(slot, moment) for slot in (reversed(articles) if view == "sorted" else articles)]
        below = [b"<li>%b</li>\n" % live.anchor(slot, moment).markup for slot in live.sub_listings(state.slot)]
        order = b""
        if live.site.alias.startswith("sort="):
            href = live.paths.fixed(state.slot) + b"?" + live.site.alias.encode()
            order = b'<p><a href="%b">Sort by price</a></p>\n' % href
        return [*self._opening(state, moment), order, b"<ul>\n", *items, b"</ul>\n<ul>\n", *below, b"</ul>\n"]

    def _hub(self, state: State, moment: int) -> list[bytes]:
        """What is new; on the home page also the sections, the hubs and the neighbours."""
        live = self._live
        items = [self._item(slot, born) for born, slot in live.latest(state.slot, moment)]
        parts = [*self._opening(state, moment), b"<h2>New</h2>\n<ul>\n", *items, b"</ul>\n"]
        if state.slot == 0:
            hubs = [live.anchor(slot, moment).markup for slot in range(1, live.site.first_listing)]
            sections = [live.anchor(slot, moment).markup for slot in live.sub_listings(0)]
            for heading, links in (
                (b"Latest", hubs),
                (b"Sections", sections),
                (b"Friends", self._neighbours.ring(live)),
            ):
                parts += (b"<h2>%b</h2>\n<p>" % heading, b", ".join(links), b"</p>\n")
        return parts

    def _opening(self, state: State, moment: int) -> list[bytes]:
        """Heading and two paragraphs, which the page's own changes rewrite."""
        change = self._live.changes.last(state.key, moment, since=0)
        parts = [
            b"<h1>",
            self._title(state),
            b"</h1>\n<p>Updated <time>",
            self._stamp(state.modified),
            b"</time></p>\n",
        ]
        base = at(state.key ^ _TEXT_SALT, change.number)
        self._paragraph(parts, base, change.tick)
        self._paragraph(parts, at(state.key, -3), 0)
        return parts

    def _item(self, slot: int, moment: int) -> bytes:
        anchor = self._live.anchor(slot, moment)
        summary = self._sentences[at(slot, anchor.born) & _SENTENCE]
        return b"<li>%b %b</li>\n" % (anchor.markup, summary)

    def _churn(self, state: State, tick: int) -> Iterable[bytes]:
        every = self._live.site.churn_every
        if not every:
            return ()
        bits = at(state.key ^ _CHURN_SALT, tick // every)
        counter = 1000 + tick // 60
        return (
            b'<aside class="churn">\n<p>You are visitor number %d.</p>\n<blockquote>' % (counter // (every // 60 or 1)),
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
        return b' - %b</title>\n<meta name="viewport" content="width=device-width">\n%b' % (self._name, feed)

    def _tags(self, state: State) -> bytes:
        tags = b""
        article = state.slot >= self._live.site.first_article
        if self._live.site.names_canonical:
            path = self._live.anchor(state.slot, state.born).path.replace(b"&", b"&amp;")
            tags = b'<link rel="canonical" href="http://%b%b">\n' % (self._live.site.host.encode(), path)
        if article and has_noindex(state.key):
            tags += b'<meta name="robots" content="noindex">\n'
        return tags

    def _navigation(self) -> bytes:
        live = self._live
        fixed = [0, *range(1, min(live.site.first_listing, 3)), *live.sub_listings(0)]
        links = [live.anchor(slot, 0).markup for slot in fixed]
        if live.site.records:
            links.append(b'<a href="/search">Search</a>')
        return b"</head>\n<body>\n<header><nav>\n" + b"\n".join(links) + b"\n</nav></header>\n<main>\n"

    def _day(self, tick: int) -> bytes:
        return day_text((tick + self._live.origin) // DAY).encode()

    def _stamp(self, tick: int) -> bytes:
        day, second = divmod(tick + self._live.origin, DAY)
        return b"%b %02d:%02d:%02d" % (day_text(day).encode(), second // 3600, second // 60 % 60, second % 60)


_DOCTYPE = b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>'
