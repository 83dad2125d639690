"""What every `SeenSet` promises. A new implementation joins the fixture's list."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.model import Fingerprint, SeenSet
from periplus.store import MemorySeenSet

IMPLEMENTATIONS: list[Callable[[], SeenSet]] = [MemorySeenSet]

fingerprints = st.integers(min_value=0, max_value=2**64 - 1).map(Fingerprint)
few_fingerprints = st.integers(min_value=0, max_value=20).map(Fingerprint)
batches = st.lists(st.lists(fingerprints | few_fingerprints, max_size=30), max_size=8)


@pytest.mark.parametrize("make", IMPLEMENTATIONS)
@given(offered=batches)
def test_each_fingerprint_is_new_exactly_once(make: Callable[[], SeenSet], offered: list[list[Fingerprint]]) -> None:
    """Over any batches, a fingerprint is new the first time it is offered and never again."""
    seen = make()
    known: set[Fingerprint] = set()
    for batch in offered:
        answers = seen.add_new(batch)
        assert len(answers) == len(batch)
        for fingerprint, is_new in zip(batch, answers, strict=True):
            assert is_new == (fingerprint not in known)
            known.add(fingerprint)
        assert len(seen) == len(known)


@pytest.mark.parametrize("make", IMPLEMENTATIONS)
def test_an_empty_batch_has_an_empty_answer(make: Callable[[], SeenSet]) -> None:
    """Nothing offered, nothing new, nothing known."""
    seen = make()
    assert seen.add_new([]) == []
    assert len(seen) == 0
