"""Bounds a crawl by the place of a URL relative to the seeds (`Scope`), and by the shape of the URL (`Shape`).

Reason of `Scope`: `out-of-scope`; the rule is the kind of scope.

* `domain` (the default): every host of the registrable domains of the seeds, on any port. A seed on an address, on a
  bare name such as `localhost` or on a public suffix itself has no such domain and stands for its site.
* `host`: the sites of the seeds: host and port, http and https being one site on their own ports. Two ports of one
  machine are two services, and a seed names one of them.
* `prefix`: below the directory of a seed, on its site: `https://a.org/docs/intro.html` stands for `/docs/`.
* `any`: the web.

Seeds are always inside, and so is the page that a seed redirects to. Whether the *place* of that page joins the scope
is decided by `has_moved`; if so, the caller calls `widen` and keeps the URL with the seeds.

Reasons of `Shape`: `scheme`, `too-long`, `path-depth`, `repeated-segment`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Struct

from periplus.model import ConfigError, Discovery, Domain, Reject, Site, Source, Url, Verdict
from periplus.model.flags import FOR_AGENTS, Flag
from periplus.urls import domain_of, site_of

from ..settings import nearest
from .reasons import ACCEPT

KINDS = ("domain", "host", "prefix", "any")

_TOP = re.compile(r"/(?:[a-z]{2}(?:[-_][A-Za-z]{2})?/?|(?:index|default|home)\.[a-z]{3,5})?", re.ASCII)
"""A home page: the root, a language below it, or an index by name."""

_REMEMBERED = 65_536
_LONGEST_REMEMBERED = 300


class ScopeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The scope of the seeds."""

    kind: Annotated[
        str,
        Flag(
            "--scope",
            "How far to go from the seeds; by default their domains.",
            verbs=("crawl", "map"),
            choices=KINDS,
        ),
        Flag(
            "--scope",
            "Of a site: how far the crawl goes from it; by default its host.",
            verbs=("audit",),
            choices=KINDS,
        ),
        FOR_AGENTS,
    ] = "domain"
    """`domain`, `host`, `prefix` or `any`."""
    suffixes: tuple[str, ...] = ()
    """Additional public suffixes: with "lab.test", a.lab.test and b.lab.test are two domains."""


class Scope:
    """Accepts URLs inside the scope of the seeds."""

    def __init__(self, seeds: Iterable[Url], settings: ScopeSettings | None = None) -> None:
        settings = settings or ScopeSettings()
        self.kind, self._suffixes = settings.kind, settings.suffixes
        if self.kind not in KINDS:
            raise ConfigError(f"unknown scope: {self.kind!r}", hint=f"did you mean {nearest(self.kind, KINDS)!r}?")
        self._is_whole = self.kind != "prefix"
        self._refusal = Reject("out-of-scope", self.kind)
        self._domains: set[Domain | None] = set()
        self._sites: set[Site] = set()
        self._directories: set[str] = set()
        self._inside: dict[str, bool] = {}
        for seed in seeds:
            self.widen(seed)

    def unclear(self, urls: Sequence[Url]) -> list[int]:
        """The positions of URLs that are outside, or whose host is not known yet."""
        if not self._is_whole:
            return list(range(len(urls)))
        is_inside = self._inside.get
        return [place for place, url in enumerate(urls) if not is_inside(url.split("/", 3)[2])]

    def judge(self, discovery: Discovery) -> Verdict:
        """Judge by the place of the URL; seeds and their redirect targets are always inside."""
        url = discovery.url
        if self._is_whole and self._inside.get(url.split("/", 3)[2]):
            return ACCEPT
        if self.holds(url) or discovery.source is Source.SEED:
            return ACCEPT
        if discovery.source is Source.REDIRECT and discovery.depth == 0:
            return ACCEPT
        return self._refusal

    def holds(self, url: Url) -> bool:
        """Whether a URL is inside the scope."""
        authority = url.split("/", 3)[2]
        inside = self._inside.get(authority)
        if inside is None:
            inside = self._remember(authority, site_of(url))
        return inside and (self._is_whole or self._is_below(url))

    def widen(self, url: Url) -> bool:
        """Add the place of a URL to the scope. Return whether the scope has grown."""
        size = len(self._domains) + len(self._sites) + len(self._directories)
        site = site_of(url)
        domain = domain_of(site, self._suffixes) if self.kind == "domain" else None
        if self.kind == "prefix":
            self._directories.add(site + _path_of(url).rpartition("/")[0] + "/")
        if domain is not None:
            self._domains.add(domain)
        else:
            self._sites.add(site)
        self._inside.clear()
        return len(self._domains) + len(self._sites) + len(self._directories) > size

    def has_moved(self, seed: Url, target: Url) -> bool:
        """Whether a seed that redirects there has moved, and the place joins the scope.

        A seed takes its scope along to the host with or without `www.`, to the same path on another host of its domain,
        and from the top of a site to the top of another. A seed that ends at a log-in page, a registrar or a profile in
        a social network has not moved.
        """
        if self.holds(target):
            return False
        old, new = site_of(seed), site_of(target)
        if self._is_whole and old.removeprefix("www.") == new.removeprefix("www."):
            return True
        before, after = _path_of(seed), _path_of(target)
        domain = domain_of(old, self._suffixes)
        if domain is not None and domain == domain_of(new, self._suffixes) and before.rstrip("/") == after.rstrip("/"):
            return True
        return bool(_TOP.fullmatch(before) and _TOP.fullmatch(after)) and "?" not in target

    def _remember(self, authority: str, site: Site) -> bool:
        """Hosts repeat, so the Public Suffix List is consulted once for each."""
        if len(self._inside) >= _REMEMBERED:
            self._inside.clear()
        inside = self.kind == "any" or site in self._sites or domain_of(site, self._suffixes) in self._domains
        if len(authority) <= _LONGEST_REMEMBERED:
            self._inside[authority] = inside
        return inside

    def _is_below(self, url: Url) -> bool:
        """Whether a directory above the URL is a seed's: one lookup for each slash, however many seeds there are."""
        site, path = site_of(url), _path_of(url)
        end = path.find("/")
        while end >= 0:
            if site + path[: end + 1] in self._directories:
                return True
            end = path.find("/", end + 1)
        return False


