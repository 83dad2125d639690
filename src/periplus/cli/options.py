"""Options that commands share and that are not settings, each with the line that `--help` shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from periplus.model import Executor
from periplus.model.flags import FAR, HOW

Seeds = Annotated[
    list[str] | None,
    typer.Argument(metavar="SEED", show_default=False, help="URL or host to begin with; https:// may be left out."),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="DIR", help="The collection: created if it does not exist, else continued."),
]
SeedFile = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        "--frontier-from",
        metavar="FILE",
        rich_help_panel=FAR,
        help="Read more seeds from text, CSV, JSON lines, bookmarks or OPML, also with gzip; - reads standard input.",
    ),
]
Want = Annotated[
    str | None,
    typer.Option(
        "--want",
        metavar="NAME",
        rich_help_panel=FAR,
        help="Fetch only URLs that this filter of an installed package wants (entry points: periplus.filters).",
    ),
]
Extract = Annotated[
    str | None,
    typer.Option(
        "--extract",
        metavar="MODULE:FUNCTION",
        rich_help_panel=FAR,
        help="Call this function with each page that is fetched, and store the dicts it returns in the table items.",
    ),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score",
        metavar="NAME",
        rich_help_panel=FAR,
        help="In place of --order: an ordering of an installed package (entry points: periplus.orderings).",
    ),
]
Login = Annotated[
    Path | None,
    typer.Option(
        "--login",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        rich_help_panel=HOW,
        help="Log in first, as this TOML file says (docs/sessions.md); also header fields for single sites.",
    ),
]
Cookies = Annotated[
    Path | None,
    typer.Option(
        "--cookies",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        rich_help_panel=HOW,
        help="Send the cookies of this file (cookies.txt, as browsers' extensions and curl write it).",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        rich_help_panel=HOW,
        help="Run the shards on Ray: auto, local, or the address of a cluster.",
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", rich_help_panel=HOW, help="Use these settings instead of those of the collection."
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
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
    from periplus.collection.clusters import installed_cluster

    with installed_cluster().executor_at(address) as executor:
        yield executor
