"""From the elements of a feed to a `FeedDocument`.

Elements are known by their namespace and name; the namespaces of RSS and Atom go by many addresses, and feeds forget to
declare them, so that a bare prefix does as well. What is in the namespace of its item or channel is part of it,
whatever that namespace is. Links are resolved against `xml:base` and the URL of the feed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from lxml import etree

from periplus.model import Lastmod, Problem
from periplus.urls import whatwg

from .. import dates
from .source import balanced, open_source
from .values import FeedDocument, FeedKind, Item, Tombstone, folded, plain

MOST_ITEMS = 50_000
"""Items of one feed that are read; more are not."""

MOST_PROBLEMS = 100
"""Problems reported of one feed, at most: more of the same do not help."""

_NOTHING = Item()
_BROKEN = ("not-well-formed", "truncated")
_MOST_MISTAKES = 1_000
_LACKS_ENDS = (etree.ErrorTypes.ERR_TAG_NAME_MISMATCH, etree.ErrorTypes.ERR_RESOURCE_LIMIT)
_TOO_MANY = Problem("too-many-items", f"more than {MOST_ITEMS}")
_LONGEST_TITLE = 1_000
_LONGEST_SUMMARY = 2_000
_LONGEST_URL = 8_192
_LONGEST_TTL = 366 * 86400.0
_LONGEST_TAG = 200
_MOST_NAMES = 256
_MOST_HUBS = 10
_DEEPEST = 8
_PIECE = 65_536
_ITEMS = tuple(f"{{*}}{name}" for name in ("item", "Item", "ITEM", "entry", "Entry", "ENTRY"))
_REGISTERED = "http://www.iana.org/assignments/relation/"
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_ROOT_TAG = re.compile(r"<([^\s/>]{1,100})[^>]*+")
_IS_WEB = re.compile(r"\s*https?://", re.IGNORECASE)
_PERIODS = {"hourly": 3600.0, "daily": 86400.0, "weekly": 604800.0, "monthly": 2592000.0, "yearly": 31536000.0}
_PREFIXES = {
    "http://www.w3.org/2005/atom": "atom",
    "http://purl.org/atom/ns#": "atom",
    "http://purl.org/atompub/tombstones/1.0": "at",
    "http://purl.org/dc/elements/1.1": "dc",
    "http://purl.org/dc/terms": "dcterms",
    "http://purl.org/rss/1.0/modules/syndication": "sy",
    "http://purl.org/rss/1.0/modules/content": "content",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://purl.org/rss/1.0": "",
    "http://my.netscape.com/rdf/simple/0.9": "",
    "http://channel.netscape.com/rdf/simple/0.9": "",
    "http://backend.userland.com/rss2": "",
    "http://backend.userland.com/rss": "",
    "http://backend.userland.com/rss091": "",
    "http://backend.userland.com/rss092": "",
    "http://blogs.law.harvard.edu/tech/rss": "",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
}


# Where a fact may be broken, the best place first.
_PUBLISHED = (
    "pubdate",
    "published",
    "atom:published",
    "issued",
    "atom:issued",
    "dc:date",
    "dcterms:created",
    "dcterms:issued",
    "created",
    "atom:created",
)
_UPDATED = ("updated", "atom:updated", "modified", "atom:modified", "dcterms:modified")
_CHANGED = ("lastbuilddate", *_UPDATED, *_PUBLISHED)
_TITLE = ("title", "atom:title", "dc:title")
_SUMMARY = ("description", "summary", "atom:summary", "dc:description", "content:encoded", "content", "atom:content")
_ID = ("guid", "id", "atom:id", "dc:identifier")
_LINK = ("link", "atom:link")

Element = etree._Element
Parts = dict[str, list[Element]]


def read(body: bytes | Iterable[bytes], url: str = "") -> FeedDocument:
    """Read a feed from `url`, as far as possible; never raises.

    If the parser fails, the feed is read once more with missing end tags added.
    """
    source = open_source(body)
    if not source.text:
        return FeedDocument(None, problems=source.problems)
    reading = _Reading(url, source.problems)
    feed = reading.read(source.text)
    if not reading.is_unbalanced:
        return feed
    broken = (problem for problem in feed.problems if problem.reason in _BROKEN)
    again = _Reading(url, (*source.problems, *islice(broken, 1))).read(balanced(source.text))
    return again if len(again.items) >= len(feed.items) else feed


class _Reading:
    """One feed being read: its items, the problems found so far, and the base URL of its links."""

    def __init__(self, url: str, problems: Iterable[Problem]) -> None:
        self.url = url
        self.problems = list(problems)
        self.items: list[Item] = []
        self.is_unbalanced = False

    def read(self, text: str) -> FeedDocument:
        """Feed the parser piece by piece, and drop the tree of each item once it is read."""
        parser = etree.XMLPullParser(
            events=("end",),
            tag=_ITEMS,
            recover=True,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            remove_comments=True,
            remove_pis=True,
            encoding="utf-8",
        )
        root: Element | None = None
        try:
            for start in range(0, len(text), _PIECE):
                parser.feed(text[start : start + _PIECE].encode())
                self._take_items(parser)
            root = parser.close()
        except etree.XMLSyntaxError as error:
            self._add_problem("not-well-formed", str(error))
            self.is_unbalanced = True
        self._take_items(parser)
        self._judge(text, parser)
        return self._feed(root)

    def _take_items(self, parser: etree.XMLPullParser) -> None:
        for _, element in parser.read_events():
            if not isinstance(element, Element) or not _is_item(element):
                continue
            if len(self.items) < MOST_ITEMS:
                self.items.append(self._item(element))
            elif self.problems[-1:] != [_TOO_MANY]:
                self.problems.append(_TOO_MANY)
            element.clear()

    def _judge(self, text: str, parser: etree.XMLPullParser) -> None:
        """Report faults of the XML. The parser closes an item that was cut off, but its link may be incomplete."""
        root = _ROOT_TAG.match(text)
        if root is not None and not root[0].endswith("/") and f"</{root[1]}" not in text:
            self._add_problem("truncated", text[-100:])
            opened, closed = (max(text.rfind(f"{mark}item"), text.rfind(f"{mark}entry")) for mark in ("<", "</"))
            if self.items and opened > closed and _TOO_MANY not in self.problems:
                self.items.pop()
        mistakes = [*islice(parser.feed_error_log, _MOST_MISTAKES)]
        self.is_unbalanced = self.is_unbalanced or any(mistake.type in _LACKS_ENDS for mistake in mistakes)
        if mistakes and not any(problem.reason in _BROKEN for problem in self.problems):
            self._add_problem("not-well-formed", f"line {mistakes[0].line}: {mistakes[0].message}")

    def _feed(self, root: Element | None) -> FeedDocument:
        if root is None:
            return FeedDocument(None, items=tuple(self.items), problems=tuple(self.problems))
        kind, version = _kind(root)
        channel = next((child for child in root if _local(child) == "channel"), root)
        parts = _parts(channel)
        link = next(filter(None, (self._resolve(*place) for place in _places(channel, parts))), "")
        return FeedDocument(
            kind=kind,
            version=version,
            url=next(self._related(parts, "self"), ""),
            link=link,
            title=_plain_of(parts, _TITLE, _LONGEST_TITLE),
            updated=self._date(parts, _CHANGED),
            ttl=_ttl(parts),
            hubs=tuple(dict.fromkeys(self._related(parts, "hub")))[:_MOST_HUBS],
            items=tuple(self.items),
            problems=tuple(self.problems),
            tombstones=tuple(islice(_tombstones(parts), MOST_ITEMS)),
        )

    def _item(self, element: Element) -> Item:
        if not len(element) and not element.attrib:
            self._add_problem("no-link", "")
            return _NOTHING
        parts = _parts(element)
        return Item(
            url=self._item_url(element, parts),
            id=folded(_first_text(parts, _ID), _LONGEST_URL),
            title=_plain_of(parts, _TITLE, _LONGEST_TITLE),
            published=self._date(parts, _PUBLISHED),
            updated=self._date(parts, _UPDATED),
            summary=_plain_of(parts, _SUMMARY, _LONGEST_SUMMARY),
        )

    def _item_url(self, element: Element, parts: Parts) -> str:
        bad = ""
        for written, place in _places(element, parts):
            url = self._resolve(written, place)
            if url:
                return url
            bad = bad or written.strip()
        self._add_problem("bad-link" if bad else "no-link", bad or _first_text(parts, _TITLE))
        return ""

    def _related(self, parts: Parts, rel: str) -> Iterator[str]:
        for name in _LINK:
            for link in parts.get(name, ()):
                if rel in _relations(link, ""):
                    url = self._resolve(link.get("href") or "", link)
                    if url:
                        yield url

    def _resolve(self, written: str, place: Element) -> str:
        """An absolute URL, or an empty text; `place` is the element, for `xml:base`."""
        if not written or len(written) > _LONGEST_URL:
            return ""
        base = None if _IS_WEB.match(written) else self._base(place)
        url = whatwg(written, base)
        return url if url is not None and _IS_WEB.match(url) else ""

    def _base(self, place: Element) -> str | None:
        around = (place, *islice(place.iterancestors(), _DEEPEST))
        bases = [base for element in around if (base := element.get(_XML_BASE))]
        resolved = self.url or None
        for base in reversed(bases):
            resolved = whatwg(base, resolved) or resolved
        return resolved

    def _date(self, parts: Parts, names: tuple[str, ...]) -> Lastmod | None:
        for name in names:
            for part in parts.get(name, ()):
                text = _text(part)
                read = dates.read_any(text)
                if read is not None:
                    return read
                if text.strip():
                    self._add_problem("bad-date", text)
        return None

    def _add_problem(self, reason: str, detail: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(reason, detail[:200]))


class _Names(dict[str, str]):
    """The names of tags within an element: `item`, `dc:date`, `atom:link`, each worked out once.

    The namespace is written as its usual prefix, none for RSS, and all is in lower case. A tag with the namespace of
    the element around it counts as part of that vocabulary, whether we know that namespace or not.
    """

    def __init__(self, around: str) -> None:
        self._space, _, outer = around.lower().rpartition("}")
        self._own = "atom:" if outer in ("feed", "entry") else ""

    def __missing__(self, tag: str) -> str:
        if len(tag) > _LONGEST_TAG:
            return "other:"
        name = self._name(tag.lower())
        if len(self) < _MOST_NAMES:
            self[tag] = name
        return name

    def _name(self, tag: str) -> str:
        space, _, local = tag.rpartition("}")
        if not space:
            return local
        if space == self._space:
            return self._own + local
        prefix = _PREFIXES.get(space[1:].strip().removesuffix("/").replace("https://", "http://", 1), "other")
        return f"{prefix}:{local}" if prefix else local


@lru_cache(maxsize=64)
def _names_within(around: str) -> _Names:
    return _Names(around)


def _is_item(element: Element) -> bool:
    """Other vocabularies have items too; those of a namespace that we do not know count only at the usual place.

    An empty one within an item is none. One within an item that is not closed is one.
    """
    is_usual = _names_within("")[str(element.tag)] in ("item", "entry", "atom:entry")
    if is_usual and len(element):
        return True
    parent = element.getparent()
    place = "" if parent is None else _local(parent)
    return place not in ("item", "entry") if is_usual else place in ("channel", "rdf", "rss", "feed")


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2].rpartition(":")[2].lower()


def _kind(root: Element) -> tuple[FeedKind, str]:
    """The family, and the version that the feed declares or that its namespace implies."""
    version = (root.get("version") or "")[:16]
    match _local(root):
        case "feed":
            return FeedKind.ATOM, "0.3" if "purl.org/atom" in str(root.tag) else version or "1.0"
        case "rdf":
            return FeedKind.RDF, "0.90" if any("netscape" in str(child.tag) for child in root) else "1.0"
    return FeedKind.RSS, version


def _parts(element: Element) -> Parts:
    parts: Parts = {}
    names = _names_within(str(element.tag)[-_LONGEST_TAG:])
    for child in element:
        if isinstance(child.tag, str):
            parts.setdefault(names[child.tag], []).append(child)
    return parts


def _text(element: Element) -> str:
    return "".join(map(str, element.itertext())) if len(element) else element.text or ""


def _first_text(parts: Parts, names: tuple[str, ...]) -> str:
    for name in names:
        for part in parts.get(name, ()):
            text = _text(part)
            if text.strip():
                return text
    return ""


def _plain_of(parts: Parts, names: tuple[str, ...], longest: int) -> str:
    """The first of these with a text. Atom declares whether a text is markup (RFC 4287 section 3.1), RSS does not."""
    for name in names:
        for part in parts.get(name, ()):
            is_markup = not name.startswith("atom:") or "html" in (part.get("type") or "")
            text = plain(_text(part), longest) if is_markup and not len(part) else folded(_text(part), longest)
            if text:
                return text
    return ""


def _relations(link: Element, default: str) -> list[str]:
    """The relations of a link; a registered name may also be written as an IRI (RFC 4287 section 4.2.7.2)."""
    return [word.removeprefix(_REGISTERED) for word in (link.get("rel") or default).lower().split()]


def _places(element: Element, parts: Parts) -> Iterator[tuple[str, Element]]:
    """The elements that may have the URL of an item or channel, the best first."""
    for origin in parts.get("feedburner:origlink", ()):
        yield _text(origin), origin
    links = [link for name in _LINK for link in parts.get(name, ())]
    alternates = [link for link in links if "alternate" in _relations(link, "alternate")]
    for link in sorted(alternates, key=lambda link: "html" not in (link.get("type") or "html")):
        yield _text(link).strip() or link.get("href") or "", link
    for content in (*parts.get("content", ()), *parts.get("atom:content", ())):
        yield content.get("src") or "", content
    yield element.get(_ABOUT) or "", element
    for name in _ID:
        for part in parts.get(name, ()):
            if _IS_WEB.match(_text(part)):
                yield _text(part), part


def _tombstones(parts: Parts) -> Iterator[Tombstone]:
    """The entries that are gone; one without an id or a date is not valid."""
    for gone in parts.get("at:deleted-entry", ()):
        ref, at = (gone.get("ref") or "").strip(), dates.read_any(gone.get("when") or "")
        if at is not None and 0 < len(ref) <= _LONGEST_URL:
            yield Tombstone(ref, at)


def _ttl(parts: Parts) -> float | None:
    """Minutes in RSS 2.0; in the syndication module a number of times in a period."""
    minutes = _number(_first_text(parts, ("ttl",)))
    if minutes is not None:
        return min(minutes * 60.0, _LONGEST_TTL)
    period = _PERIODS.get(_first_text(parts, ("sy:updateperiod",)).strip().lower())
    if period is None:
        return None
    return period / max(_number(_first_text(parts, ("sy:updatefrequency",))) or 1.0, 1.0)


def _number(text: str) -> float | None:
    text = text.strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