def _path_of(url: Url) -> str:
    return url[url.index("/", 8) :].partition("?")[0]


_LONGEST_SHAPE_REMEMBERED = 200


class ShapeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of a URL."""

    max_length: int = 2000
    """Maximum characters."""
    max_segments: int = 16
    """Maximum segments of the path."""
    max_repeats: int = 2
    """Maximum occurrences of one segment in a path."""


class Shape:
    """Refuses URLs that are too long, too deep or that go in circles. For seeds only scheme and length count.

    Relative links that lost their slash make paths such as `/about/news/about/news/about/`: a third occurrence of a
    segment is the sign of it, next to itself or not (cf. IRLbot, Lee et al. 2009; Olston & Najork 2010, section 6.2).
    Segments of figures alone are exempt, because dates repeat: `/11/11/11/`. A name that stands twice at the beginning,
    as owner and project do (`/scipy/scipy/blob/main/scipy/`), counts once. `Traps` learns from fetched pages.

    The URLs of a page share few directories. One that leaves room for any last segment is remembered, and URLs in it
    are not cut to pieces again.
    """

    def __init__(self, settings: ShapeSettings | None = None) -> None:
        self._settings = settings or ShapeSettings()
        self._max_length = self._settings.max_length
        self._harmless: set[str] = set()

    def unclear(self, urls: Sequence[Url]) -> list[int]:
        """The positions of URLs that are long, have a query, or are in a directory that is not known."""
        harmless, most = self._harmless, self._max_length
        return [
            place
            for place, url in enumerate(urls)
            if url.rpartition("/")[0] not in harmless or "?" in url or len(url) > most
        ]

    def judge(self, discovery: Discovery) -> Verdict:
        """Judge a URL by length, scheme, number of segments and their repetition."""
        url = discovery.url
        if len(url) > self._max_length:
            return Reject("too-long", f"max_length = {self._max_length}")
        directory = (url if "?" not in url else url.partition("?")[0]).rpartition("/")[0]
        if directory in self._harmless:
            return ACCEPT
        return self._judge_parts(discovery, directory)

    def _judge_parts(self, discovery: Discovery, directory: str) -> Verdict:
        url = discovery.url
        if not url.startswith(("https://", "http://")):
            return Reject("scheme", "http and https only")
        if self._complaint(directory.split("/")[3:], room=1) is None:
            self._remember(directory)
            return ACCEPT
        segments = url.partition("?")[0].split("/")[3:]
        complaint = self._complaint(segments if segments[-1] else segments[:-1], room=0)
        return ACCEPT if complaint is None or discovery.source is Source.SEED else complaint

    def _remember(self, directory: str) -> None:
        if len(self._harmless) >= _REMEMBERED:
            self._harmless.clear()
        if len(directory) <= _LONGEST_SHAPE_REMEMBERED:
            self._harmless.add(directory)

    def _complaint(self, segments: list[str], room: int) -> Reject | None:
        """The problem of a path that may have `room` more segments."""
        settings = self._settings
        if len(segments) + room > settings.max_segments:
            return Reject("path-depth", f"max_segments = {settings.max_segments}")
        if len(segments) > 2 and segments[0] == segments[1] != segments[2]:
            segments = segments[1:]
        for segment in dict.fromkeys(segments):
            if segments.count(segment) + room > settings.max_repeats and not segment.isdecimal():
                return Reject("repeated-segment", segment[:80])
        return None
