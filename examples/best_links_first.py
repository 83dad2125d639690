"""Crawl the pages first whose links are about a subject, and stop after a few of them.

python examples/best_links_first.py https://docs.example.org docs install configure upgrade
"""

import sys
from collections.abc import Callable
from typing import Any

import periplus


def about(words: list[str]) -> Callable[[str, Any], float]:
    """A score from 0 to 1: how many of the words the URL and the text of the link contain."""

    def score(url: str, found: Any) -> float:
        text = f"{url} {found.anchor} {found.title}".lower()
        return sum(word in text for word in words) / len(words)

    return score


def main(seed: str, folder: str, *words: str, limit: int = 50, **options: Any) -> list[str]:
    """Crawl; the URLs in the order in which they were fetched."""
    with periplus.crawl(seed, out=folder, limit=limit, score=about([*words]), **options) as crawl:
        return [page.url for page in crawl]


if __name__ == "__main__":
    for line in main(*sys.argv[1:], contact="you@example.org"):
        sys.stdout.write(line + "\n")
