"""`--cluster` of the commands that read a collection: computes PageRank and near-duplicates on Ray."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from periplus.model import Executor

Cluster = Annotated[
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
    from periplus.cluster import RayExecutor  # Ray, only if it is wanted
    from periplus.cluster.connection import connected

    with connected(address):
        yield RayExecutor()
