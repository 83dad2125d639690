"""`periplus audit`: a scorecard of a site for its owner, from a crawl that is made for it, or from a collection.

A site is crawled first, within a budget, into a folder that is thrown away unless it was named. Exit code 4: something
was found that `--fail-on` names.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from periplus.assembly.collection import Collection, existing, held, planned, states
from periplus.assembly.facts.site_names import is_collection, key_of, names_of
from periplus.crawl.placement import owner_of
from periplus.insight.ulinks.crawled import grouped
from periplus.model import Lane, RobotsFile, Site, UsageError
from periplus.policy.names import nearest

from .. import options
from ..app import INTERRUPTED
from ..consoles import stderr_console, stdout_console
from ..crawl.command import NOTHING_FETCHED, duration, run, wire_settings

if TYPE_CHECKING:
    from periplus.insight.audit import Audit

FAILED = 4
"""The exit code of an audit that found what it was told to fail on."""
PAGES, TIME = 500, "10m"
_SHOWN = 5

What = Annotated[
    str, typer.Argument(metavar="SITE|DIR", show_default=False, help="A site to crawl, or the folder of a collection.")
]
OfSite = Annotated[str | None, typer.Option("--site", metavar="SITE", help="Of a collection with several: this site.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="DIR", help="Of a site: keep the crawl in this collection; else it is thrown away."
    ),
]
Limit = Annotated[int, typer.Option("--limit", metavar="PAGES", min=1, help="Of a site: pages to fetch at most.")]
For = Annotated[str, typer.Option("--for", metavar="TIME", help="Of a site: how long to crawl at most.")]
Scope = Annotated[
    options.ScopeKind | None,
    typer.Option("--scope", help="Of a site: how far the crawl goes from it; by default its host."),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="WHAT",
        help="Exit with 4 if this was found: error, warning, notice (or worse), or a finding by name. May be repeated.",
    ),
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write it as one HTML file, too.")]
Slow = Annotated[float, typer.Option("--slow", metavar="SECONDS", min=0.001, help="A page may take this long.")]
Examples = Annotated[int, typer.Option("--examples", metavar="N", min=0, max=1000, help="Examples of each finding.")]


def audit(
    what: What,
    site: OfSite = None,
    fail_on: FailOn = None,
    html: Html = None,
    slow: Slow = 2.0,
    examples: Examples = _SHOWN,
    out: Out = None,
    limit: Limit = PAGES,
    for_: For = TIME,
    scope: Scope = None,
    sitemap: options.Sitemap = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    delay: options.Delay = None,
    contact: options.Contact = None,
    resolve: options.Resolve = None,
    allow_private: options.AllowPrivate = None,
    proxy: options.Proxy = None,
    ca_file: options.CaFile = None,
    json: options.Json = False,
) -> None:
    """Check a site for its owner as crawlers see it: findings with examples, why they matter and what to do.

    Example: periplus audit docs.example.org --html audit.html
    """
    wanted = _wanted(fail_on or [])
    asked: dict[str, object] = {
        "crawl.limit": limit,
        "crawl.for": duration("--for", for_),
        "crawl.workers": 1,
        "scope.kind": scope.value if scope else "host",
        "sitemaps.follow": True,
        "sitemaps.submitted": sitemap or None,
        "patterns.include": include or None,
        "patterns.exclude": exclude or None,
        **wire_settings(contact, delay, resolve, allow_private, proxy, ca_file),
    }
    with _crawled(what, out, asked) as collection:
        found = audited(collection, site, slow=slow, examples=examples)
    failed = [each.name for each in found.findings if {each.name, each.severity.value} & wanted]
    _say(found, failed, html, is_json=json)
    if failed:
        raise typer.Exit(FAILED)
    raise typer.Exit(0 if found.pages or found.findings else NOTHING_FETCHED)


def _wanted(asked: Sequence[str]) -> frozenset[str]:
    """Names of findings and severities to fail on; a severity stands for what is worse, too."""
    from periplus.insight.audit import KINDS, Severity

    severities = [severity.value for severity in Severity]
    wanted: set[str] = set()
    for word in (part.strip() for each in asked for part in each.split(",")):
        if word in severities:
            wanted.update(severities[: severities.index(word) + 1])
        elif word in KINDS:
            wanted.add(word)
        else:
            likely = nearest(word, (*severities, *KINDS))
            raise UsageError(f"--fail-on {word}: no such finding", hint=f"did you mean {likely}? docs/audit.md has all")
    return frozenset(wanted)


@contextmanager
def _crawled(what: str, out: Path | None, asked: dict[str, object]) -> Iterator[Collection]:
    """The collection to look at: the one that was named, or a site's, made now."""
    if is_collection(what):
        yield existing(Path(what))
        return
    with TemporaryDirectory(prefix="periplus-audit-") as folder:
        place = out or Path(folder) / "crawl"
        if out is not None and asked["crawl.workers"] and len(list((out / "state").glob("shard-*"))) > 1:
            asked = asked | {"crawl.workers": None}
        collection = planned(place, seeds=[what], options=asked)
        with held(place):
            collection.save()
            title = f"periplus audit {what}" + (f" -o {out}" if out else "")
            summary = run(collection, stderr_console(), title=title)
        if summary.ended == "interrupted" and not summary.pages:
            raise typer.Exit(INTERRUPTED)
        yield collection


