"""Vectors of passages: kept with an index, used for the order of results, and never run by an index of another's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.apps.search import Document, Index, IndexOutdated, word_vectors
from periplus.apps.search.vectors import MAX_PASSAGES, PASSAGE, VectorModel, packed, passages_of, similarities
from periplus.model import ConfigError, UsageError

TEXTS = {
    "boats": "The boat sails across the sea to the port with wind in the sails.",
    "ships": "The vessel and its crew voyage over the ocean to the harbour, and rest.",
    "bread": "The bread is baked in an oven with flour, yeast and salt, and rests.",
}
MEANINGS = {"boat": 0, "sea": 0, "vessel": 0, "ocean": 0, "voyage": 0, "bread": 1, "flour": 1, "oven": 1}


def meanings(texts: Sequence[str]) -> list[list[float]]:
    """A vector with a number for the sea and one for food."""
    found = [[1e-3, 1e-3] for _ in texts]
    for place, text in enumerate(texts):
        for word in text.lower().split():
            if word in MEANINGS:
                found[place][MEANINGS[word]] += 1.0
    return found


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the function above: this module, as an import by name finds it."""
    import sys

    monkeypatch.setitem(sys.modules, "own_vectors", sys.modules[__name__])
    return "own_vectors:meanings"


def documents() -> list[Document]:
    return [Document(url=f"https://{name}.test/", title="", text=text) for name, text in TEXTS.items()]


def test_the_nearest_in_meaning_comes_first(tmp_path: Path, model: str) -> None:
    """Of two pages with the same word of the query, that with words of the same meaning."""
    with Index.open(tmp_path / "i", vectors=model) as index:
        index.add(documents())
        index.commit()
        first = index.search("rests ocean boat").hits[0]
        assert first.parts["meaning"] > 0
        order = [hit.url for hit in index.search("rest voyage")]
        assert order[0] == "https://ships.test/"
        assert index.search("rest").hits[0].parts.keys() >= {"meaning"}


def test_other_vectors_need_another_index(tmp_path: Path, model: str) -> None:
    """And those of a function are used only if it is named again."""
    with Index.open(tmp_path / "i", vectors=model) as index:
        index.add(documents())
        index.commit()
    with pytest.raises(IndexOutdated, match="other vectors"):
        Index.open(tmp_path / "i", vectors="")
    with Index.open(tmp_path / "i") as index:
        assert "meaning" not in index.search("rest").hits[0].parts
    with Index.open(tmp_path / "i", vectors=model) as index:
        assert "meaning" in index.search("rest").hits[0].parts


def test_deleted_pages_leave_no_vectors(tmp_path: Path, model: str) -> None:
    with Index.open(tmp_path / "i", vectors=model) as index:
        index.add(documents())
        index.commit()
        index.delete(["https://bread.test/"])
        index.commit()
        assert len(index) == 2
        assert "https://bread.test/" not in [hit.url for hit in index.search("rest")]


def test_a_name_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no entry point 'wordlama'") as error:
        Index.open(tmp_path / "i", vectors="wordlama")
    assert "wordllama" in str(error.value.hint)


@pytest.mark.parametrize("given", [[1.0, 2.0], [[1.0]], [[], []], np.zeros((2, 5000))])
def test_what_is_not_a_row_for_each_text_is_refused(given: object) -> None:
    with pytest.raises(UsageError, match="for 2 texts"):
        VectorModel("own", lambda _: given).vectors_of(["a", "b"])


def test_numbers_that_are_none_count_nothing() -> None:
    found = VectorModel("own", lambda _: [[float("nan"), 1.0], [float("inf"), 0.0]]).vectors_of(["a", "b"])
    assert found.tolist() == [[0.0, 1.0], [0.0, 0.0]]


@given(st.lists(st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=8), min_size=1, max_size=6))
def test_a_byte_a_number_is_enough(rows: list[list[float]]) -> None:
    """The similarity of packed vectors differs by less than two hundredths."""
    vectors = VectorModel("own", lambda _: rows).vectors_of([""] * len(rows))
    asked = np.eye(8, dtype=np.float32)[0]
    pages = {place: packed(vectors[place : place + 1]) for place in range(len(rows))}
    exact = vectors @ asked
    found = similarities(asked, {**pages, 99: b"another size"[:7]})
    assert 99 not in found
    for place, similarity in found.items():
        assert abs(similarity - (exact[place] - exact.mean())) < 0.02


def test_passages_are_bounded_and_have_the_title() -> None:
    text = " ".join(str(number) for number in range(PASSAGE * MAX_PASSAGES + 500))
    passages = passages_of("Title", text)
    assert len(passages) == MAX_PASSAGES
    assert passages[0].startswith("Title 0 1 ")
    assert passages[1].split()[:2] == ["Title", str(PASSAGE)]
    assert passages_of("Title", "") == ["Title"]


def test_wordllama_knows_meanings() -> None:
    """Words that it has been trained on; an empty text has no direction."""
    ship, boat, bread, nothing = VectorModel("wordllama", word_vectors.embed).vectors_of(["ship", "boat", "bread", ""])
    assert ship @ boat > ship @ bread
    assert not nothing.any()


def test_wordllama_forgets_words_when_it_has_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for few words the vectors are the same."""
    texts = [" ".join(f"word{number}{part}" for part in "abc") for number in range(5)]
    expected = word_vectors.embed(texts)
    monkeypatch.setattr(word_vectors, "_KEPT", 4)
    word_vectors._model.cache_clear()
    try:
        assert np.allclose(word_vectors.embed(texts), expected, atol=1e-6)
    finally:
        word_vectors._model.cache_clear()
