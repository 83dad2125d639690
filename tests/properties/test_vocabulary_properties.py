"""The words of a text are the same whether they are read in C or in Python, with and without sections."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.content.scan import READER
from periplus.content.text_language import WORD, plain_text, words_of
from periplus.content.vocabulary import TextWords, WordTable

if READER != "native":
    pytest.skip("the native scanner is not built", allow_module_level=True)

texts = st.text(st.sampled_from("aB zé-_.1Σß’—\u0130\u0e01\u0e31漢\U0001f600\ud800\n"), max_size=60)


def look_up(word: str) -> tuple[str, int]:
    """A term that is different for each word, sometimes empty."""
    return ("" if len(word) > 8 else word[::-1]), 1 + sum(map(ord, word))


@given(st.lists(st.tuples(texts, st.lists(st.integers(0, 70), max_size=4), st.booleans()), max_size=5))
def test_readers_agree(pages: list[tuple[str, list[int], bool]]) -> None:
    """Terms, numbers and starts of sections of each text, and the counts of all."""
    compiled, ours = (
        WordTable(look_up, words_of, plain_text, is_compiled=is_compiled) for is_compiled in (True, False)
    )
    for text, sections, is_counted in pages:
        starts = sorted(sections)
        assert compiled.read(text, starts, is_counted=is_counted) == ours.read(text, starts, is_counted=is_counted)
    assert compiled.take_counts() == ours.take_counts()
    assert compiled.take_counts() == {}


@given(texts)
def test_words(text: str) -> None:
    """Words are what the pattern finds."""
    assert words_of(text) == WORD.findall(text.lower().encode("utf-8", "replace").decode())


def test_many_words() -> None:
    """More words than a new vocabulary has room for."""
    vocabulary = WordTable(look_up, words_of, plain_text)
    words = [f"w{number}" for number in range(20_000)]
    read = vocabulary.read(" ".join(words + words), [3], is_counted=True)
    numbers = b"".join(look_up(word)[1].to_bytes(4, sys.byteorder) for word in words)
    assert read == TextWords(" ".join(word[::-1] for word in words + words), numbers + numbers, [1])
    assert len(vocabulary) == len(words)
    assert vocabulary.take_counts() == dict.fromkeys(words, 1)
