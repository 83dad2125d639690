"""Near-duplicates, against news articles with planted pairs."""

from __future__ import annotations

import gzip
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from periplus.content import resemblance, sketch_of
from periplus.policy.duplicates import band_keys, brief_of, rows_of

pytestmark = pytest.mark.corpus


@pytest.mark.parametrize("size", [100, 1000])
def test_planted_pairs(corpus: Path, size: int) -> None:
    """Bands offer every planted pair, and the resemblance of all that they offer tells them from the others."""
    folder = corpus / "neardup"
    lines = gzip.decompress((folder / f"articles_{size}.train.gz").read_bytes()).decode("utf-8", "replace").splitlines()
    truth = gzip.decompress((folder / f"articles_{size}.truth.gz").read_bytes()).decode().split("\n")
    planted = {frozenset(line.split()) for line in truth if line.strip()}
    sketches = {name: sketch_of(text) for name, _, text in (line.partition(" ") for line in lines)}
    by_band = defaultdict(list)
    keys = band_keys(rows_of([brief_of(sketch) for sketch in sketches.values()]))
    for name, row in zip(sketches, keys.tolist(), strict=True):
        for band in enumerate(row):
            by_band[band].append(name)
    offered = {frozenset(pair) for names in by_band.values() for pair in combinations(names, 2)}
    assert planted <= offered
    found = {pair for pair in offered if resemblance(*(sketches[name] for name in pair)) >= 0.5}
    assert found == planted
    assert all(resemblance(*(sketches[name] for name in pair)) >= 0.8 for pair in planted)
