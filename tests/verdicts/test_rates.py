"""Verdicts on data that they are not tuned on are right."""

from __future__ import annotations

import pytest
from tests.verdicts.rates import canonicals, rules, traps
from tests.verdicts.spelled_sites import spellings

pytestmark = pytest.mark.proof


def test_rules_for_duplicate_urls_are_right() -> None:
    """One small site of each spelling: no rule that is not true is found, and no page is lost."""
    found = {rate.kind: rate for rate in rules(sites=1, pages=70)}
    assert len(found) == 1 + sum(spelling.is_idle for spelling in spellings().values())
    assert all(rate.precision == 1.0 for rate in found.values())
    assert found["rule where none is true"].data.endswith(" 0 pages lost")


def test_traps_end_and_honest_pages_beside_them_are_read() -> None:
    assert [(rate.precision, rate.recall) for rate in traps(sites=1)] == [(1.0, 1.0)] * 3


def test_canonical_links_are_believed_where_the_text_is_the_same() -> None:
    assert [(rate.precision, rate.recall) for rate in canonicals(pages=40)] == [(1.0, 1.0)]
