"""The options of `periplus crawl`, each with the line that `--help` shows, and what they are called in the settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from periplus.model import Executor
from periplus.parts.focus.ordering import focused_orderings
from periplus.parts.render.settings import RenderMode
from periplus.policy.ordering import orderings


class ScopeKind(StrEnum):
    """How far a crawl goes from its seeds."""

    DOMAIN = "domain"
    HOST = "host"
    PREFIX = "prefix"
    ANY = "any"


_FAR = "How far"
_GENTLE = "How gently"
_HOW = "How it is done and shown"

Seeds = Annotated[
    list[str] | None,
    typer.Argument(metavar="SEED", show_default=False, help="URL or host to begin with; https:// may be left out."),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="DIR", help="The collection: created if it does not exist, else continued."),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="PAGES", min=1, rich_help_panel=_FAR, help="Maximum pages to fetch in all."),
]
MaxBytes = Annotated[
    str | None,
    typer.Option("--max-bytes", metavar="SIZE", rich_help_panel=_FAR, help="Maximum bytes to download, such as 10GB."),
]
Media = Annotated[
    list[str] | None,
    typer.Option(
        "--media",
        metavar="TYPE",
        rich_help_panel=_FAR,
        help='Fetch files of this type, such as "image/*", instead of pages. May be repeated.',
    ),
]
Depth = Annotated[
    int | None,
    typer.Option("--depth", metavar="LINKS", min=0, rich_help_panel=_FAR, help="Maximum number of links from a seed."),
]
Scope = Annotated[
    ScopeKind | None,
    typer.Option("--scope", rich_help_panel=_FAR, help="How far to go from the seeds; by default their domains."),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="PATTERN",
        rich_help_panel=_FAR,
        help="Only URLs like */docs/*, /docs/* or re:REGEX. May be repeated.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="PATTERN",
        rich_help_panel=_FAR,
        help="Skip URLs like this, even if --include matches. May be repeated.",
    ),
]
For = Annotated[
    str | None,
    typer.Option("--for", metavar="TIME", rich_help_panel=_FAR, help="How long to crawl now: 90s, 10m, 1h30m."),
]
SeedFile = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        "--frontier-from",
        metavar="FILE",
        rich_help_panel=_FAR,
        help="Read more seeds from text, CSV, JSON lines, bookmarks or OPML, also with gzip; - reads standard input.",
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order",
        metavar="NAME",
        rich_help_panel=_FAR,
        help=f"Which URLs first: {', '.join(orderings())}; by default breadth_first. With a topic: "
        f"{', '.join(focused_orderings())}; by default focused.",
    ),
]
Topic = Annotated[
    str | None,
    typer.Option(
        "--topic",
        metavar="WORDS",
        rich_help_panel=_FAR,
        help="Fetch pages about these words first; a phrase in double quotes counts as one word.",
    ),
]
Like = Annotated[
    list[str] | None,
    typer.Option(
        "--like",
        metavar="URL|FILE|FOLDER",
        rich_help_panel=_FAR,
        help="Fetch pages like these examples first. May be repeated.",
    ),
]
Unlike = Annotated[
    list[str] | None,
    typer.Option(
        "--unlike",
        metavar="URL|FILE|FOLDER",
        rich_help_panel=_FAR,
        help="With --like: examples of pages that are not wanted. May be repeated.",
    ),
]
TopicBy = Annotated[
    str | None,
    typer.Option(
        "--topic-by",
        metavar="NAME",
        rich_help_panel=_FAR,
        help="Measure relevance with a function of an installed package (entry points: periplus.topics).",
    ),
]
Want = Annotated[
    str | None,
    typer.Option(
        "--want",
        metavar="NAME",
        rich_help_panel=_FAR,
        help="Fetch only URLs that this filter of an installed package wants (entry points: periplus.filters).",
    ),
]
Extract = Annotated[
    str | None,
    typer.Option(
        "--extract",
        metavar="MODULE:FUNCTION",
        rich_help_panel=_FAR,
        help="Call this function with each page that is fetched, and store the dicts it returns in the table items.",
    ),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score",
        metavar="NAME",
        rich_help_panel=_FAR,
        help="In place of --order: an ordering of an installed package (entry points: periplus.orderings).",
    ),
]
OrderBy = Annotated[
    Path | None,
    typer.Option(
        "--order-by",
        metavar="DIR",
        exists=True,
        file_okay=False,
        rich_help_panel=_FAR,
        help="For --order optimal: an earlier collection of the same web, whose PageRank is used.",
    ),
]
Sitemap = Annotated[
    list[str] | None,
    typer.Option("--sitemap", metavar="URL", rich_help_panel=_FAR, help="Read this sitemap, too. May be repeated."),
]
Sitemaps = Annotated[
    bool | None,
    typer.Option(
        "--sitemaps/--no-sitemaps",
        rich_help_panel=_FAR,
        help="Read robots.txt sitemaps and feeds (the default), or follow links alone.",
    ),
]
Render = Annotated[
    RenderMode | None,
    typer.Option(
        "--render",
        rich_help_panel=_HOW,
        help="Which pages are opened in a browser, so that their scripts run. Needs Chromium.",
    ),
]
Forms = Annotated[
    bool | None,
    typer.Option(
        "--forms/--no-forms",
        rich_help_panel=_FAR,
        help="Submit search forms (GET only), or only find and report forms (the default).",
    ),
]
Delay = Annotated[
    str | None,
    typer.Option(
        "--delay",
        metavar="TIME",
        rich_help_panel=_GENTLE,
        help="Delay between two requests to a site: 2s, 250ms. robots.txt may ask for more.",
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "--rate", metavar="PAGES", min=0, rich_help_panel=_GENTLE, help="Maximum pages a second over all sites."
    ),
]
Contact = Annotated[
    str | None,
    typer.Option(
        "--contact",
        metavar="WHO",
        rich_help_panel=_GENTLE,
        help="Your mail address or page, for site owners; sent in the User-Agent.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        max=256,
        rich_help_panel=_HOW,
        help="Number of processes; by default one per core.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        rich_help_panel=_HOW,
        help="Run the shards on Ray: auto, local, or the address of a cluster.",
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", rich_help_panel=_HOW, help="Use these settings instead of those of the collection."
    ),
]
Resolve = Annotated[
    list[str] | None,
    typer.Option(
        "--resolve",
        metavar="NAME=IP",
        rich_help_panel=_HOW,
        help="Use this address for a host instead of DNS; *.NAME: all subdomains. May be repeated.",
    ),
]
AllowPrivate = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-private",
        metavar="HOST",
        rich_help_panel=_HOW,
        help="Allow this host to be in a private network: NAME, *.NAME or IP, with :PORT if needed. May be repeated.",
    ),
]
Proxy = Annotated[
    str | None,
    typer.Option(
        "--proxy",
        metavar="URL",
        rich_help_panel=_HOW,
        help="Fetch through this proxy: http://127.0.0.1:3128, socks5h://127.0.0.1:1080.",
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        rich_help_panel=_HOW,
        help="Certificate authorities to trust (PEM) instead of the system's.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        rich_help_panel=_HOW,
        help="Print what would be done and write nothing; with --media, read what sites list and print the cost.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Collected = Annotated[Path, typer.Argument(metavar="DIR", show_default=False, help="The folder of a collection.")]


JobsCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Compute PageRank and near-duplicates on Ray: auto, local, or the address of a cluster.",
    ),
]


@contextmanager
def executor_at(address: str | None) -> Iterator[Executor | None]:
    """Connect to Ray and return its executor; `None` without an address: this machine computes."""
    if address is None:
        yield None
        return
    from periplus.apps.cluster import RayExecutor  # Ray, only if it is wanted
    from periplus.apps.cluster.connection import connected

    with connected(address):
        yield RayExecutor()
