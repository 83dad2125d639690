"""The options of `periplus crawl`, each with the line that `--help` shows, and what they are called in the settings."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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
    typer.Argument(metavar="SEED", show_default=False, help="Where to begin; https:// need not be typed."),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="DIR", help="The collection: made if it is not there, continued if it is."),
]
Limit = Annotated[
    int | None, typer.Option("--limit", metavar="PAGES", min=1, rich_help_panel=_FAR, help="Pages to fetch in all.")
]
Depth = Annotated[
    int | None,
    typer.Option("--depth", metavar="LINKS", min=0, rich_help_panel=_FAR, help="Links away from a seed, at most."),
]
Scope = Annotated[
    ScopeKind | None,
    typer.Option("--scope", rich_help_panel=_FAR, help="How far from the seeds; by default their domains."),
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
        help="No URLs like this, whatever --include says. May be repeated.",
    ),
]
For = Annotated[
    str | None,
    typer.Option("--for", metavar="TIME", rich_help_panel=_FAR, help="How long to crawl now: 90s, 10m, 1h30m."),
]
SeedFile = Annotated[
    str | None,
    typer.Option("--seeds", metavar="FILE", rich_help_panel=_FAR, help="More seeds, one a line; - is standard input."),
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order",
        metavar="NAME",
        rich_help_panel=_FAR,
        help=f"Which URLs first: {', '.join(orderings())}; by default breadth_first.",
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
        help="For --order optimal: an earlier collection of the same web, by whose PageRank to go.",
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
        help="Read what sites publish about themselves, as by default; with no- follow links alone.",
    ),
]
Delay = Annotated[
    str | None,
    typer.Option(
        "--delay",
        metavar="TIME",
        rich_help_panel=_GENTLE,
        help="Between two requests to a site: 2s, 250ms. robots.txt may ask for more.",
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "--rate", metavar="PAGES", min=0, rich_help_panel=_GENTLE, help="Pages a second over all sites, at most."
    ),
]
Contact = Annotated[
    str | None,
    typer.Option(
        "--contact",
        metavar="WHO",
        rich_help_panel=_GENTLE,
        help="Your mailbox or page, for owners of sites; goes into the User-Agent.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", min=1, max=256, rich_help_panel=_HOW, help="Processes; by default one a core."
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
        "--config", metavar="FILE", rich_help_panel=_HOW, help="Settings in place of those of the collection."
    ),
]
Resolve = Annotated[
    list[str] | None,
    typer.Option(
        "--resolve",
        metavar="NAME=IP",
        rich_help_panel=_HOW,
        help="Where a name is, whatever DNS says; *.NAME: all below it. May be repeated.",
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
    str | None, typer.Option("--proxy", metavar="URL", rich_help_panel=_HOW, help="Fetch through this proxy.")
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        rich_help_panel=_HOW,
        help="Authorities to trust (PEM) in place of the system's.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", rich_help_panel=_HOW, help="Say what would be done; fetch and write nothing."),
]
Json = Annotated[bool, typer.Option("--json", help="For programs: JSON on stdout.")]
Collected = Annotated[Path, typer.Argument(metavar="DIR", show_default=False, help="The folder of a collection.")]
