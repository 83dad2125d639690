"""Sketches: do they estimate what they say, with the error they say?"""

from __future__ import annotations

import math
import random
import statistics

import pytest

from periplus.content import resemblance, sketch_of

PAIRS = 50
"""Pairs of texts over which errors are averaged: enough to tell an error of a half from none."""


def shingles(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + 4]) for at in range(len(words) - 3)}


def jaccard(a: list[str], b: list[str]) -> float:
    return len(shingles(a) & shingles(b)) / len(shingles(a) | shingles(b))


@pytest.mark.parametrize(
    ("size", "changes"),
    [*(pytest.param(3000, changes, marks=pytest.mark.slow) for changes in (20, 150)), (600, 5), (150, 3)],
)
def test_estimate_and_error(size: int, changes: int) -> None:
    """Unbiased, with a standard deviation of about sqrt(J(1-J)/128), also where bins stay empty."""
    chance = random.Random(size + changes)
    errors, expected = [], []
    for _ in range(PAIRS):
        words = [f"w{chance.randrange(10**6)}" for _ in range(size)]
        other = list(words)
        for _ in range(changes):
            other[chance.randrange(size)] = f"x{chance.randrange(10**6)}"
        true = jaccard(words, other)
        errors.append(resemblance(sketch_of(" ".join(words)), sketch_of(" ".join(other))) - true)
        expected.append(math.sqrt(true * (1 - true) / 128))
    deviation = statistics.mean(expected)
    assert abs(statistics.mean(errors)) < 4 * deviation / math.sqrt(PAIRS)
    assert statistics.stdev(errors) < 1.5 * deviation


def test_words_are_what_counts() -> None:
    """Case, punctuation and white space do not matter; the words and their order do."""
    one = sketch_of("The quick brown fox jumps over the lazy dog")
    assert sketch_of("the QUICK—brown fox, jumps\nover  “the” lazy dog!") == one
    assert sketch_of("the quick brown dog jumps over the lazy fox") != one


def test_case_beyond_ascii() -> None:
    """Capitals of every script are folded."""
    assert sketch_of("ÉCOLE ПРИВЕТ ΑΒΓ élan vital") == sketch_of("école привет αβγ Élan Vital")


def test_signs_of_every_script_are_not_words() -> None:
    """Arabic and Hebrew have commas and hyphens of their own, and Chinese has wide ones; wide letters are letters."""
    assert sketch_of("مرحبا، العالم؟ نعم") == sketch_of("مرحبا العالم نعم")
    assert sketch_of("שלום־עולם") == sketch_of("שלום עולם")
    assert sketch_of("你好，世界！（好）") == sketch_of("你好世界好")
    assert sketch_of("ａｂｃ；ｄｅｆ") == sketch_of("ａｂｃ ｄｅｆ") != sketch_of("ａｂｃｄｅｆ")
    assert sketch_of("！？；؟،") == b""


def test_short_texts() -> None:
    """No words, no sketch; fewer words than a shingle are one shingle."""
    assert sketch_of("") == sketch_of(" ... ") == b""
    assert resemblance(b"", b"") == 1
    assert resemblance(b"", sketch_of("word")) == 0
    assert len(sketch_of("word")) == 512
    assert resemblance(sketch_of("two words"), sketch_of("Two words.")) == 1
    assert resemblance(sketch_of("two words"), sketch_of("other words")) == 0


def test_scripts_without_spaces() -> None:
    """A change in one sentence of a Chinese text leaves most of it the same."""
    text = "".join(chr(0x4E00 + (number * 37) % 5000) for number in range(800))
    other = text[:400] + "変更" + text[402:]
    assert 0.9 < resemblance(sketch_of(text), sketch_of(other)) < 1
    assert resemblance(sketch_of("日本語の文章です"), sketch_of("全然違う言葉だよ")) < 0.2


def test_mixed_scripts_share_their_words() -> None:
    """One foreign character does not change the numbers of the words around it."""
    words = " ".join(f"word{number}" for number in range(300))
    assert resemblance(sketch_of(words), sketch_of(words + " 東")) > 0.95
