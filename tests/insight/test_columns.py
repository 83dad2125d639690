"""Columns of texts as numbers, all at once: the same for the same texts, whatever stands beside them."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from periplus.insight.columns import codes, endings

TEXTS = st.lists(st.none() | st.text(max_size=40), max_size=30)


@given(TEXTS, TEXTS, st.integers(0, 30))
def test_a_number_depends_on_its_text_alone(some: list[str | None], others: list[str | None], start: int) -> None:
    """Not on the neighbours, nor on where an array begins; texts of another length or ending have another number."""
    alone = {text: int(endings(pa.array([text], pa.string()))[0]) for text in {*some, *others}}
    column = pa.array([*some, *others], pa.string())
    assert endings(column).tolist() == [alone[text] for text in (*some, *others)]
    assert endings(column[start:]).tolist() == [alone[text] for text in (*some, *others)[start:]]
    assert endings(column.dictionary_encode()).tolist() == endings(column).tolist()
    kinds = {(len(text.encode()), text.encode()[-16:]) for text in alone if text}
    assert len({number for text, number in alone.items() if text}) == len(kinds)
    assert all(alone[text] == 0 for text in alone if not text)


@given(TEXTS)
def test_words_and_their_numbers(texts: list[str | None]) -> None:
    """What is none has a number of its own, too."""
    numbers, words = codes(pa.array(texts, pa.string()))
    assert [words[number] for number in numbers] == texts
