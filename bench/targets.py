"""How many requests crawls for files need until they have 90 % of them, on real manuals and on sites of the lab.

    python -m bench.targets [FOLDER]          FOLDER: unpacked Debian packages, by default fetched into bench/.peers
    python -m bench.targets --lab             only the sites of the lab, which need no packages

Ten manuals with files that few of their pages link to: at least 20, and at most half as many as pages. Files count as
found if links of reachable pages lead to them and the package has them. All crawls are simulated on the same links,
with one connection and without politeness, and none asks for URLs with extensions that crawls for these types refuse.
Requests are counted, HEAD requests too, so the figures carry over to any machine. Crawls compared:

- `breadth_first`: one queue; `files first`: the same, but links whose extension is wanted go first.
- `focused`: shark-search over the words of URLs: "download", the names of the types and their extensions.
- `targets`: `parts.targets.bandit`, the code of the crawler.
- `sb_classifier`: the mean of five seeds.
- `bound`: pages with most files, as if each were one request away, and the files: no crawl needs less.

Constants of `targets` were chosen on the first four sites, before it was run on the other six. The last one
was the first to spread its pages over folders by a hash, which `targets` then learnt to recognise: it counts as
tuned on. Sites of the lab (`bench.targets_lab`) were added later: portal 7 and blog 11 count as tuned on too.
"""

from __future__ import annotations

import heapq
import math
import re
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urljoin, urlsplit

from msgspec import Struct

from bench.peers import fetch_manuals
from bench.sb_classifier import SbCrawl, SbLink, SbSite
from bench.targets_lab import lab_sites
from periplus.model import Accept, Discovery, Source, Url
from periplus.parts.targets.bandit import SiteBandit, SiteTargets
from periplus.parts.targets.tag_paths import TagPaths
from periplus.policy.filters import Extensions, MediaSettings, MediaTypes
from periplus.urls import resolve_all

