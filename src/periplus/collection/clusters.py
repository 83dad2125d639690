"""What runs shards and jobs on other machines: an entry point of `periplus.clusters`, as `periplus-ray` has one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, Protocol, cast

from periplus.engine.sharding import Gather
from periplus.model import Executor, UsageError

GROUP: Final = "periplus.clusters"


class ClusterAccess(Protocol):
    """What the entry point is: a module, or an object, with these functions."""

    def gathered(
        self, address: str, memory: Path, shards: int, lease: float
    ) -> AbstractContextManager[tuple[Gather, int]]:
        """Connect; return what makes a team of shards, and the number of processors. All nodes have `memory`."""

    def executor_at(self, address: str) -> AbstractContextManager[Executor]:
        """Connect; return what runs jobs on tables."""


def installed_cluster() -> ClusterAccess:
    """The one that is installed."""
    for each in entry_points(group=GROUP):
        return cast("ClusterAccess", each.load())
    raise UsageError(
        "--cluster needs periplus-ray, which is not installed",
        hint="pip install periplus-ray, or in a clone of the repository: pip install . ./bridges/ray",
    )
