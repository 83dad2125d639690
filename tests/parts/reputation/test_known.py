"""The table of budgets that a crawl reads."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.model import CollectionDamaged
from periplus.parts.reputation.known import KnownReputation, domain_hash


def test_known_reputation_is_looked_up_and_stored() -> None:
    """What was written is read back; unknown domains have none; other bytes are refused."""
    names = [f"d{number}.test" for number in range(500)]
    hashes = np.array([domain_hash(name) for name in names], np.uint64)
    known = KnownReputation(hashes, np.arange(500, dtype=np.uint32), np.linspace(0, 1, 500, dtype=np.float32))
    again = KnownReputation.read(known.written())
    assert [again.budget(name) for name in names] == list(range(500))
    assert again.score("d499.test") == 1.0
    assert again.budget("other.test") is None
    with pytest.raises(CollectionDamaged):
        KnownReputation.read(b"something else")
