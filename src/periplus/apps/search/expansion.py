"""Related words for a query, from the pages found first (pseudo-relevance feedback, RM3). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

TERMS: Final = 50
"""Terms that are added."""
_LEAST_LETTERS: Final = 2


def related_terms(pages: Sequence[tuple[float, Sequence[str]]], words: int) -> tuple[tuple[str, float], ...]:
    """The most likely terms of pages, given with their scores, and their weights beside the words of the query.

    Together they weigh as much as the words, which count 1 each.
    """
    likely: Counter[str] = Counter()
    total = sum(max(0.0, score) for score, _ in pages) or 1.0
    for score, terms in pages:
        kept = [term for term in terms if len(term) >= _LEAST_LETTERS and not term.isdigit()]
        for term, number in Counter(kept).items():
            likely[term] += max(0.0, score) / total * number / len(kept)  # type: ignore[assignment]
    best = likely.most_common(TERMS)
    mass = sum(weight for _, weight in best) or 1.0
    return tuple((term, words * weight / mass) for term, weight in best)
