"""No verdict loses an honest page, on webs of every kind that three seeds draw; and what a kind may waste."""

from __future__ import annotations

import pytest
from tests.verdicts.crawled import crawl_kind
from tests.verdicts.webs import KINDS

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_honest_page_is_lost(kind: str, seed: int) -> None:
    """Every page that is owed is found, and no more is wasted than the kind allows."""
    harvest = crawl_kind(kind, seed)
    assert harvest.lost == ()
    assert harvest.wasted <= harvest.allowance