def audited(collection: Collection, site: str | None = None, *, slow: float = 2.0, examples: int = _SHOWN) -> Audit:
    """The audit of one site of a collection."""
    from periplus.insight.audit import AuditSettings, audit  # loads DuckDB: after the crawl, if there is one
    from periplus.insight.views import Views

    spooled = collection.layout.spooled
    with Views(collection.folder, spooled=spooled, say=_said) as views:
        counts = [
            (str(row["site"]), int(row["pages"]))
            for row in views.rows("select site, count(*) filter (where is_page) as pages from urls group by site")
        ]
        sites = _chosen(collection, counts, site)
        if not sites:
            raise UsageError(f"{collection.folder} has no site", hint="crawl something into it first")
        robots, is_whole = _known(collection, sites)
        settings = AuditSettings(slow=slow, examples=examples)
        return audit(views, sites, robots, is_whole=is_whole, settings=settings)


def _said(line: str) -> None:
    stderr_console().print(line, style="dim", highlight=False)


def _chosen(collection: Collection, counts: list[tuple[str, int]], wanted: str | None) -> list[str]:
    """All names of the site that is meant: the one that was asked for, or the only one there is."""
    groups = grouped(counts)
    if wanted is not None:
        return names_of(groups, wanted, collection.folder)
    have_pages = {key_of(name): None for name, pages in counts if pages}
    seeds = dict.fromkeys(key_of(seed) for seed in collection.seeds)
    meant = [seed for seed in seeds if seed in have_pages] or list(have_pages) or list(seeds)[:1]
    if len(meant) > 1:
        some = ", ".join(meant[:_SHOWN]) + (", ..." if len(meant) > _SHOWN else "")
        raise UsageError(f"{collection.folder} has {len(meant):,} sites: {some}", hint="pick one: --site NAME")
    return groups.get(meant[0], meant) if meant else []


def _known(collection: Collection, sites: Sequence[str]) -> tuple[RobotsFile | None, bool]:
    """The robots.txt of a site, and whether nothing of it waits any more."""
    shards = max(collection.layout.shards, 1)
    robots, waiting = None, 0
    with states(collection.layout) as opened:
        for name in map(Site, sites):
            state = opened.get(owner_of(name, shards))
            if state is not None:
                robots = robots or state.robots.get(name)
                waiting += sum(state.queues.length(name, lane) for lane in (Lane.DISCOVERY, Lane.SITEMAPS))
    return robots, not waiting


def _say(found: Audit, failed: list[str], html: Path | None, *, is_json: bool) -> None:
    from periplus.insight.audit import page

    from .terminal import say_audit

    if html is not None:
        try:
            html.write_text(page(found, time.time()), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{html}: {error.strerror}", hint="name a file that can be written") from error
    if is_json:
        typer.echo(msgspec.json.encode({**msgspec.structs.asdict(found), "failed_on": failed}))
        return
    say_audit(stdout_console(), found, failed, str(html) if html else "")
