"""`periplus demo`: a small and dirty site that comes with Periplus, read as a crawler would read it.

The files lie in `harbour/` beside this one; no network is touched. Everything else is real: the readers of the house,
the path of a URL as far as it is built, and the question of Schonfeld & Shivakumar 2009 at the end: which source of
URLs knew which page?
"""

from __future__ import annotations

import gzip
from collections import Counter, deque
from importlib.resources import files

from msgspec import Struct, field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from periplus.content import read_page, resemblance
from periplus.formats import feed, robots, sitemap
from periplus.model import Page, Problem, Source, Url
from periplus.urls import canonical

from .show import problem_table, short

SITE = "https://harbour.example"
AGENT = "periplus"
NEAR_DUPLICATE = 0.8
"""Resemblance from which the demo calls two pages alike. Its pages are short; a crawl asks for 0.9."""
SERVED_UNDER_OTHER_NAMES = {
    "": "index.html",
    "ports/": "ports/index.html",
    "logbook/": "logbook/index.html",
    "ports/ostia.html?print=1": "ports/ostia-print.html",
    "ports/tides.html?port=ostia&day=1": "ports/tides.html",
    "sitemap-logbook.xml.gz": "sitemap-logbook.xml",
}
SOURCES = (Source.LINK, Source.SITEMAP, Source.FEED)


class Voyage(Struct):
    """What is known after the reading: who told us of each URL, and what became of it."""

    known: dict[Url, set[Source]] = {}
    pages: dict[Url, Page] = {}
    notes: dict[Url, str] = {}
    problems: list[Problem] = []
    files: Counter[str] = field(default_factory=Counter)


def body_of(url: str) -> bytes | None:
    """What the site serves at a URL; `None` where it has nothing."""
    path = url.removeprefix(SITE + "/")
    file = files("periplus.cli").joinpath("harbour", SERVED_UNDER_OTHER_NAMES.get(path, path))
    if not file.is_file():
        return None
    body = file.read_bytes()
    return gzip.compress(body, mtime=0) if path.endswith(".gz") else body


def sail() -> Voyage:
    """Read the site: its rules, what it publishes, and its pages, breadth first."""
    voyage = Voyage()
    rules = robots.parse(body_of(f"{SITE}/robots.txt") or b"")
    voyage.problems += rules.problems
    voyage.files["robots.txt"] = 1
    home = Url(f"{SITE}/")
    voyage.known[home] = {Source.SEED}
    _read_sitemaps(voyage, list(rules.sitemap_urls(f"{SITE}/robots.txt")))
    queue = deque([home, *(url for url in voyage.known if url != home)])
    while queue:
        url = queue.popleft()
        queue.extend(_visit(voyage, rules, url))
    _mark_near_duplicates(voyage)
    return voyage


def _learn(voyage: Voyage, url: Url | None, source: Source) -> bool:
    """Note who told us of a URL; whether nobody had before."""
    if url is None or not url.startswith(SITE):
        return False
    is_new = url not in voyage.known
    voyage.known.setdefault(url, set()).add(source)
    return is_new


def _read_sitemaps(voyage: Voyage, waiting: list[Url]) -> None:
    seen = set(waiting)
    while waiting:
        url = waiting.pop(0)
        voyage.files["sitemap"] += 1
        for found in sitemap.read([body_of(url) or b""], url=url):
            match found:
                case sitemap.Entry():
                    _learn(voyage, canonical(found.url), Source.SITEMAP)
                case sitemap.Child():
                    child = canonical(found.url)
                    if child and child not in seen:
                        seen.add(child)
                        waiting.append(child)
                case Problem():
                    voyage.problems.append(found)


def _visit(voyage: Voyage, rules: robots.Robots, url: Url) -> list[Url]:
    """Read one page if we may; the URLs that nobody had told us of."""
    ruling = rules.verdict(AGENT, url)
    if not ruling.allowed:
        voyage.notes[url] = str(ruling.rule)
        return []
    body = body_of(url)
    if body is None:
        voyage.notes[url] = "gone (404)"
        return []
    page = voyage.pages[url] = read_page(body, url)
    voyage.files["page"] += 1
    voyage.problems += page.problems
    found = [(link.url, Source.LINK) for link in page.links]
    for published in page.relations.feeds:
        found += _items(voyage, published.url)
    return [target for target, source in found if _learn(voyage, target, source)]


def _items(voyage: Voyage, url: Url) -> list[tuple[Url, Source]]:
    read = feed.read(body_of(url) or b"", url)
    voyage.files["feed"] += 1
    voyage.problems += read.problems
    targets = (canonical(item.url) for item in read.items if item.url)
    return [(target, Source.FEED) for target in targets if target]


def _mark_near_duplicates(voyage: Voyage) -> None:
    """Compare every page with those read before it. A crawl would use bands of the sketch; here are a dozen pages."""
    pages = list(voyage.pages.items())
    for index, (url, page) in enumerate(pages):
        for earlier_url, earlier in pages[:index]:
            alike = resemblance(page.sketch, earlier.sketch)
            if alike >= NEAR_DUPLICATE:
                voyage.notes[url] = f"{alike:.0%} like {earlier_url.removeprefix(SITE)}"


def demo() -> None:
    """Read a small and dirty site that comes with Periplus, and say which source knew what.

    Example: periplus demo
    """
    voyage = sail()
    console = Console()
    read = ", ".join(f"a {name}" if count == 1 else f"{count} {name}s" for name, count in voyage.files.items())
    console.print(Text(f"{SITE.removeprefix('https://')}: a small site that comes with Periplus", style="bold"))
    console.print(f"read {read}\n", highlight=False)
    console.print(_page_table(voyage))
    console.print()
    console.print(_coverage(voyage), highlight=False)
    console.print()
    reasons = Counter(problem.reason for problem in voyage.problems)
    console.print(problem_table(reasons, {problem.reason: problem for problem in reversed(voyage.problems)}))
    console.print()
    console.print("next: periplus read FILE (a sitemap, robots.txt, feed, page or log of yours)", highlight=False)


def _page_table(voyage: Voyage) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("URL", style="cyan", no_wrap=True)
    for source in SOURCES:
        table.add_column(source.value, justify="center")
    table.add_column("title or remark", overflow="fold")
    for url, sources in sorted(voyage.known.items()):
        page = voyage.pages.get(url)
        told = ["●" if source in sources else "" for source in SOURCES]
        note = voyage.notes.get(url)
        table.add_row(Text(url.removeprefix(SITE)), *told, Text(note, style="yellow") if note else Text(_title(page)))
    return table


def _title(page: Page | None) -> str:
    return short(page.title) if page else ""


def _coverage(voyage: Voyage) -> str:
    """How much of what could be read each source knew, and knew alone (Coverage and UniqueCoverage of the paper)."""
    lines = []
    for source in SOURCES:
        knew = [url for url in voyage.pages if source in voyage.known[url]]
        alone = [url for url in knew if voyage.known[url] == {source}]
        share = f"{len(knew):2} of {len(voyage.pages)} pages ({len(knew) / len(voyage.pages):.0%})"
        lines.append(f"{source.value + 's':9} knew {share}, {len(alone)} of them alone")
    return "\n".join(lines)
