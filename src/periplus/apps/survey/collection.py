"""The facts of a survey from a collection: its tables `fetches`, `sitemap_entries` and `discoveries`, and its archive.

Nothing is fetched and nothing of the collection is changed. In memory are a few hundred bytes for each robots.txt and
each sitemap file that was asked for or named, never an entry of a sitemap.

A robots.txt is looked for as the crawl did: at the domain, where redirects lead, and, where a web page stands in its
place, under `www.`; the whole chain is in `fetches`. Sitemaps stand in trees as `trees` says. A file that no other
named counts only if it could be read: that a guess was wrong says nothing of a domain.

A file is placed once in the trees, on the shortest path from a robots.txt: so loops end. One that several domains name
belongs to the one on whose hosts it is, if any, else to the first of the list. A file that no robots.txt and no index
names (a guess, a submission) begins a tree of its own, and belongs to the domain on whose host it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.sitemaps.trees import twin_key
from periplus.formats.robots import looks_like_html
from periplus.formats.sitemap import Kind, Limits, read
from periplus.model import Site, UsageError
from periplus.store.tables import Spooled, scan
from periplus.urls import canonical, site_of

from .facts import (
    FILE,
    FILE_AT_WWW,
    HTML_INSTEAD,
    NOT_A_SITEMAP,
    NOT_ASKED,
    NOT_FETCHED,
    NOT_READ,
    READ,
    REDIRECTED,
    Fact,
    FileFact,
    RobotsFact,
    robots_fact,
)
from .readings import Answers, Asked, FileReading, Readings


class Place(Struct, frozen=True, gc=False):
    """The position of a file: `key` is shared by its twins; `tree` and `parent` are URLs."""

    key: str
    url: str
    domain: str
    tree: str
    parent: str | None = None
    depth: int = 0


class Roots:
    """Sitemaps that robots.txt files name, with the domains that name them."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}

    def add(self, key: str, url: str, domain: str) -> None:
        """A domain names a sitemap."""
        known = self._places.get(key)
        if known is None or (is_of(url, domain) and not is_of(known.url, known.domain)):
            self._places[key] = Place(key, url, domain, url)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places.values())


def grown(roots: Iterable[Place], children: Callable[[str], Mapping[str, str]], known: set[str]) -> Iterator[Place]:
    """Every file of the trees, level by level; `known` has the keys that are already placed, and grows.

    `children` returns the URLs that a file names, by their keys.
    """
    level: deque[Place] = deque()
    for root in roots:
        if root.key not in known:
            known.add(root.key)
            level.append(root)
    while level:
        place = level.popleft()
        yield place
        for key, url in children(place.key).items():
            if key not in known:
                known.add(key)
                level.append(Place(key, url, place.domain, place.tree, place.url, place.depth + 1))


def is_of(url: str, domain: str) -> bool:
    """Whether a URL is on a host of a domain."""
    host, name = _host(url.partition("://")[2].partition("/")[0]), _host(domain)
    return host == name or host.endswith(f".{name}")


def _host(site: str) -> str:
    return site.partition(":")[0] if not site.startswith("[") else site


MOST_HOPS: Final = 8
"""Redirects in a row, and the step to `www.`, that are followed through the table."""
_USABLE: Final = frozenset({Kind.URLSET, Kind.INDEX, Kind.TEXT, Kind.RSS, Kind.ATOM})
_GZIP: Final = b"\x1f\x8b"
_SNIFFING: Final = Limits(size=1 << 20)
"""Maximum decompressed size of a beginning: less is enough to recognise a decompression bomb."""
_NOTHING: Final = FileReading()
_WHOLE: Final = 200
"""The status of an answer whose body is read."""


def facts_of_collection(
    folder: Path, domains: Iterable[str] | None = None, *, spooled: Sequence[Spooled] = ()
) -> Iterator[Fact]:
    """A fact for each domain, in the order of the list, then one for each sitemap file.

    `domains` are those of the survey, by rank; by default the seeds of the collection, in the order in which they were
    given. `spooled` has the last rows of a crawl that runs or was killed.
    """
    if not (folder / "tables").is_dir():
        raise UsageError(
            f"{folder} is not a collection: it has no tables", hint="give the folder of a survey or a crawl"
        )
    answers = Answers(folder, spooled, _key_of)
    sites = list(dict.fromkeys(_sites(domains) if domains is not None else _seeds(folder, spooled)))
    roots = Roots()
    for rank, site in enumerate(sites, 1):
        fact = replace(_robots(site, answers), rank=rank)
        for url in fact.sitemaps:
            roots.add(_key_of(url), url, site)
        yield fact
    yield from _files(roots, sites, answers, Readings(folder, spooled, _key_of))


def _sites(domains: Iterable[str]) -> Iterator[Site]:
    """The domains in canonical form.

    A line that is not a domain stays as it is: it cannot have been requested.
    """
    for domain in map(str.strip, domains):
        url = canonical(domain if "://" in domain else f"http://{domain}/")
        if domain:
            yield Site(domain) if url is None else site_of(url)


def _seeds(folder: Path, spooled: Sequence[Spooled]) -> Iterator[Site]:
    for batch in scan(folder / "tables", "discoveries", spooled=spooled, columns=["url", "source"]):
        for url, source in zip(batch["url"].to_pylist(), batch["source"].to_pylist(), strict=True):
            if source == "seed":
                yield site_of(url)


# robots.txt


