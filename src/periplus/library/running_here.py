"""The crawls that run in this process, by folder.

The state of a shard that runs in this process cannot be opened a second time here. A collection that is read meanwhile
asks its crawl how far the tables are committed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from periplus.store.tables import Spooled


class RunningCrawl(Protocol):
    """What a collection asks of a crawl that runs."""

    @property
    def spooled(self) -> tuple[Spooled, ...]:
        """How far each shard has committed its rows."""


_CRAWLS: dict[Path, RunningCrawl] = {}


def register(folder: Path, crawl: RunningCrawl) -> None:
    """A crawl of this folder runs now."""
    _CRAWLS[folder.resolve()] = crawl


def unregister(folder: Path) -> None:
    """It has ended."""
    _CRAWLS.pop(folder.resolve(), None)


def running_crawl(folder: Path) -> RunningCrawl | None:
    """The crawl of this folder, if one runs in this process."""
    return _CRAWLS.get(folder.resolve())
