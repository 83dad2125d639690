"""`periplus ulinks`: the most useful links of a site, from its sitemaps alone or from a crawl.

For a site its robots.txt and sitemaps are read, as `periplus map` does it, and no page is fetched; `--pages` looks at
the few that were chosen, too. For a collection nothing is fetched: its pages are known, and what they are called.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from msgspec import Struct
from rich.table import Table
from rich.text import Text

from periplus.assembly.collection import Collection, existing, held, planned, states
from periplus.assembly.facts.listed_urls import Judging
from periplus.assembly.facts.site_names import is_collection, names_of
from periplus.assembly.options import wire_settings
from periplus.insight.listed import listed_urls
from periplus.insight.ulinks import (
    Listed,
    Sample,
    TreeStatistics,
    Ulink,
    chosen_ulinks,
    exact_ulinks,
    tree_statistics,
)
from periplus.insight.ulinks.crawled import grouped, pages_of, sites_of
from periplus.insight.ulinks.titles import entitled
from periplus.urls import canonical, site_of

from . import options
from .consoles import stderr_console, stdout_console
from .crawl.command import NOTHING_FETCHED, run
from .crawl.live import count, counted
from .survey.output import FILES

if TYPE_CHECKING:
    from periplus.insight.views import Views

_SITES_SHOWN = 20
_SCRATCH = "periplus-ulinks-"
_NOWHERE = "periplus-0b1f9c7e5d3a/"
"""Nothing is here; a site that apologises with a page shows here what its apology looks like."""
_THERE = """
select distinct url from pages where text_digest not in (select text_digest from pages where url = ?)
"""

What = Annotated[
    str, typer.Argument(metavar="SITE|DIR", show_default=False, help="A site, or the folder of a collection.")
]
Number = Annotated[int, typer.Option("--number", "-k", metavar="K", min=1, max=1000, help="Number of links.")]
Parts = Annotated[
    int | None,
    typer.Option(
        "-m", metavar="M", min=1, max=100_000, help="Minimum number of leaves of the folded tree; by default K."
    ),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Use the Berkeley report's algorithm unchanged, including its faults.")
]
Pages = Annotated[bool, typer.Option("--pages", help="Of a site: also fetch the chosen pages, for their titles.")]
OfSite = Annotated[
    str | None,
    typer.Option("--site", metavar="SITE", help="Of a collection: only this site; by default the largest ones."),
]


class SiteUlinks(Struct, frozen=True):
    """What `--json` says of a site. `urls` is from how many the links were chosen; `tree` counts a sample of them."""

    site: str
    source: str
    urls: int
    ulinks: list[Ulink]
    tree: TreeStatistics


class Wanted(Struct, frozen=True):
    """How many links, by which algorithm."""

    k: int
    m: int
    is_exact: bool

    def of(self, sample: Sample, pages: frozenset[str] = frozenset()) -> list[Ulink]:
        """The links of a sample; `pages` are others that are known to be there."""
        if self.is_exact:
            return exact_ulinks(sample, self.k, self.m)
        return chosen_ulinks(sample, self.k, self.m, is_page=lambda urls: [url in pages for url in urls])


def ulinks(
    what: What,
    number: Number = 8,
    parts: Parts = None,
    exact: Exact = False,
    pages: Pages = False,
    site: OfSite = None,
    sitemap: options.Sitemap = None,
    delay: options.Delay = None,
    contact: options.Contact = None,
    resolve: options.Resolve = None,
    allow_private: options.AllowPrivate = None,
    proxy: options.Proxy = None,
    ca_file: options.CaFile = None,
    json: options.Json = False,
) -> None:
    """List the most useful links of a site, from its sitemaps alone or from a crawl.

    Example: periplus ulinks docs.example.org -k 8
    """
    wanted = Wanted(number, number if parts is None else parts, exact)
    if is_collection(what):
        found = _of_collection(existing(Path(what)), wanted, site)
    else:
        wire: dict[str, object] = {
            "crawl.workers": 1,
            **wire_settings(contact, delay, resolve, allow_private, proxy, ca_file),
        }
        found = [_of_site(what, wanted, wire, sitemap or [], looks=pages)]
    _say(found, is_json=json)
    raise typer.Exit(0 if any(each.ulinks for each in found) else NOTHING_FETCHED)


# of a site, over the wire


def _of_site(site: str, wanted: Wanted, wire: dict[str, object], sitemaps: list[str], *, looks: bool) -> SiteUlinks:
    asked_of: dict[str, object] = {
        "sitemaps.only": True,
        "sitemaps.follow": True,
        "sitemaps.submitted": sitemaps or None,
    }
    with TemporaryDirectory(prefix=_SCRATCH) as folder:
        collection = planned(Path(folder) / "map", seeds=[site], options=wire | asked_of)
        _fetched(collection, f"periplus ulinks {site}")
        sample = _listed_in(collection, Path(folder), mends=not wanted.is_exact)
        found = wanted.of(sample)
        if looks and found:
            found = _looked_at(Path(folder) / "pages", collection, sample, found, wanted, wire)
    name = str(site_of(collection.seeds[0]))
    return SiteUlinks(name, "sitemaps", sample.total, found, tree_statistics(one.url for one in sample.urls))


def _fetched(collection: Collection, title: str) -> None:
    with held(collection.folder):
        collection.save()
        run(collection, stderr_console(), title=title, view=FILES)


def _listed_in(collection: Collection, folder: Path, *, mends: bool = True) -> Sample:
    """A sample of what the sitemaps of a collection list and a crawl would fetch."""
    spooled = collection.layout.spooled
    with TemporaryDirectory(dir=folder) as scratch, states(collection.layout) as opened:
        judging = Judging(collection, opened)
        listed = listed_urls(collection.layout.tables, Path(scratch), judging.names, spooled=spooled)
        return Sample(
            (Listed(one.url, one.priority, one.lastmod) for one in listed if not judging.judge(one).reason), mends=mends
        )


def _looked_at(
    folder: Path, mapped: Collection, sample: Sample, found: list[Ulink], wanted: Wanted, wire: dict[str, object]
) -> list[Ulink]:
    """The links again, once the home page and the pages of sections were looked at."""
    scheme = str(mapped.seeds[0]).partition(":")[0]
    sections = [canonical(f"{scheme}://{link.section.rstrip('/')}/") for link in found if not link.is_listed]
    nowhere = canonical(f"{scheme}://{site_of(mapped.seeds[0])}/{_NOWHERE}") or mapped.seeds[0]
    seeds = [
        str(mapped.seeds[0]),
        str(nowhere),
        *(link.url for link in found if link.is_listed),
        *filter(None, sections),
    ]
    shallow: dict[str, object] = {"budgets.max_depth": 0, "sitemaps.follow": False}
    collection = planned(folder, seeds=seeds, options=wire | shallow)
    _fetched(collection, f"looking at {len(seeds)} pages")
    with _asked(collection) as views:
        pages = frozenset(str(row["url"]) for row in views.rows(_THERE, [str(nowhere)]))
        return entitled(wanted.of(sample, pages), views)


# of a collection


def _of_collection(collection: Collection, wanted: Wanted, site: str | None) -> list[SiteUlinks]:
    if collection.config.sitemaps.only:
        with TemporaryDirectory(prefix=_SCRATCH) as scratch:
            sample = _listed_in(collection, Path(scratch), mends=not wanted.is_exact)
        name = str(site_of(collection.seeds[0]))
        tree = tree_statistics(one.url for one in sample.urls)
        return [SiteUlinks(name, "sitemaps", sample.total, wanted.of(sample), tree)]
    with _asked(collection) as views:
        groups = grouped(sites_of(views))
        chosen = [names_of(groups, site, collection.folder)] if site else list(groups.values())[:_SITES_SHOWN]
        found = []
        for names in chosen:
            sample = Sample(pages_of(views, names), mends=not wanted.is_exact)
            links = entitled(wanted.of(sample), views)
            tree = tree_statistics(one.url for one in sample.urls)
            found.append(SiteUlinks(names[0], "crawl", sample.total, links, tree))
        return found


def _asked(collection: Collection) -> Views:
    """Its tables, in SQL. DuckDB is loaded here: a crawl freezes what is loaded before it, and it complains of that."""
    from periplus.insight.views import Views

    return Views(collection.folder, spooled=collection.layout.spooled)


# how it is shown


def _say(found: list[SiteUlinks], *, is_json: bool) -> None:
    if is_json:
        for each in found:
            typer.echo(msgspec.json.encode(each))
        return
    console = stdout_console()
    for each in found:
        what = "URLs listed" if each.source == "sitemaps" else "pages"
        console.print(
            Text(f"{each.site}", style="bold") + Text(f"  {count(each.urls)} {what}; {_shape(each)}", style="dim")
        )
        if each.ulinks:
            console.print(_table(each))
        else:
            console.print(Text("  nothing to choose from", style="yellow"))


def _shape(each: SiteUlinks) -> str:
    tree = each.tree
    levels = f"{tree.depth} levels deep" if tree.depth != 1 else "one level deep"
    sampled = f" (of {counted(tree.urls, 'URL')}, sampled)" if tree.urls < each.urls else ""
    return f"a tree of {counted(tree.nodes, 'node')} and {counted(tree.leaves, 'leaf', 'leaves')}, {levels}{sampled}"


def _table(each: SiteUlinks) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(style="bold", overflow="fold", max_width=40)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    for place, link in enumerate(each.ulinks, 1):
        where = Text(link.url, style="cyan")
        if not link.is_listed:
            where += Text(f", one of {link.section}", style="dim")
        table.add_row(f"  {place}", _clean(link.title), where, count(link.pages), f"{100 * link.share:.0f} %")
    return table


def _clean(text: str) -> Text:
    return Text("".join(letter if letter.isprintable() else "\ufffd" for letter in text))
