"""Options that commands share and that are not settings, each with the line that `--help` shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from periplus.model import Executor
from periplus.model.flags import FAR, HOW

from .commands import Argument, Option

Seeds = Annotated[
    list[str] | None,
    Argument(metavar="SEED", help="URL or host to begin with; https:// may be left out."),
]
Out = Annotated[
    Path,
    Option("--out", "-o", metavar="DIR", help="The collection: created if it does not exist, else continued."),
]
SeedFile = Annotated[
    str | None,
    Option(
        "--seeds",
        "--frontier-from",
        metavar="FILE",
        panel=FAR,
        help="Read more seeds from text, CSV, JSON lines, bookmarks or OPML, also with gzip; - reads standard input.",
    ),
]
Want = Annotated[
    str | None,
    Option(
        "--want",
        metavar="NAME",
        panel=FAR,
        help="Fetch only URLs that this filter of an installed package wants (entry points: periplus.filters).",
    ),
]
Extract = Annotated[
    str | None,
    Option(
        "--extract",
        metavar="MODULE:FUNCTION",
        panel=FAR,
        help="Call this function with each page that is fetched, and store the dicts it returns in the table items.",
    ),
]
Score = Annotated[
    str | None,
    Option(
        "--score",
        metavar="NAME",
        panel=FAR,
        help="In place of --order: an ordering of an installed package (entry points: periplus.orderings).",
    ),
]
Login = Annotated[
    Path | None,
    Option(
        "--login",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        panel=HOW,
        help="Log in first, as this TOML file says (docs/sessions.md); also header fields for single sites.",
    ),
]
Cookies = Annotated[
    Path | None,
    Option(
        "--cookies",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        panel=HOW,
        help="Send the cookies of this file (cookies.txt, as browsers' extensions and curl write it).",
    ),
]
Cluster = Annotated[
    str | None,
    Option(
        "--cluster",
        metavar="ADDRESS",
        panel=HOW,
        help="Run the shards on Ray: auto, local, or the address of a cluster.",
    ),
]
SettingsFile = Annotated[
    Path | None,
    Option("--config", metavar="FILE", panel=HOW, help="Use these settings instead of those of the collection."),
]
DryRun = Annotated[
    bool,
    Option(
        "--dry-run",
        help="Print what would be done and write nothing; with --media, read what sites list and print the cost.",
    ),
]
Json = Annotated[bool, Option("--json", help="Print JSON, for programs.")]
Collected = Annotated[Path, Argument(metavar="DIR", help="The folder of a collection.")]


JobsCluster = Annotated[
    str | None,
    Option(
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
