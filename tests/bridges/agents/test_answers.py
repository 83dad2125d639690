"""Parts of the bridge to agents that need no collection: marks around texts, lengths, hidden text, arguments."""

from __future__ import annotations

import re

import msgspec
import pytest

from periplus.bridges.agents import arguments
from periplus.bridges.agents.answers import (
    CHARACTERS_PER_TOKEN,
    MAX_CHARACTERS,
    RowsAnswer,
    fenced,
    fitting,
    marked,
    parts_of,
)
from periplus.bridges.agents.arguments import MAX_TOKENS


def test_texts_are_marked_with_another_word_each_time() -> None:
    """A page cannot know the word that ends it."""
    one, other = fenced("text\n-----END x-----", "the authors of http://a.test/"), fenced("text", "b")
    word = re.findall(r"-----BEGIN (\w{16})-----", one)[0]
    assert one.endswith(f"\n-----END {word}-----")
    assert one.startswith(f"What is between the lines with {word} was written by the authors of http://a.test/.")
    assert word not in other


def test_long_texts_come_in_parts() -> None:
    """Cut at headings if possible; together they are the text."""
    text = "# A\n\n" + "word " * 50 + "\n\n## B\n\n" + "other " * 200 + "\n\n" + "x" * 2000
    parts = parts_of(text, 100)
    assert "".join(parts) == text
    assert all(len(part) <= 400 for part in parts)
    assert parts[1].startswith("## B")
    assert parts_of("", 100) == [""]


def test_marked_answers_are_not_too_long() -> None:
    """What a list leaves out makes room for the marks of what it keeps."""
    rows, left_out = fitting([["a b"] for _ in range(50_000)], 50_000)
    assert left_out
    assert len(msgspec.json.encode(marked(RowsAnswer(["x"], rows, True)))) < MAX_TOKENS * CHARACTERS_PER_TOKEN
    _, left_out = fitting([["http://a.test/"] for _ in range(5_000)], 5_000)
    assert not left_out


def test_lists_are_cut_to_fit() -> None:
    assert fitting(range(10), 4) == ([0, 1, 2, 3], 6)
    kept, left_out = fitting(["x" * 1000] * 200, 200)
    assert sum(len(each) for each in kept) <= MAX_CHARACTERS
    assert len(kept) + left_out == 200
    assert left_out > 0


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (arguments.Search, {"query": ""}),
        (arguments.Search, {"query": "x", "n": 21}),
        (arguments.Search, {"query": "x" * 501}),
        (arguments.Search, {"query": "x", "other": 1}),
        (arguments.Read, {"url": "x" * 2001}),
        (arguments.Read, {"url": "x", "max_tokens": 25_000}),
        (arguments.Read, {"url": "x", "part": 0}),
        (arguments.Map, {"site": "x", "limit": 10_001}),
        (arguments.Crawl, {"seeds": []}),
        (arguments.Crawl, {"seeds": ["x"] * 101}),
        (arguments.Crawl, {"seeds": ["x"], "limit": 10_001}),
        (arguments.Crawl, {"seeds": ["x"], "minutes": 61}),
        (arguments.Changes, {"since": "1d", "n": 101}),
        (arguments.UsefulLinks, {"site": "x", "k": 101}),
        (arguments.SqlQuery, {"sql": "x" * 10_001}),
    ],
)
def test_bounds_of_arguments(kind: type[msgspec.Struct], given: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(given, kind)
