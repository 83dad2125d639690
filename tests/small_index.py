"""Lets small crawls do what large ones do: move records out of the tree of new URLs, and merge their index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock


@contextmanager
def small_index(young: int = 24, tier: int = 96, step: int = 50) -> Iterator[None]:
    """Rows are moved after `young` URLs; files of `tier` are merged in pieces of `step`."""
    with ExitStack() as stack:
        for name, size in (("records.YOUNG", young), ("fingerprints.TIER", tier), ("runs.STEP", step)):
            stack.enter_context(mock.patch(f"periplus.store.state.{name}", size))
        yield
