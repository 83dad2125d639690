"""Reads feeds (RSS 0.9x, 1.0, 2.0, Atom) and plain text lists as sitemaps.

The protocol admits both. Of a feed's items only URL, date and title are read; `formats.feed` reads everything else.

Reasons: "missing-loc", "truncated", "bad-lastmod", "not-a-url", and those of `fields`.
"""

from __future__ import annotations

import re

from periplus.model import Lastmod

from .fields import EDGES, ODD, QUOTED, EntityRefusedError, Fields
from .markup import ElementText, Markup, attributes
from .outbox import Outbox
from .values import Entry

_ITEMS = frozenset({"item", "entry"})
_TOMBSTONE = "deleted-entry"
_MOST_TOMBSTONES = 50_000
"""Tombstones of one feed that are read: as many as a sitemap may have entries."""
_ROOTS = frozenset({"rss", "rdf", "feed"})
_ALTERNATE = ("alternate", "http://www.iana.org/assignments/relation/alternate")
_DEEPEST = 64
"""Nesting depth of elements in an item; deeper ones are not distinguished."""

_LONGEST_BASE = 2048
"""Characters; every short link of the feed becomes as long as this."""

_CHANGED = ("updated", "modified", "pubdate", "date", "published", "issued", "created")
_TEXTS = frozenset({"link", "guid", "id", "title", *_CHANGED})
_CHANNEL = frozenset({"pubdate", "lastbuilddate", "updated", "modified"})
_ITS_OWN = frozenset({"date"})
"""Elements that are known by name alone; others must have the prefix of their item (`media:title` is not its title)."""


class FeedItems:
    """Reads one feed, in portions of text.

    An item's URL is its `link` (Atom: the first one to an alternate), else its `guid`, `id` or `rdf:about` if that is a
    URL, even with `isPermaLink="false"`: publishers write that of URLs too. Only direct children of the item count, so
    that the title of its source or the link of its author is not taken for its own. Links of the channel are not
    entries. The `xml:base` of the feed, of an entry and of a link apply (RFC 4287 section 2). `gone` are the entries
    that the feed reports as deleted (RFC 6721), if their ids are URLs, with the time of that.
    """

    def __init__(self, fields: Fields, outbox: Outbox) -> None:
        self.lastmod: Lastmod | None = None
        self.gone: list[Entry] = []
        self._fields = fields
        self._outbox = outbox
        self._markup = Markup(self, fields)
        self._capture = ElementText(fields)
        self._prefix = ""
        self._item: dict[str, str] | None = None
        self._inside: list[tuple[str, str]] = []
        self._base = self._item_base = ""
        self._has_ended = False

    @property
    def pending(self) -> int:
        """Characters that wait for what follows them."""
        return self._markup.pending

    def feed(self, text: str, *, is_last: bool = False) -> None:
        """Read more text."""
        self._markup.feed(text, is_last=is_last)
        if is_last:
            self._finish()

    def leaf(self, _prefix: str, _local: str, _raw: str, /) -> bool:
        """Feeds are small: every element goes the long way."""
        return False

    def text(self, raw: str, *, is_decoded: bool) -> None:
        """Take in text, if we are in an element whose text we want."""
        if self._capture.name:
            self._capture.add(raw, is_decoded=is_decoded)

    def open(self, prefix: str, local: str, attrs: str) -> None:
        """Enter an item, or an element of it."""
        if local in _ITEMS:
            self._end_item()
            self._item, self._prefix = {}, prefix
            self._item_base = self._based(self._base, attrs)
            self._keep("about", attributes(attrs).get("rdf:about", "") if attrs else "")
        elif self._item is None:
            if local in _CHANNEL:
                self._capture.begin(local)
            elif local in _ROOTS:
                self._base = self._based(self._base, attrs)
            elif local == _TOMBSTONE and len(self.gone) < _MOST_TOMBSTONES:
                self._bury(attributes(attrs))
        else:
            if not self._inside and local in _TEXTS and (prefix == self._prefix or local in _ITS_OWN):
                self._open_child(local, attrs)
            if len(self._inside) < _DEEPEST:
                self._inside.append((prefix, local))

    def _bury(self, found: dict[str, str]) -> None:
        try:
            ref, when = (self._fields.decoded(found.get(name, "")).strip() for name in ("ref", "when"))
        except EntityRefusedError as refused:
            self._fields.complain("entity-refused", str(refused))
            return
        lastmod = self._fields.feed_date(when)
        if lastmod is not None and ref.lower().startswith(_HTTP):
            self.gone.append(Entry(ref, lastmod))

    def _open_child(self, local: str, attrs: str) -> None:
        found = attributes(attrs) if local == "link" and "=" in attrs else {}
        if "href" not in found:
            self._capture.begin(local)
        elif found.get("rel", "alternate").strip().lower() in _ALTERNATE:
            href, base = found["href"], self._based(self._item_base, attrs)
            self._keep("link", href if base == self._item_base else self._fields.resolved(href, base) or href)

    def _based(self, base: str, attrs: str) -> str:
        """The base of URLs inside a tag: its `xml:base`, else that around it."""
        if "xml:base" not in attrs:
            return base
        written = attributes(attrs).get("xml:base", "")
        if not 0 < len(written) <= _LONGEST_BASE:
            return base
        return self._fields.resolved(written.replace("&amp;", "&"), base) or base

    def _keep(self, name: str, raw: str) -> None:
        """Remember an attribute, unless there is one."""
        try:
            text = self._fields.decoded(raw)
        except EntityRefusedError as refused:
            self._fields.complain("entity-refused", str(refused))
            return
        if text and self._item is not None:
            self._item.setdefault(name, text)

    def close(self, prefix: str, local: str, /) -> None:
        """Leave it, and whatever was not ended inside of it."""
        if local in _ITEMS:
            self._end_item()
        elif self._item is None:
            self._close_outside(local)
        elif (prefix, local) in self._inside:
            while self._inside.pop() != (prefix, local):
                pass
            if not self._inside and local == self._capture.name and (text := self._capture.end()):
                self._item.setdefault(local, text)

    def _close_outside(self, local: str) -> None:
        if local == self._capture.name:
            date = self._fields.feed_date(self._capture.end())
            if date is not None and (self.lastmod is None or date.at > self.lastmod.at):
                self.lastmod = date
        elif local in _ROOTS:
            self._has_ended = True

    def _end_item(self) -> None:
        item, self._item = self._item, None
        self._inside.clear()
        self._capture.name = ""
        if item is None:
            return
        url = self._url(item)
        if url is None:
            self._fields.complain("missing-loc", item.get("title", ""))
            return
        dates = (self._fields.feed_date(item[name]) for name in _CHANGED if name in item)
        lastmod = next((date for date in dates if date is not None), None)
        self._outbox.put(Entry(url, lastmod, title=self._fields.text(item.get("title", ""))))

    def _url(self, item: dict[str, str]) -> str | None:
        link = self._fields.url(item.get("link", ""), self._item_base)
        if link is not None:
            return link
        others = (item.get(name, "").strip() for name in ("guid", "about", "id"))
        return next((other for other in others if other.lower().startswith(("http://", "https://"))), None)

    def _finish(self) -> None:
        if self._item is not None or not self._has_ended:
            self._fields.complain("truncated")
        if self._item is not None and self._item.get("link"):
            self._end_item()


