"""What the server's log says was fetched: the only count of pages that the bench believes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from dataclasses import dataclass

from bench.crawl.reachable import Page


@dataclass(frozen=True)
class Served:
    """One run as the server saw it, up to the bound in time."""

    pages: frozenset[Page]
    """Different pages answered with 200."""
    fetches: int
    """All answers with 200 and a page, repeats included."""
    requests: int
    """All answers."""
    faults: int
    """Answers that say the server failed (5xx): a figure with these in it measures the bench and not the crawler."""
    first_at: float | None
    """When the first answer was sent, in seconds of the Unix clock."""

    def share_of(self, reachable: Set[Page]) -> float:
        """How much of what links lead to was fetched."""
        return len(self.pages & reachable) / len(reachable) if reachable else 0.0

    def beyond(self, reachable: Set[Page]) -> int:
        """Pages fetched though no link leads there: by frames, refreshes, scripts or sitemaps."""
        return len(self.pages - reachable)


def count(lines: Iterable[str], *, until: float = float("inf")) -> Served:
    """Count the answers sent before `until`. A last line cut short, as a killed server leaves it, is no answer."""
    pages: set[Page] = set()
    fetches = requests = faults = 0
    first_at: float | None = None
    for line in lines:
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if answer["at"] > until:
            continue
        requests += 1
        faults += answer["status"] >= 500
        first_at = answer["at"] if first_at is None else min(first_at, answer["at"])
        if answer["status"] == 200 and answer["type"].startswith("text/html"):
            fetches += 1
            pages.add((answer["host"], answer["path"]))
    return Served(frozenset(pages), fetches, requests, faults, first_at)
