"""Holds the URLs that a site lists in bounded memory: a sample of them, their names made one, and all fingerprints.

The Berkeley report put a random sample of 20,000 URLs of a site into its tree: heavy prefixes are heavy in any sample.
A reservoir draws them in one pass without knowing how many there are. Whether a prefix is a page is looked up among all
URLs, not in the sample: their fingerprints take 8 bytes each.

Several names may mean one place: broken schemes, sessions, `www`, index files, `x.html` beside `x/`. Unless they are
merged, results look like the report's own: `http://https://web.da-us.citibank.com/...`, and
`http:///www.pcworld.com/reviews.html` beside `http://pcworld.com/blogs.html`.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Final

import numpy as np
from msgspec import Struct

from periplus.model import Discovery, Rewrite, Source, Url
from periplus.policy.filters import Sessions
from periplus.urls import canonical, components, fingerprints, site_of

from .branches import MAX_DEPTH, Path

_SCHEMES = re.compile(r"^(?:https?:/*)+(?=https?:/)", re.IGNORECASE)
_MANY_SLASHES = re.compile(r"^(https?:)/{3,}", re.IGNORECASE)
_INDEX = re.compile(r"(?:index|default|home|welcome)\.(?:html?|xhtml|php\d?|aspx?|jsp|cgi|shtml)", re.IGNORECASE)
_PAGE = re.compile(r"\.(?:html?|xhtml|php\d?|aspx?|jsp|shtml)$", re.IGNORECASE)
_SUFFIXES: Final = ("/", "", ".html", ".htm", ".php", "/index.html", "/index.htm", "/index.php", ".aspx", ".jsp")
"""What a page of a prefix may be called, the commonest first."""
_sessions = Sessions()


def repaired(text: str) -> Url | None:
    """The canonical form of what was meant: of several schemes the last, without a session."""
    url = canonical(text if "://http" not in text and ":///" not in text else _with_one_scheme(text))
    if url is None or ("?" not in url and ";" not in url and "/(" not in url):
        return url
    verdict = _sessions.judge(Discovery(url, Source.SITEMAP, 0.0, 1))
    return verdict.url if isinstance(verdict, Rewrite) else url


def _with_one_scheme(text: str) -> str:
    return _MANY_SLASHES.sub(r"\1//", _SCHEMES.sub("", text.strip()))


class Names:
    """The path of each URL of a sample, once its other names are known."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._hosts = _merged_hosts(urls)
        plain = [self._plain(Url(url)) for url in urls]
        places = {path[:depth] for path in plain for depth in range(2, len(path))} | set(plain)
        self._schemes = Counter((path[0], url[: url.index(":")]) for path, url in zip(plain, urls, strict=True))
        self._spelt: dict[str, Counter[str]] = {}
        for path, url in zip(plain, urls, strict=True):
            self._spelt.setdefault(path[0], Counter())[str(site_of(Url(url)))] += 1
        self.paths = [_with_stem(path, places) for path in plain]

    def _plain(self, url: Url) -> Path:
        site, *parts = components(url)
        if parts and _INDEX.fullmatch(parts[-1]):
            parts.pop()
        return (self._hosts.get(site, site), *parts)[:MAX_DEPTH]

    def spellings(self, path: Path) -> Iterator[Url]:
        """What the page of a prefix may be called, the likeliest first."""
        site = path[0]
        schemes = sorted(("https", "http"), key=lambda scheme: -self._schemes[site, scheme])
        for host in (name for name, _ in self._spelt.get(site, Counter({site: 1})).most_common()):
            for scheme in schemes:
                for url in _urls(f"{scheme}://{host}", path[1:]):
                    found = canonical(url)
                    if found is not None:
                        yield found


def _urls(start: str, parts: Sequence[str]) -> Iterable[str]:
    if not parts:
        return (f"{start}/",)
    if parts[-1].startswith("?"):
        return (f"{start}/{'/'.join(parts[:-1])}{parts[-1]}", f"{start}/{'/'.join(parts[:-1])}/{parts[-1]}")
    return (f"{start}/{'/'.join(parts)}{suffix}" for suffix in _SUFFIXES)


def _merged_hosts(urls: Iterable[str]) -> dict[str, str]:
    """Hosts with and without `www` that are one: the rarer by the name of the commoner."""
    counts = Counter(str(site_of(Url(url))) for url in urls)
    merged = {}
    for host, count in counts.items():
        twin = f"www.{host}"
        if twin in counts:
            rarer, commoner = (host, twin) if count < counts[twin] else (twin, host)
            merged[rarer] = commoner
    return merged


def _with_stem(path: Path, places: set[Path]) -> Path:
    """`/reviews.html` is the page of `/reviews/`, if that exists."""
    stem = _PAGE.sub("", path[-1]) if len(path) > 1 else path[-1]
    return (*path[:-1], stem) if stem and stem != path[-1] and (*path[:-1], stem) in places else path


SAMPLE: Final = 20_000
_MOST_PRINTS: Final = 20_000_000
"""In a larger site, pages beyond these are known to exist only if they were sampled."""
_AT_ONCE: Final = 4096
_LONGEST: Final = 2048
"""Characters of a URL, by the protocol of sitemaps."""


class Listed(Struct, frozen=True, gc=False):
    """A URL with its metadata in the sitemap. `lastmod` is POSIX time."""

    url: str
    priority: float | None = None
    lastmod: float | None = None
    title: str = ""


class Sample:
    """A random sample of the URLs of a site, by a seed, and a filter of all of them.

    `total` is how many there were, `unreadable` how many more were no URLs, or longer than the protocol lets them be.
    """

    def __init__(
        self, urls: Iterable[str | Listed], *, size: int = SAMPLE, seed: int = 0, repairs: bool = True
    ) -> None:
        self.total = 0
        self.unreadable = 0
        self._prints = array("Q")
        self._drawn: list[Listed] = []
        random = Random(seed)  # noqa: S311 - chance, not secrets
        for url, listed in self._read(urls, repairs):
            self.total += 1
            drawn = Listed(url, listed.priority, listed.lastmod, listed.title)
            if len(self._drawn) < size:
                self._drawn.append(drawn)
            elif (place := int(random.random() * self.total)) < size:
                self._drawn[place] = drawn
        self._known = np.unique(np.frombuffer(self._prints, np.uint64))

    def _read(self, urls: Iterable[str | Listed], repairs: bool) -> Iterator[tuple[Url, Listed]]:
        """Every URL in canonical form, a few thousand at a time."""
        each = iter(urls)
        while some := list(islice(each, _AT_ONCE)):
            listed = [one if isinstance(one, Listed) else Listed(one) for one in some]
            found = [repaired(one.url) if repairs else canonical(one.url) for one in listed]
            pairs = [
                (url, one) for url, one in zip(found, listed, strict=True) if url is not None and len(url) < _LONGEST
            ]
            self.unreadable += len(some) - len(pairs)
            if len(self._prints) < _MOST_PRINTS:
                self._prints.extend(fingerprints(url for url, _ in pairs))
            yield from pairs

    @property
    def urls(self) -> list[Listed]:
        """What was drawn, each URL once, in canonical form."""
        return list({one.url: one for one in self._drawn}.values())

    def holds(self, urls: Iterable[Url]) -> list[bool]:
        """Whether the site lists each of some URLs."""
        prints = np.array(fingerprints(urls), np.uint64)
        if not len(self._known):
            return [False] * len(prints)
        places = np.minimum(np.searchsorted(self._known, prints), len(self._known) - 1)
        return list((self._known[places] == prints).tolist())
