"""`periplus ulinks`: the most useful links of a site, from its sitemaps alone or from a crawl.

For a site its robots.txt and sitemaps are read, as `periplus map` does it, and no page is fetched; `--pages` looks at
the few that were chosen, too. For a collection nothing is fetched: its pages are known, and what they are called.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import click
import msgspec
from click.exceptions import Exit
from rich.text import Text

from periplus.apps.report.making import SCRATCH, SiteUlinks, WantedLinks, asked, sampled, ulinks_of
from periplus.apps.ulinks import Sample, Ulink, tree_statistics
from periplus.apps.ulinks.titles import entitled
from periplus.collection.collection import CollectionSetup, existing, held, planned
from periplus.collection.facts.site_list import is_collection
from periplus.collection.options import with_fixed
from periplus.urls import canonical, site_of
from periplus.view.terminal import print_table
from periplus.view.values import Column, Sheet, counts, sheet_of
from periplus.view.wording import count, counted

from . import NOTHING_FETCHED, options
from .commands import Argument, Option
from .consoles import stderr_console, stdout_console
from .crawl.running import run
from .setting_options import takes_settings, typed_settings
from .survey.output import FILES

_NOWHERE = "periplus-0b1f9c7e5d3a/"
"""Nothing is here; a site that apologises with a page shows here what its apology looks like."""
_THERE = """
select distinct url from pages where text_digest not in (select text_digest from pages where url = ?)
"""

What = Annotated[str, Argument(metavar="SITE|DIR", help="A site, or the folder of a collection.")]
Number = Annotated[int, Option("--number", "-k", metavar="K", min=1, max=1000, help="Number of links.")]
Parts = Annotated[
    int | None,
    Option("-m", metavar="M", min=1, max=100_000, help="Minimum number of leaves of the folded tree; by default K."),
]
Exact = Annotated[bool, Option("--exact", help="Use the Berkeley report's algorithm unchanged, including its faults.")]
Pages = Annotated[bool, Option("--pages", help="Of a site: also fetch the chosen pages, for their titles.")]
OfSite = Annotated[
    str | None,
    Option("--site", metavar="SITE", help="Of a collection: only this site; by default the largest ones."),
]


@takes_settings("ulinks")
def ulinks(
    what: What,
    number: Number = 8,
    parts: Parts = None,
    exact: Exact = False,
    pages: Pages = False,
    site: OfSite = None,
    *,
    json: options.Json = False,
    **given: Any,
) -> None:
    """List the most useful links of a site, from its sitemaps alone or from a crawl.

    Example: periplus ulinks docs.example.org -k 8
    """
    wanted = WantedLinks(number, number if parts is None else parts, exact)
    if is_collection(what):
        found = ulinks_of(existing(Path(what)), wanted, site)
    else:
        settings = {"crawl.workers": 1, **typed_settings("ulinks", given)}
        found = [_of_site(what, wanted, settings, looks=pages)]
    _print(found, is_json=json)
    raise Exit(0 if any(each.ulinks for each in found) else NOTHING_FETCHED)


# of a site, over the wire


def _of_site(site: str, wanted: WantedLinks, settings: dict[str, object], *, looks: bool) -> SiteUlinks:
    mapping = with_fixed(settings, {"sitemaps.only": True, "sitemaps.follow": True}, "ulinks")
    with TemporaryDirectory(prefix=SCRATCH) as folder:
        collection = planned(Path(folder) / "map", typed=[site], options=mapping)
        _fetched(collection, f"periplus ulinks {site}")
        sample = sampled(collection, Path(folder), repairs=not wanted.is_exact)
        found = wanted.of(sample)
        if looks and found:
            found = _looked_at(Path(folder) / "pages", collection, sample, found, wanted, settings)
    name = str(site_of(collection.seeds[0]))
    return SiteUlinks(name, "sitemaps", sample.total, found, tree_statistics(one.url for one in sample.urls))


def _fetched(collection: CollectionSetup, title: str) -> None:
    with held(collection.folder):
        collection.save()
        run(collection, stderr_console(), title=title, view=FILES)


def _looked_at(
    folder: Path,
    mapped: CollectionSetup,
    sample: Sample,
    found: list[Ulink],
    wanted: WantedLinks,
    settings: dict[str, object],
) -> list[Ulink]:
    """The links, chosen again after the home page and the pages of sections were fetched."""
    scheme = str(mapped.seeds[0]).partition(":")[0]
    sections = [canonical(f"{scheme}://{link.section.rstrip('/')}/") for link in found if not link.is_listed]
    nowhere = canonical(f"{scheme}://{site_of(mapped.seeds[0])}/{_NOWHERE}") or mapped.seeds[0]
    chosen = [str(nowhere), *(link.url for link in found if link.is_listed), *filter(None, sections)]
    shallow = {"budgets.max_depth": 0, "sitemaps.follow": False, "sitemaps.submitted": None}
    collection = planned(folder, typed=[str(mapped.seeds[0])], found=chosen, options=settings | shallow)
    _fetched(collection, f"looking at {len(chosen) + 1} pages")
    with asked(collection) as views:
        pages = frozenset(str(row["url"]) for row in views.rows(_THERE, [str(nowhere)]))
        return entitled(wanted.of(sample, pages), views)


# how it is shown


def _print(found: list[SiteUlinks], *, is_json: bool) -> None:
    if is_json:
        for each in found:
            click.echo(msgspec.json.encode(each))
        return
    console = stdout_console()
    for each in found:
        what = "URLs listed" if each.source == "sitemaps" else "pages"
        console.print(
            Text(f"{each.site}", style="bold") + Text(f"  {count(each.urls)} {what}; {_shape(each)}", style="dim")
        )
        if each.ulinks:
            print_table(console, _table(each), has_head=False, indent=2)
        else:
            console.print(Text("  nothing to choose from", style="yellow"))


def _shape(each: SiteUlinks) -> str:
    tree = each.tree
    levels = f"{tree.depth} levels deep" if tree.depth != 1 else "one level deep"
    sampled = f" (of {counted(tree.urls, 'URL')}, sampled)" if tree.urls < each.urls else ""
    return f"a tree of {counted(tree.nodes, 'node')} and {counted(tree.leaves, 'leaf', 'leaves')}, {levels}{sampled}"


def _table(each: SiteUlinks) -> Sheet:
    columns = (counts("place"), Column("title"), Column("url", kind="url"), counts("pages"), counts("share"))
    cells = [
        (place, link.title, link.url + ("" if link.is_listed else f", one of {link.section}"), link.pages,
         f"{100 * link.share:.0f} %")
        for place, link in enumerate(each.ulinks, 1)
    ]  # fmt: skip
    return sheet_of("", columns, cells)
