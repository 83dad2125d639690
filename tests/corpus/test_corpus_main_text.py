"""Main text on real pages of many languages, on which people marked sentences that belong to it and others."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.main_text import Found, MarkedPage, judge, marked_pages, ours

pytestmark = pytest.mark.corpus

LEAST_F1 = 0.94
"""Reached: 0.950. Trafilatura, which was made on these pages: 0.939."""
LEAST_PRECISION = 0.92
LEAST_RECALL = 0.95


@pytest.fixture(scope="module")
def judged(corpus: Path) -> list[tuple[MarkedPage, Found]]:
    """Every page, and what was found on it."""
    pages = list(marked_pages(corpus))
    return [(page, judge(page, ours(page.body, page.url))) for page in pages]


def test_sentences_found_and_left_out(judged: list[tuple[MarkedPage, Found]]) -> None:
    """F1 over all sentences."""
    total = sum((found for _, found in judged), Found())
    assert len(judged) == 216
    assert total.found + total.missed == 649
    assert total.f1 >= LEAST_F1
    assert total.precision >= LEAST_PRECISION
    assert total.recall >= LEAST_RECALL


def test_few_pages_fail_as_a_whole(judged: list[tuple[MarkedPage, Found]]) -> None:
    """A container in the wrong place loses everything: that hardly ever happens."""
    lost = [page.name for page, found in judged if page.inside and not found.found]
    assert len(lost) <= 3
