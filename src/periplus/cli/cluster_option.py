"""`--cluster` of the commands that ask a collection: who reckons PageRank and near-duplicates, if not this machine."""

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
        help="Reckon PageRank and near-duplicates on Ray: auto, local, or the address of a cluster.",
    ),
]


@contextmanager
def executor_at(address: str | None) -> Iterator[Executor | None]:
    """Whoever reckons there; `None` if no address was given: then this machine does."""
    if address is None:
        yield None
        return
    from periplus.cluster import RayExecutor  # Ray: only for who asks for it
    from periplus.cluster.connection import connected

    with connected(address):
        yield RayExecutor()
