"""What a commit holds of sitemaps besides rows. Apart from the scheduler, which imports all of their reading."""

from __future__ import annotations

from msgspec import Struct

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
