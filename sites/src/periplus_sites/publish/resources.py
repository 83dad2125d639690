"""What an inventory finds: resources of a site, and what is wrong with some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from msgspec import Struct

from periplus.model import Problem


class Resource(Struct, frozen=True):
    """One address of the site, as its source describes it.

    `stamp` changes whenever the content may have changed (a modification time in nanoseconds, a row's version): while
    size and stamp stay the same, the content is not read. `source_date` is when the source says it last changed.
    `read` returns the content, or is `None` if only `digest` is known. `title` and `images` are for sources without
    contents to take them from.
    """

    url: str
    mime: str = "text/html"
    size: int = 0
    stamp: int = 0
    source_date: float | None = None
    read: Callable[[], bytes] | None = None
    digest: str = ""
    title: str = ""
    images: tuple[str, ...] = ()
    priority: float | None = None


class Inventory(Protocol):
    """A source of resources."""

    is_complete: bool
    """Whether what it does not mention is gone. A source of changes alone is not complete."""

    def resources(self) -> Iterator[Resource | Problem]:
        """Every resource once; a `Problem` for what could not be read, whose last known state then stays."""
        ...