_HTTP = ("http://", "https://")
_RELATIVE = ("/", "www.")
_END_OF_LINE = re.compile(r"[\r\n]")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://\S")


def looks_like_list(text: str) -> bool:
    """Whether some line of it begins with a URL."""
    return any(_URL.match(line.strip(EDGES)) for line in text.splitlines())


class TextList:
    """Reads one list, one URL a line, in portions of text.

    Several URLs on a line are several entries; a URL with white space in it is one. Columns after a tab and lines that
    begin with `#` are skipped. If the bytes were cut off, the last line is dropped: half a URL is another URL.
    """

    def __init__(self, fields: Fields, outbox: Outbox) -> None:
        self._fields = fields
        self._outbox = outbox
        self._tail = ""
        self._is_skipping = False

    @property
    def pending(self) -> int:
        """Characters that wait for what follows them."""
        return len(self._tail)

    def feed(self, text: str, *, is_last: bool = False) -> None:
        """Read more text."""
        text, self._tail = self._tail + text, ""
        if not is_last or self._outbox.is_cut:
            end = max(text.rfind("\n"), text.rfind("\r")) + 1
            text, self._tail = text[:end], text[end:]
        if self._is_skipping:
            end_of_line = _END_OF_LINE.search(text)
            self._is_skipping = end_of_line is None
            text = "" if end_of_line is None else text[end_of_line.end() :]
        if text and not self._read_regular(text):
            for line in text.splitlines():
                self._read_line(line.strip(EDGES))
        if len(self._tail) > self._fields.limits.text:
            if not self._is_skipping:
                self._fields.complain("too-long", self._tail)
            self._tail, self._is_skipping = "", True
        if is_last and self._tail:
            self._fields.complain("truncated", self._tail)

    def _read_regular(self, text: str) -> bool:
        """All lines at once, if they are nothing but URLs."""
        words = text.split()
        entries = [Entry(word) for word in words if word.startswith(_HTTP)]
        if len(entries) != len(words) or max(map(len, words), default=0) > self._fields.limits.text:
            return False
        if not text.isascii() and ODD.search(text):
            return False
        self._outbox.put_all(entries)
        return True

    def _read_line(self, line: str) -> None:
        if not line or line.startswith("#"):
            return
        words = line.split()
        if all(map(_URL.match, words)):
            for word in words:
                self._put(word)
        elif _URL.match(words[0]):
            self._put(line.partition("\t")[0])
        elif len(words) == 1 and (line.startswith(_RELATIVE) or QUOTED.fullmatch(line)):
            self._put(line)
        else:
            self._fields.complain("not-a-url", line)

    def _put(self, text: str) -> None:
        url = self._fields.url(text)
        if url is not None:
            self._outbox.put(Entry(url))
