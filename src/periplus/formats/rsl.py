"""Reads licences of RSL 1.0 (Really Simple Licensing), and finds where responses and feeds name them.

    document = read_rsl(body)                      # never raises; `document.problems` says what is wrong
    document.answers("https://example.org/a")      # {"search": Permission("allow"), "train": ..., "ai_input": ...}

Of the `content` elements the one with the longest matching `url` counts, as in robots.txt (RFC 9309). For each use:
what any of its licences prohibits is `disallow`; where there are `permits` and none names the use, it is, too; else
the cheapest offer counts: `allow` if it is free, else `conditional` with its conditions. Nothing is ever paid or asked
for, so a condition is a fact to be recorded, not a step that follows.

| condition | meaning |
|---|---|
| `attribution` | the source must be named |
| `pay:TYPE` | a payment: `purchase`, `subscription`, `training`, `crawl`, `use`, `contribution` |
| `token` | a licence server must be asked, even if it is free |
| `user`, `geo` | only for some kinds of users, or in some countries, and we do not know that we belong to them |
| `license-unreadable` | there is a licence, but it could not be read: models may not have the page |

Problems: `too-large`, `not-xml`, `not-rsl`, `unknown-element` make a document unreadable; `repeated-permits`,
`absolute-url`, `unknown-usage` do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from periplus.urls import canonical, whatwg

from .headers import read_links
from .robots.patterns import matches_path, path_of

if TYPE_CHECKING:
    from lxml import etree

NAMESPACE: Final = "https://rslstandard.org/rsl"
MEDIA_TYPE: Final = "application/rsl+xml"
MAX_LICENSE_BYTES: Final = 1 << 20
"""Bytes of a document that is read; a longer one is unreadable."""
MAX_CONTENTS: Final = 1000
"""`content` elements of a document that are read: a site has a few folders. With more it is unreadable."""
MAX_LICENSES: Final = 100
"""Licences of one `content` element that are read. With more the document is unreadable."""
DEFAULT_MAX_AGE: Final = 30
"""Days for which a document may be used that does not say for how long."""
UNREADABLE: Final = "license-unreadable"

SEARCH, TRAIN, AI_INPUT = "search", "train", "ai_input"
ALLOW, DISALLOW, CONDITIONAL, UNKNOWN = "allow", "disallow", "conditional", "unknown"

_ELEMENTS: Final = frozenset(
    {
        *("rsl", "content", "schema", "copyright", "terms", "alternate", "license", "permits", "prohibits"),
        *("payment", "standard", "custom", "amount", "accepts", "legal", "reporting"),
    }
)
_AI: Final = frozenset({"ai-train", "ai-input", "ai-index"})
_USAGES: Final = {"all": _AI | {"search"}, "ai-all": _AI, **{each: frozenset({each}) for each in (*_AI, "search")}}
_MISSPELT: Final = {"train-ai": "ai-train"}
"""Names of other vocabularies, which are only obeyed where they prohibit."""
_NAMES: Final = {SEARCH: ("search",), TRAIN: ("ai-train",), AI_INPUT: ("ai-input",)}
_PROHIBITING: Final = {**_NAMES, AI_INPUT: ("ai-input", "ai-index")}
_COSTS: Final = ("free", "attribution", "contribution", "use", "crawl", "training", "subscription", "purchase")
"""Kinds of payment, the cheapest first."""
_WORDS: Final = re.compile(r"[\s,]+")
_DECLARATION: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


class Permission(Struct, frozen=True):
    """What a source says of one use: `allow`, `disallow`, `conditional` or `unknown`, and under which conditions."""

    answer: str = UNKNOWN
    conditions: tuple[str, ...] = ()


NOTHING_SAID: Final = Permission()
_REFUSED: Final = Permission(DISALLOW)
UNREADABLE_LICENSE: Final = {
    SEARCH: NOTHING_SAID,
    TRAIN: Permission(DISALLOW, (UNREADABLE,)),
    AI_INPUT: Permission(DISALLOW, (UNREADABLE,)),
}
"""What a licence says that is named but cannot be read."""
_SILENT: Final = {SEARCH: NOTHING_SAID, TRAIN: NOTHING_SAID, AI_INPUT: NOTHING_SAID}


_CREATIVE_COMMONS: Final = re.compile(
    r"https?://(?:www\.)?creativecommons\.org/(?:licenses/(by[a-z-]*|sa|nc[a-z-]*|nd[a-z-]*)|publicdomain/(?:zero|mark))"
    r"(?:/|$)",
    re.IGNORECASE,
)
_TERMS: Final = {"by": "attribution", "nc": "non-commercial", "nd": "no-derivatives", "sa": "share-alike"}


def creative_commons(url: str) -> dict[str, Permission] | None:
    """What a licence of Creative Commons says of each use, by its URL; `None` if it is another one.

    An index may always be made: results name their sources. Copies for readers are no derivatives.
    """
    found = _CREATIVE_COMMONS.match(url)
    if found is None:
        return None
    terms = tuple(_TERMS[term] for term in (found[1] or "").lower().split("-") if term in _TERMS)
    copies = tuple(term for term in terms if term != "no-derivatives")
    used, copied = (Permission(CONDITIONAL if each else ALLOW, each) for each in (terms, copies))
    return {SEARCH: Permission(ALLOW), TRAIN: used, AI_INPUT: used, "archive": copied}


class Licensee(Struct, frozen=True):
    """What is known of whoever would use a page: kinds of users, and a country; empty if it is not known."""

    users: frozenset[str] = frozenset()
    country: str = ""


class RslLicense(Struct, frozen=True):
    """One `license` element. `None`: there is no such element, so it does not limit."""

    permits: frozenset[str] | None = None
    prohibits: frozenset[str] = frozenset()
    payments: tuple[str, ...] = ()
    users: tuple[str, ...] | None = None
    barred_users: tuple[str, ...] = ()
    countries: tuple[str, ...] | None = None
    barred_countries: tuple[str, ...] = ()
    must_report: bool = False


class RslContent(Struct, frozen=True):
    """One `content` element: the `url` pattern as written, whether a licence server is named, and its licences."""

    url: str
    has_server: bool = False
    licenses: tuple[RslLicense, ...] = ()


class RslDocument(Struct, frozen=True):
    """A licence document. `is_readable` is false if it must not be relied on."""

    contents: tuple[RslContent, ...] = ()
    max_age_days: int = DEFAULT_MAX_AGE
    problems: tuple[str, ...] = ()
    is_readable: bool = True

    def content_for(self, url: str) -> tuple[str, tuple[RslContent, ...]]:
        """The longest pattern that matches a URL, and the elements with it; none if none does."""
        path, origin = path_of(url), _origin(url)
        found: dict[str, list[RslContent]] = {}
        for content in self.contents:
            pattern = _path_pattern(content.url, origin)
            if pattern is not None and _matches(pattern, path):
                found.setdefault(pattern, []).append(content)
        longest = max(found, key=len, default="")
        return longest, tuple(found.get(longest, ()))

    def answers(self, url: str, licensee: Licensee | None = None) -> dict[str, Permission]:
        """What the document says of each use of a URL."""
        if not self.is_readable:
            return dict(UNREADABLE_LICENSE)
        contents = self.content_for(url)[1]
        pairs = [(content.has_server, each) for content in contents for each in content.licenses]
        if not pairs:
            return dict(_SILENT)
        return {use: _answer(pairs, use, licensee or Licensee()) for use in (SEARCH, TRAIN, AI_INPUT)}


def _answer(pairs: Sequence[tuple[bool, RslLicense]], use: str, licensee: Licensee) -> Permission:
    licenses = [each for _, each in pairs]
    if any(name in each.prohibits for each in licenses for name in _PROHIBITING[use]):
        return _REFUSED
    named = [(server, each) for server, each in pairs if each.permits is not None and _NAMES[use][0] in each.permits]
    if not named and any(each.permits is not None for each in licenses):
        return _REFUSED
    offers = [_offer(server, each, licensee) for server, each in named or pairs]
    possible = [offer for offer in offers if offer is not None]
    return min(possible, key=_cost, default=_REFUSED)


def _offer(has_server: bool, offered: RslLicense, licensee: Licensee) -> Permission | None:
    """What a licence offers; `None` if we cannot have it: it is for others, or wants to be reported to."""
    is_user = _belongs(licensee.users, offered.users, offered.barred_users)
    country = frozenset({licensee.country.lower()}) if licensee.country else frozenset[str]()
    is_there = _belongs(country, offered.countries, offered.barred_countries)
    if offered.must_report or is_user is False or is_there is False:
        return None
    payment = min(offered.payments, key=_payment_cost, default="free")
    conditions = [] if payment == "free" else ["attribution" if payment == "attribution" else f"pay:{payment}"]
    conditions += ["token"] * has_server + ["user"] * (is_user is None) + ["geo"] * (is_there is None)
    return Permission(CONDITIONAL if conditions else ALLOW, tuple(conditions))


def _belongs(ours: frozenset[str], admitted: Sequence[str] | None, barred: Sequence[str]) -> bool | None:
    """Whether we are among those admitted; `None` if we do not know."""
    if (admitted is None or "all" in admitted) and not barred:
        return True
    if not ours:
        return False if "all" in barred else None
    if not ours.isdisjoint(barred) or "all" in barred:
        return False
    return admitted is None or "all" in admitted or not ours.isdisjoint(admitted)


def _payment_cost(payment: str) -> int:
    return _COSTS.index(payment) if payment in _COSTS else len(_COSTS)


def _cost(offer: Permission) -> tuple[int, int]:
    first = next((each for each in offer.conditions if each == "attribution" or each.startswith("pay:")), "free")
    return _payment_cost(first.removeprefix("pay:")), len(offer.conditions)


def _origin(url: str) -> str:
    return url[: url.index("/", url.index("://") + 3)] if "://" in url and url.count("/") > 2 else url


def _path_pattern(written: str, origin: str) -> str | None:
    """The pattern as a path; `None` if it is about another origin. An empty one is about everything that names it."""
    if "://" not in written:
        return written if not written or written.startswith(("/", "*")) else f"/{written}"
    whole = canonical(written.replace("*", "%2A")) or ""
    if not whole or _origin(whole).lower() != origin.lower():
        return None
    return path_of(written)


def _matches(pattern: str, path: str) -> bool:
    return not pattern or matches_path(pattern, path)


def read_rsl(body: bytes) -> RslDocument:
    """Read a licence document. It has no DTD, no entities, and no unknown element of the RSL namespace."""
    if len(body) > MAX_LICENSE_BYTES:
        return _unreadable("too-large")
    if _DECLARATION.search(body.replace(b"\0", b"")):
        return _unreadable("not-xml")
    root = _parsed(body)
    return _unreadable("not-xml") if root is None else _Reading().document(root)


@cache
def _lxml() -> Any:
    """The parser, which takes longer to import than most commands take to start."""
    return import_module("lxml.etree")


def _parsed(body: bytes, *, recover: bool = False) -> etree._Element | None:
    lxml = _lxml()
    parser = lxml.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=recover,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root: etree._Element | None = lxml.fromstring(body.strip(), parser)
    except (lxml.XMLSyntaxError, ValueError, AssertionError):
        return None
    return root


def _unreadable(problem: str) -> RslDocument:
    return RslDocument(problems=(problem,), is_readable=False)


class _Reading:
    """Reads one document; the problems are collected."""

    def __init__(self) -> None:
        self._problems: dict[str, None] = {}

    def document(self, root: etree._Element) -> RslDocument:
        """What the document says. Elements of other namespaces are extensions, which are ignored."""
        if _name(root) != "rsl":
            return _unreadable("not-rsl")
        if any(name and name not in _ELEMENTS for name in map(_name, root.iter(_lxml().Element))):
            return _unreadable("unknown-element")
        contents = [self._content(each) for each in root.iter(f"{{{NAMESPACE}}}content")]
        if len(contents) > MAX_CONTENTS or any(len(content.licenses) > MAX_LICENSES for content in contents):
            return _unreadable("too-large")
        age = (root.get("max-age") or "").strip()
        days = int(age) if age.isascii() and age.isdigit() and len(age) < 6 else DEFAULT_MAX_AGE
        return RslDocument(tuple(contents), days, tuple(self._problems))

    def _content(self, element: etree._Element) -> RslContent:
        url = (element.get("url") or "").strip()
        if "://" in url:
            self._problems["absolute-url"] = None
        licenses = tuple(self._license(each) for each in element if _name(each) == "license")
        return RslContent(url, bool((element.get("server") or "").strip()), licenses)

    def _license(self, element: etree._Element) -> RslLicense:
        permits, prohibits = self._lists(element, "permits"), self._lists(element, "prohibits")
        payments = [(each.get("type") or "free").strip().lower() for each in element if _name(each) == "payment"]
        return RslLicense(
            self._usages(permits["usage"], {}) if "usage" in permits else None,
            self._usages(prohibits.get("usage", ()), _MISSPELT),
            tuple(payments),
            permits.get("user"),
            prohibits.get("user", ()),
            permits.get("geo"),
            prohibits.get("geo", ()),
            any(_name(each) == "reporting" for each in element),
        )

    def _lists(self, element: etree._Element, name: str) -> dict[str, tuple[str, ...]]:
        """The words of all `permits` or `prohibits` of a licence, by their type; several of one type are united.

        What is written inside an extension is only obeyed where it prohibits.
        """
        found: dict[str, tuple[str, ...]] = {}
        for each in element:
            if _name(each) == name:
                kind = (each.get("type") or "usage").strip().lower()
                if kind in found:
                    self._problems["repeated-permits"] = None
                own = [each.text or "", *(part.tail or "" for part in each)]
                texts = [str(text) for text in each.itertext()] if name == "prohibits" else own
                words = tuple(word for word in _WORDS.split(" ".join(texts).lower()) if word)
                found[kind] = found.get(kind, ()) + words
        return found

    def _usages(self, words: Iterable[str], misspelt: dict[str, str]) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for word in words:
            if word not in _USAGES:
                self._problems["unknown-usage"] = None
            found |= _USAGES.get(misspelt.get(word, word), frozenset())
        return found


def _name(element: etree._Element) -> str:
    """The name of an element of the RSL namespace; empty for others, and for comments."""
    tag = element.tag
    return tag.removeprefix(f"{{{NAMESPACE}}}") if isinstance(tag, str) and tag.startswith(f"{{{NAMESPACE}}}") else ""


class NamedLicense(Struct, frozen=True):
    """Where a response names its licence: `by` is `header`, `html` or `feed`.

    `url` is the document, empty if it is written inline, which is `inline` then.
    """

    by: str
    url: str = ""
    inline: bytes = b""


MAX_NAMED: Final = 10
"""Licences that one response may name: each is fetched."""


def header_licenses(links: str | Sequence[str], url: str) -> list[NamedLicense]:
    """The licences that `Link` headers of a response name; those of other types are not RSL."""
    found = [
        NamedLicense("header", link.url)
        for link in read_links(links, url)
        if "license" in link.rel and link.type.partition(";")[0].strip() == MEDIA_TYPE and not link.anchor
    ]
    return found[:MAX_NAMED]


def header_commons(links: str | Sequence[str], url: str) -> list[NamedLicense]:
    """The licences of Creative Commons that `Link` headers of a response name."""
    named = [link.url for link in read_links(links, url) if "license" in link.rel and not link.anchor]
    return [NamedLicense("header", each) for each in named if creative_commons(each) is not None][:MAX_NAMED]


def linked_license(href: str, base: str) -> NamedLicense | None:
    """The licence that an element of a page names; `None` if that is not a URL."""
    url = whatwg(href.strip(), base)
    return None if url is None else NamedLicense("html", url)


MAX_FEED: Final = 16 << 20
"""Bytes of a feed in which licences are looked for."""


def feed_licenses(body: bytes, url: str) -> list[NamedLicense]:
    """The licences that the items of a feed have, as documents of their own; only those about the feed's own origin."""
    if NAMESPACE.encode() not in body or len(body) > MAX_FEED or _DECLARATION.search(body):
        return []
    root = _parsed(body, recover=True)
    found: list[NamedLicense] = []
    for element in root.iter(f"{{{NAMESPACE}}}content") if root is not None else ():
        about = whatwg((element.get("url") or "").strip(), url)
        if about is None or _origin(about) != _origin(url):
            continue
        holder = _lxml().Element(f"{{{NAMESPACE}}}rsl", nsmap={"rsl": NAMESPACE})
        holder.append(element)
        found.append(NamedLicense("feed", "", _lxml().tostring(holder)))
    return found
