"""`insight.duplicates.pairs`: what it finds is exact, and it finds what there is."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest

from periplus.insight import duplicates
from periplus.insight.duplicates import pairs
from periplus.model import UsageError

WORDS = [f"word{number}" for number in range(3_000)]


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return set(zip(*(words[place:] for place in range(4)), strict=False))


def truth(texts: dict[str, str], threshold: float) -> list[tuple[str, str, float]]:
    sets = {name: shingles(text) for name, text in texts.items()}
    shares = ((a, b, len(sets[a] & sets[b]) / len(sets[a] | sets[b])) for a, b in combinations(sorted(sets), 2))
    return [each for each in shares if each[2] >= threshold]


def family(seed: int, members: int, edits: int) -> list[str]:
    """A text, and versions of it with up to so many words replaced."""
    random = Random(seed)
    words = random.choices(WORDS, k=random.randint(60, 400))
    versions = [words]
    for _ in range(members - 1):
        version = list(words)
        for place in random.sample(range(len(words)), random.randint(0, edits)):
            version[place] = random.choice(WORDS)
        versions.append(version)
    return [" ".join(version) for version in versions]


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9, 0.97, 1.0])
def test_as_comparing_all_with_all(threshold: float) -> None:
    """The same pairs and the same shares as counting shingles of all pairs gives, at any threshold."""
    texts = {f"{seed}-{number}": text for seed in range(40) for number, text in enumerate(family(seed, 6, 12))}
    found, expected = pairs(texts, threshold), truth(texts, threshold)
    assert len(expected) > 10
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    assert [each[2] for each in found] == pytest.approx([each[2] for each in expected])


def test_names_are_sorted_and_each_pair_comes_once() -> None:
    """Whatever the order of the texts."""
    assert pairs({"b": "one two three four five", "c": "x", "a": "One two, three four five!"}) == [("a", "b", 1.0)]


def test_short_and_empty_texts() -> None:
    """Fewer words than a shingle are one; no words resemble nothing."""
    texts = {"a": "one", "b": "One.", "c": "one two", "d": "", "e": " ", "f": "!?"}
    assert pairs(texts) == [("a", "b", 1.0)]
    assert pairs({}) == []


def test_a_phrase_that_all_share_does_not_make_pairs_nor_hide_them() -> None:
    """Hundreds of texts with half of their words in common crowd their bands; copies among them are found."""
    random = Random(3)
    frame = random.choices(WORDS, k=250)
    texts = {f"{number:04}": " ".join(frame + random.choices(WORDS, k=50)) for number in range(700)}
    copies = {f"copy-{number:04}": texts[f"{number:04}"] + " end" for number in range(0, 700, 7)}
    assert [each[:2] for each in pairs(texts | copies, 0.95)] == [(name[5:], name) for name in copies]


@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_a_crowd_of_versions(threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of versions of one text: every pair that is close enough, though few shingles are kept at a time."""
    monkeypatch.setattr(duplicates, "_REMEMBERED", 20_000)
    monkeypatch.setattr(duplicates, "_PLACES", 64)
    monkeypatch.setattr(duplicates, "_LAST_BITS", np.uint64(63))
    texts = {f"{number:03}": text for number, text in enumerate(family(5, 120, 25))}
    found, expected = pairs(texts, threshold), truth(texts, threshold)
    assert len(expected) > 100
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    assert [each[2] for each in found] == pytest.approx([each[2] for each in expected])


def test_endless_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text very often is said to be so, before memory is full."""
    monkeypatch.setattr(duplicates, "MAX_PAIRS", 1_000)
    with pytest.raises(UsageError):
        pairs({str(number): "one two three four five" for number in range(46)})
    assert len(pairs({str(number): "one two three four five" for number in range(45)})) == 990


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1, float("nan")])
def test_a_threshold_is_a_share(threshold: float) -> None:
    """Anything else is the caller's mistake."""
    with pytest.raises(UsageError):
        pairs({}, threshold)