SHARE = 0.9
SEEDS = 5
_IMAGE = re.compile(rb"""<img\b[^>]*?\bsrc\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""(?<![\w-])(class|id)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


class Manual(Struct, frozen=True):
    """A manual: package, root folder of its host, first page, types that are wanted, and their extensions."""

    package: str
    root: str
    entry: str
    types: tuple[str, ...]
    extensions: tuple[str, ...]
    is_tuned_on: bool = False


def _sphinx(package: str, types: str, *extensions: str, is_tuned_on: bool = False) -> Manual:
    root = f"usr/share/doc/{package}/html"
    return Manual(package, root, "index.html", (types,), extensions, is_tuned_on)


MANUALS = (
    _sphinx("python-skimage-doc", "application/x-ipynb+json", "ipynb", is_tuned_on=True),
    _sphinx("python-astropy-doc", "image/*", "png", "svg", is_tuned_on=True),
    _sphinx("grass-doc", "image/jpeg", "jpg", is_tuned_on=True),
    Manual(
        "libboost1.74-doc", "usr/share/doc/libboost1.74-doc", "doc/html/index.html", ("image/*",), ("png", "svg"), True
    ),
    _sphinx("python-sklearn-doc", "application/x-ipynb+json", "ipynb"),
    Manual("erlang-doc", "usr/share/doc/erlang-doc", "doc/index.html", ("application/pdf",), ("pdf",)),
    Manual("sqlite3-doc", "usr/share/doc/sqlite3", "index.html", ("image/*",), ("gif", "jpg", "png", "svg")),
    _sphinx("python-statsmodels-doc", "application/pdf", "pdf"),
    _sphinx("python-sympy-doc", "image/svg+xml", "svg"),
    Manual("opencv-doc", "usr/share/doc/opencv-doc/opencv4/html", "index.html", ("image/jpeg",), ("jpg", "jpeg"), True),
)  # fmt: skip
"""The manuals, and what is looked for in each: chosen by the number of pages and files alone."""


class Site(Protocol):
    """A site that is crawled."""

    @property
    def name(self) -> str:
        """Its name in the table."""

    @property
    def home(self) -> str:
        """What the URLs of its pages begin with."""

    @property
    def seed(self) -> str:
        """Where crawls begin."""

    @property
    def types(self) -> tuple[str, ...]:
        """The wanted types."""

    @property
    def words(self) -> tuple[str, ...]:
        """Words of URLs by which a focused crawl looks for files."""

    def look(self, url: str) -> tuple[str, bytes]:
        """What a URL shows (html, target or none), and the page if it is one."""


class ManualSite(Struct, frozen=True):
    """A manual as a site; `folder` has its package unpacked."""

    manual: Manual
    folder: Path

    @property
    def name(self) -> str:
        """The package."""
        return self.manual.package

    @property
    def home(self) -> str:
        """A host of its own."""
        return f"http://{self.manual.package}.test/"

    @property
    def seed(self) -> str:
        """Its first page."""
        return self.home + self.manual.entry

    @property
    def types(self) -> tuple[str, ...]:
        """The wanted types."""
        return self.manual.types

    @property
    def words(self) -> tuple[str, ...]:
        """The extensions, and the types without their first half."""
        return ("download", *self.manual.extensions, *(each.split("/")[-1] for each in self.manual.types))

    def look(self, url: str) -> tuple[str, bytes]:
        """The file that a URL names."""
        file = _file(self.folder / self.manual.package / self.manual.root, url)
        kind = _kind(file, self.manual.extensions)
        return kind, file.read_bytes() if file is not None and kind == "html" else b""


class FullPaths(TagPaths):
    """Paths with classes and ids as they are written, as SB-CLASSIFIER has them."""

    def step(self, tag: bytes, attributes: bytes) -> str:
        """An element: its name, its classes and its id."""
        names = [tag.decode()]
        for kind, *values in _ATTRIBUTE.findall(attributes):
            value = b"".join(values).decode("utf-8", "replace").replace("/", " ")
            names += [("#" if kind.lower() == b"id" else ".") + word for word in value.split()]
        return "/" + "".join(names)


class Link(Struct, frozen=True):
    """A link of a page: where to, its path, the path in full, and whether its name says that it is wanted."""

    url: str
    path: str
    full: str
    is_named: bool


class Graph(Struct, frozen=True, dict=True):
    """The pages of a manual that links lead to, and the kind of every URL: html, target or none."""

    seed: str
    pages: dict[str, list[Link]]
    kinds: dict[str, str]
    words: tuple[str, ...]

    @cached_property
    def goal(self) -> int:
        """How many targets have to be found."""
        return math.ceil(SHARE * sum(kind == "target" for kind in self.kinds.values()))

    def links(self, url: str) -> list[Link]:
        """The links of a page; a file has none."""
        return self.pages.get(url, [])


def graph_of(site: Site) -> Graph:
    """Read a site, breadth first."""
    media = MediaTypes(MediaSettings(types=site.types))
    extensions = Extensions(None, media)
    pages: dict[str, list[Link]] = {}
    kinds: dict[str, str] = {site.seed: "html"}
    waiting = deque([(site.seed, site.look(site.seed)[1])])
    while waiting:
        page, html = waiting.popleft()
        pages[page] = []
        for url, path, full in _links(html, page):
            is_refused = extensions.judge(Discovery(Url(url), Source.LINK, 0.0)) != Accept()
            if not url.startswith(site.home) or is_refused:
                continue
            pages[page].append(Link(url, path, full, media.wants_url(url)))
            if url not in kinds:
                kinds[url], linked = site.look(url)
                if kinds[url] == "html":
                    waiting.append((url, linked))
    return Graph(site.seed, pages, kinds, site.words)


def _links(html: bytes, page: str) -> Iterator[tuple[str, str, str]]:
    found, full = TagPaths(html), FullPaths(html)
    base = urljoin(page, found.base)
    written = [
        *((href, path, other) for (href, path), (_, other) in zip(found.links, full.links, strict=True)),
        *((image.decode("utf-8", "replace"), "/img", "/img") for image in _IMAGE.findall(html)),
    ]
    seen = set()
    for url, (_, path, other) in zip(resolve_all([href for href, *_ in written], base), written, strict=True):
        if url is not None and url not in seen:
            seen.add(url)
            yield url, path, other


def _file(root: Path, url: str) -> Path | None:
    path = unquote(urlsplit(url).path).lstrip("/")
    file = root / (f"{path}index.html" if not path or path.endswith("/") else path)
    return file if file.is_file() else None


def _kind(file: Path | None, wanted: Sequence[str]) -> str:
    extension = "" if file is None else file.suffix.lower().lstrip(".")
    return "html" if extension in ("html", "htm", "xhtml") else "target" if extension in wanted else "none"


# crawls


def simulated(graph: Graph, take: Callable[[], str | None], read: Callable[[str, list[Link]], None]) -> int:
    """Requests until the goal: `take` the next URL, `read` it and its new links."""
    seen, requests, found = {graph.seed}, 0, 0
    while found < graph.goal and (url := take()) is not None:
        requests += 1
        found += graph.kinds[url] == "target"
        new = [link for link in graph.links(url) if link.url not in seen]
        seen.update(link.url for link in new)
        read(url, new)
    return requests


def breadth_first(graph: Graph, *, files_first: bool = False) -> int:
    """One queue, or two."""
    waiting, first = deque([graph.seed]), deque[str]()

    def read(_url: str, new: list[Link]) -> None:
        for link in new:
            (first if files_first and link.is_named else waiting).append(link.url)

    return simulated(graph, lambda: first.popleft() if first else waiting.popleft() if waiting else None, read)


def focused(graph: Graph) -> int:
    """Shark-search: half inherited from the page, half by the words of the link's own URL."""
    waiting = [(-1.0, 0, graph.seed)]
    potentials: dict[str, float] = {graph.seed: 1.0}

    def take() -> str | None:
        return heapq.heappop(waiting)[2] if waiting else None

    def read(url: str, new: list[Link]) -> None:
        passed = 0.5 * potentials[url]
        for link in new:
            has_word = any(word in link.url.lower().rpartition("/")[2] for word in graph.words)
            potentials[link.url] = 0.5 * passed + 0.5 * has_word
            heapq.heappush(waiting, (-potentials[link.url], len(potentials), link.url))

    return simulated(graph, take, read)


def targets(graph: Graph) -> int:
    """The ordering `targets`."""
    bandit = SiteBandit(SiteTargets())
    waiting: dict[int, deque[str]] = defaultdict(deque, {0: deque([graph.seed])})
    action_of = {graph.seed: 0}
    first: deque[str] = deque()

    def take() -> str | None:
        if first:
            return first.popleft()
        awake = sorted(number for number, urls in waiting.items() if urls)
        return waiting[bandit.ranked(awake)[0]].popleft() if awake else None

    def read(url: str, new: list[Link]) -> None:
        onward = Counter[int]()
        for link in new:
            if link.is_named:
                first.append(link.url)
            else:
                number = action_of[link.url] = bandit.action_of(link.url, link.path, url)
                waiting[number].append(link.url)
                onward[number] += 1
        if url in action_of:
            named = sum(link.is_named for link in new)
            bandit.learn(action_of[url], named + (graph.kinds[url] == "target"), onward)

    return simulated(graph, take, read)


def sb_classifier(graph: Graph) -> float:
    """The mean over the seeds."""
    links = {url: [SbLink(link.url, link.full) for link in found] for url, found in graph.pages.items()}
    site = SbSite(graph.seed, graph.kinds.__getitem__, lambda url: links.get(url, []), graph.goal)
    return sum(SbCrawl(site, seed).run() for seed in range(SEEDS)) / SEEDS


def bound(graph: Graph) -> int:
    """The goal, and the fewest pages that could have so many targets."""
    counts = sorted(sum(graph.kinds[link.url] == "target" for link in links) for links in graph.pages.values())
    pages, found = 0, 0
    while found < graph.goal:
        found += counts.pop()
        pages += 1
    return pages + graph.goal


CRAWLS: dict[str, Callable[[Graph], float]] = {
    "breadth_first": breadth_first,
    "files first": lambda graph: breadth_first(graph, files_first=True),
    "focused": focused,
    "sb_classifier": sb_classifier,
    "targets": targets,
    "bound": bound,
}


def _sites(arguments: Sequence[str]) -> Iterator[tuple[str, Site]]:
    """Every site, and the sum that it belongs to."""
    if list(arguments) != ["--lab"]:
        folder = Path(arguments[0]) if arguments else fetch_manuals(manual.package for manual in MANUALS)
        for manual in MANUALS:
            yield "tuned on" if manual.is_tuned_on else "other manuals", ManualSite(manual, folder)
    for site in lab_sites():
        yield "sites of the lab", site


def main(arguments: Sequence[str]) -> None:
    """Print the table, and the sums."""
    print("| site | pages | files | " + " | ".join(CRAWLS) + " |")
    print("|---|" + "---:|" * (len(CRAWLS) + 2))
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for group, site in _sites(arguments):
        graph = graph_of(site)
        files = sum(kind == "target" for kind in graph.kinds.values())
        row = {name: round(crawl(graph)) for name, crawl in CRAWLS.items()}
        sums[group].update(row)
        figures = [len(graph.pages), files, *row.values()]
        print(
            f"| {site.name} ({', '.join(site.types)}) | " + " | ".join(f"{each:,}" for each in figures) + " |",
            flush=True,
        )
    for group, total in sums.items():
        print(f"| {group} | | | " + " | ".join(f"{total[name]:,}" for name in CRAWLS) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