def _robots(site: Site, answers: Answers) -> RobotsFact:
    """The outcome of a domain's robots.txt, through redirects and `www.`."""
    asked = answers.robots.get(f"http://{site}/robots.txt") or answers.robots.get(f"https://{site}/robots.txt")
    last = page = None
    for _ in range(MOST_HOPS):
        if asked is None:
            break
        last = asked
        if asked.outcome == "redirected":
            asked = answers.robots.get(asked.target or "")
        elif not asked.is_found:
            break
        elif not looks_like_html(body := answers.robots_body(asked)):
            outcome = FILE_AT_WWW if page else FILE
            return robots_fact(site, body, asked.url, outcome=outcome, status=asked.status, is_html=page is not None)
        else:
            page, asked = asked, _at_www(site, asked, answers) if page is None else None
    if last is None:
        return RobotsFact(site, NOT_ASKED)
    if page is not None:
        return RobotsFact(site, HTML_INSTEAD, page.status, is_html=True)
    return RobotsFact(site, "too-many-redirects" if last.outcome == "redirected" else last.trouble, last.status)


def _at_www(site: Site, page: Asked, answers: Answers) -> Asked | None:
    """The answer of `www.`, if it was requested: also for a site that redirects all requests to its front page."""
    for scheme in ("http", "https") if page.url.startswith("http:") else ("https", "http"):
        url = f"{scheme}://{site if site.startswith('www.') else f'www.{site}'}/robots.txt"
        if url != page.url and url in answers.robots:
            return answers.robots[url]
    return None


# sitemaps


def _files(roots: Roots, sites: Sequence[Site], answers: Answers, readings: Readings) -> Iterator[FileFact]:
    known: set[str] = set()

    def children(key: str) -> Mapping[str, str]:
        """The sitemaps that a robots.txt names, with relative URLs resolved."""
        places = (hop for hop in (key, *_hops(key, answers)) if hop == key or hop not in known)
        return next((readings.children[hop] for hop in places if hop in readings.children), {})

    named = list(grown(roots, children, known))
    reached = {key for place in named for key in _hops(place.key, answers)}
    for place in named:
        yield _file(place, known, answers, readings)
    guessed = (key for key in answers.sitemaps if key not in known and key not in reached)
    owners = _Owners(sites)
    unnamed = (Place(key, url, owners.of(url), url) for key in guessed for url in [answers.sitemaps[key].url])
    for place in grown(unnamed, children, known):
        fact = _file(place, known, answers, readings)
        if fact.is_read or place.parent is not None:
            yield fact


class _Owners:
    """The domain of the list that a host belongs to; the host itself if there is none."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = set(sites)

    def of(self, url: str) -> str:
        site = url.partition("://")[2].partition("/")[0]
        name = site
        while name:
            if name in self._sites:
                return name
            name = name.partition(".")[2]
        return site


def _hops(key: str, answers: Answers) -> Iterator[str]:
    """The targets of the redirects from a file, one after the other."""
    for _ in range(MOST_HOPS):
        asked = answers.sitemaps.get(key)
        if asked is None or asked.outcome != "redirected" or asked.target is None:
            return
        key = _key_of(asked.target)
        yield key


def _file(place: Place, known: set[str], answers: Answers, readings: Readings) -> FileFact:
    """The fact about a file. One that redirects to another known file has no contents."""
    asked, reading = answers.sitemaps.get(place.key), readings.files.get(place.key)
    for key in _hops(place.key, answers):
        if key in known:
            break
        asked, reading = answers.sitemaps.get(key), reading or readings.files.get(key)
    fact = FileFact(place.url, place.domain, place.tree, place.parent, place.depth)
    if asked is None:
        return replace(fact, outcome=NOT_FETCHED)
    if asked.outcome == "redirected":
        return replace(fact, outcome=REDIRECTED, status=asked.status)
    if not asked.is_found and not (asked.outcome == "not-modified" and reading):
        return replace(fact, outcome=asked.trouble, status=asked.status)
    if reading is None and asked.status == _WHOLE:
        return replace(fact, outcome=NOT_READ, status=asked.status)
    return _read(fact, asked, reading or _NOTHING, *answers.beginning(asked))


def _read(fact: FileFact, asked: Asked, reading: FileReading, beginning: bytes, is_coded: bool) -> FileFact:
    kind = _kind_of(beginning, reading)
    is_named_so = asked.url.partition("?")[0].lower().endswith(".gz")
    is_read = kind in _USABLE or reading.entries > 0 or reading.named > 0
    outcome = READ if is_read else HTML_INSTEAD if kind is Kind.HTML else NOT_A_SITEMAP
    return replace(
        fact,
        kind=kind.value,
        is_gzipped=beginning.startswith(_GZIP) or (is_named_so and (is_coded or not beginning)),
        outcome=outcome,
        status=asked.status,
        entries=reading.entries,
        children=reading.named,
        size=asked.size,
        problems=reading.problems,
        with_lastmod=reading.with_lastmod,
        with_changefreq=reading.with_changefreq,
        with_priority=reading.with_priority,
    )


def _kind_of(beginning: bytes, reading: FileReading) -> Kind:
    """The kind of a file by its first bytes; if they are not kept, by its entries."""
    if not beginning and (reading.entries or reading.named):
        return Kind.INDEX if reading.named else Kind.URLSET
    values = read(beginning, limits=_SNIFFING)
    next(values, None)
    return values.kind or Kind.UNKNOWN


def _key_of(url: str) -> str:
    """The key that a file and its twins (`x.xml`, `x.xml.gz`) share."""
    known = canonical(url)
    return url if known is None else twin_key(known)
