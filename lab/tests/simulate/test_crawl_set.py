"""A folder in the form of Microsoft's crawl set: what is read, what is left out and why, how many pages are kept."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.model import ConfigError
from periplus_lab.simulate.crawl_set import HISTORIES, HOSTS, IMPORTANCE, PAGES, read_crawl_set
from periplus_lab.simulate.edge_lists import stream_lines
from periplus_lab.simulate.freshness import simulate_freshness
from periplus_lab.simulate.histories import DAY


def folder_of(path: Path, **files: str | bytes) -> Path:
    """A folder with these files; names as in the set."""
    names = {"histories": HISTORIES, "pages": PAGES, "hosts": HOSTS, "importance": IMPORTANCE}
    for name, text in files.items():
        (path / names[name]).write_bytes(text.encode() if isinstance(text, str) else text)
    return path


HISTORY = "5\t0.5\t[[1.0, 0], [1.5, 1], [1.0, 1]]\n7\t2.0\t[[10.0, 1]]\n9\t0.0\t[]\n"
URLS = (
    "http://a.example/x\t5\t1\nhttps://a.example/y?q=1\t7\t1\nhttp://b.example/\t9\t2\nhttp://c.example/other\t11\t3\n"
)


def test_changes_lie_between_the_visits_that_frame_them(tmp_path: Path) -> None:
    """In the middle; a page begins with its first visit, all ends with the last visit of all."""
    hosts = "http://a.example/\t1\t1\nhttp://b.example/\t2\t0\n"
    read = read_crawl_set(
        folder_of(tmp_path, histories=HISTORY, pages=URLS, hosts=hosts, importance="5\t3\n7\t1\n9\t2\n")
    )
    assert read.pages is not None
    assert read.weights is not None
    by = {name: place for place, name in enumerate(read.pages)}
    assert (read.of(by["x"]) / DAY).tolist() == [2.25, 3.5]
    assert (read.of(by["y?q=1"]) / DAY).tolist() == [7.0]
    assert (read.of(by[""]) / DAY).tolist() == []
    assert [read.sites[read.site[by[name]]] for name in ("x", "y?q=1", "")] == ["a.example", "a.example", "b.example"]
    assert {name: read.weights[place] for name, place in by.items()} == {"x": 1.5, "y?q=1": 0.5, "": 1.0}
    assert read.begins_at[by["y?q=1"]] == 2 * DAY
    assert read.ends_at == 12 * DAY
    assert not any(read.left_out.values())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("3\t1.0", "fields-missing"),
        ("3\tsoon\t[]", "bad-number"),
        ("3\t-1\t[]", "bad-number"),
        ("3\t1\t[[1, 2]]", "bad-history"),
        ("3\t1\t[[-1, 1]]", "bad-history"),
        ("3\t1\t[[1, 1]", "bad-history"),
        ("3\t1\t[[1e300, 1]]", "bad-history"),
        ("3\t1\t" + "[" * 100_000, "bad-history"),
        ("3\t1\t" + "x" * (1 << 20), "too-long"),
        ("5\t1.0\t[]", "page-repeated"),
    ],
)
def test_a_dirty_line_is_left_out_with_its_reason(tmp_path: Path, line: str, reason: str) -> None:
    """The others are read, whatever a line is."""
    read = read_crawl_set(folder_of(tmp_path, histories=HISTORY + line + "\n"))
    assert len(read) == 3
    assert read.left_out[reason] == 1


def test_an_unnamed_page_has_no_name_and_mean_importance(tmp_path: Path) -> None:
    """And is counted."""
    read = read_crawl_set(folder_of(tmp_path, histories=HISTORY, pages=URLS.split("\n")[0], importance="5\t2\n7\tx\n"))
    assert (read.left_out["page-unknown"], read.left_out["importance-unknown"]) == (2, 2)
    assert read.left_out["bad-number"] == 1
    assert read.weights is not None
    assert read.weights.tolist() == [1.0, 1.0, 1.0]


def test_histories_alone_will_do(tmp_path: Path) -> None:
    """All alike, on one site without a name; also compressed."""
    (tmp_path / f"{HISTORIES}.gz").write_bytes(gzip.compress(HISTORY.encode()))
    read = read_crawl_set(tmp_path)
    assert (len(read), len(read.sites), read.weights) == (3, 1, None)


def test_of_many_pages_the_same_few_are_kept_in_any_order(tmp_path: Path) -> None:
    """Memory is bounded, and a sample does not hang on how a file is sorted."""
    lines = [f"{number}\t0\t[[{1 + number % 7}, 1]]" for number in range(1000)]
    one, two = tmp_path / "one", tmp_path / "two"
    for path, order in ((one, lines), (two, lines[::-1])):
        path.mkdir()
        folder_of(path, histories="\n".join(order))
    first, second = (read_crawl_set(path, most_pages=50) for path in (one, two))
    assert len(first) == 50
    assert first.pages == second.pages
    assert np.array_equal(first.times, second.times)


@pytest.mark.parametrize("text", ["", "nonsense\n", "1\tx\t[]\n"])
def test_nothing_to_read_is_an_error(tmp_path: Path, text: str) -> None:
    """It says what such a folder holds."""
    with pytest.raises(ConfigError, match="no histories") as refused:
        read_crawl_set(folder_of(tmp_path, histories=text))
    assert PAGES in refused.value.hint


def test_a_folder_of_something_else_is_an_error(tmp_path: Path) -> None:
    """And so is a damaged file."""
    with pytest.raises(ConfigError, match=HISTORIES):
        read_crawl_set(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_crawl_set(folder_of(tmp_path, histories=b"\x1f\x8b damaged"))


def test_important_pages_are_kept_fresher(tmp_path: Path) -> None:
    """Freshness is weighted, and who weighs pages wins: against a uniform round, and against no weights at all."""
    lines = [f"{number}\t0\t{[[1.0, 1]] * 60}" for number in range(40)]
    weights = [f"{number}\t{100 if number < 8 else 1}" for number in range(40)]
    read = read_crawl_set(folder_of(tmp_path, histories="\n".join(lines), importance="\n".join(weights)))
    uniform, learned = (simulate_freshness(read, policy, 0.2).freshness for policy in ("uniform", "learned"))
    assert learned > 1.5 * uniform


@given(st.lists(st.binary(max_size=12), max_size=20), st.integers(1, 12))
def test_lines_are_streamed_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], most: int
) -> None:
    """Whole, in order, and none longer than allowed."""
    lines = [part.replace(b"\n", b"") for part in parts]
    file = tmp_path_factory.mktemp("streamed") / "lines"
    file.write_bytes(b"raw" + b"\n".join([b"", *lines]))
    told = list(stream_lines(file, most))
    wanted = [b"raw", *lines]
    while wanted and wanted[-1] == b"":
        wanted.pop()
    shown = told[:-1] if told and told[-1] == b"" else told
    expected: list[bytes | None] = [None if len(line) > most else line for line in wanted]
    assert shown[: len(expected)] == expected
    assert not any(shown[len(expected) :])
