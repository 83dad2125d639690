"""Pairs of texts, against news articles with planted pairs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from periplus.insight import duplicates

pytestmark = pytest.mark.corpus


@pytest.mark.parametrize("size", [100, 1000])
def test_all_planted_pairs_and_no_others(corpus: Path, size: int) -> None:
    """With the default threshold, and far below it as well: nothing was tuned to find them."""
    folder = corpus / "neardup"
    lines = gzip.decompress((folder / f"articles_{size}.train.gz").read_bytes()).decode("utf-8", "replace").splitlines()
    truth = gzip.decompress((folder / f"articles_{size}.truth.gz").read_bytes()).decode().splitlines()
    planted = sorted(tuple(sorted(line.split())) for line in truth if line.strip())
    texts = {name: text for name, _, text in (line.partition(" ") for line in lines)}
    for found in (duplicates.pairs(texts), duplicates.pairs(texts, 0.5)):
        assert [(one, other) for one, other, _ in found] == planted
        assert all(0.9 <= resemblance < 1.0 for _, _, resemblance in found)
