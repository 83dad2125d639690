"""Near-duplicates, against news articles with planted pairs."""

from __future__ import annotations

import gzip
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from periplus.content import resemblance, sketch_of
from periplus.policy.duplicates import band_keys, brief_of, rows_of


@pytest.mark.corpus
@pytest.mark.parametrize("size", [100, 1000])
def test_planted_pairs(corpus: Path, size: int) -> None:
    """Bands offer every planted pair, and the resemblance of all that they offer tells them from the others."""
    folder = corpus / "neardup"
    lines = gzip.decompress((folder / f"articles_{size}.train.gz").read_bytes()).decode("utf-8", "replace").splitlines()
    truth = gzip.decompress((folder / f"articles_{size}.truth.gz").read_bytes()).decode().split("\n")
    planted = {frozenset(line.split()) for line in truth if line.strip()}
    check_pairs(dict(line.split(" ", 1) for line in lines), planted)


def check_pairs(texts: dict[str, str], planted: set[frozenset[str]]) -> None:
    sketches = {name: sketch_of(text) for name, text in texts.items()}
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


def test_pairs_of_our_own() -> None:
    """Articles of random words, and copies in which one word in forty is another."""
    chance = Random(7)
    words = [f"word{number}" for number in range(5000)]
    texts = {f"a{number}": " ".join(chance.choices(words, k=400)) for number in range(40)}
    for number in range(0, 40, 8):
        copied = texts[f"a{number}"].split()
        copied[10::200] = ["changed"] * len(copied[10::200])
        texts[f"b{number}"] = " ".join(copied)
    check_pairs(texts, {frozenset((f"a{number}", f"b{number}")) for number in range(0, 40, 8)})
