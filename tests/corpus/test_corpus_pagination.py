"""Next pages of real lists, against what people have annotated (autopager)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.corpus.list_pages import ListPage, judged, learnt, left_out, list_pages

from periplus.content.pagination import LEAST, WEIGHTS

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def pages(corpus: Path) -> list[ListPage]:
    """All pages, those without a next page included."""
    return list(list_pages(corpus))


def test_next_pages_of_sites_left_out(pages: list[ListPage]) -> None:
    """Each site by weights that were learnt from the others. Reached: .894 and .952."""
    figures = judged(pages, left_out(pages))
    assert (len(pages), figures.wanted) == (109, 62)
    assert figures.precision >= 0.87
    assert figures.recall >= 0.93


def test_without_declarations(pages: list[ListPage]) -> None:
    """What is declared is often not seen by readers, who marked the pages; by links alone both figures are higher."""
    bare = [ListPage(page.url, page.site, page.wanted, None, page.evidence) for page in pages]
    figures = judged(bare, left_out(bare))
    assert figures.precision >= 0.93
    assert figures.recall >= 0.93


@pytest.mark.parametrize("hidden", ["says_next", "is_arrow", "is_marked", "is_in_next", "is_number", "is_step"])
def test_no_kind_of_evidence_is_indispensable(pages: list[ListPage], hidden: str) -> None:
    """A site of an unknown language has no words that we know; another has no classes, or URLs that say nothing."""
    less = [
        ListPage(
            page.url,
            page.site,
            page.wanted,
            page.declared,
            {target: evidence._replace(**{hidden: False}) for target, evidence in page.evidence.items()},
        )
        for page in pages
    ]
    figures = judged(less, left_out(less))
    assert figures.precision >= 0.8
    assert figures.recall >= 0.85


def test_weights_are_those_of_the_corpus(pages: list[ListPage]) -> None:
    assert learnt(pages) == (list(WEIGHTS), LEAST)
