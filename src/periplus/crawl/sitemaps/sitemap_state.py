"""What a commit holds of sitemaps besides rows. Apart from the scheduler, which imports all of their reading."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import Fetched, Site, Stored, Url
from periplus.policy.sitemaps import SitemapNode


class UnfinishedFile(Struct, frozen=True, array_like=True):
    """A file that was not read to its end: the answer, where its body lies (or the body), and how far it was read.

    `vouching` are the hosts whose robots.txt names the file; `found_at` is when it arrived.
    """

    outcome: Fetched
    stored: Stored | None
    node: SitemapNode
    vouching: tuple[Site, ...]
    found_at: float
    steps: int


class SitemapState(Struct, array_like=True):
    """What is committed besides rows: files that are being read, in their order, and files to be read again."""

    unfinished: list[UnfinishedFile] = []
    postponed: list[Url] = []


def brought_back(node: SitemapNode, now: float, latest: float) -> SitemapNode:
    """A file after the clock was set back to `now`: it was visited now at the latest, and is due by `latest`.

    One that waits in a queue, or was given up, is not due (infinity), and stays so.
    """
    visited_at = None if node.visited_at is None else min(node.visited_at, now)
    ahead = 0.0 if node.visited_at is None or visited_at is None else node.visited_at - visited_at
    due_at = node.due_at if node.due_at == math.inf else min(node.due_at - ahead, latest)
    return replace(node, visited_at=visited_at, due_at=due_at)
