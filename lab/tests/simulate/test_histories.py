"""Histories of change, from files and made up."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from tests.each_case import each_case

from periplus.model import ConfigError
from periplus_lab.simulate.histories import DAY, HistorySettings, generate_histories, read_histories

TEXT = "#site\tpage\tin_head\ttimes\na.org\tx\t1\t100 300 200\na.org\ty\t0\t50\nb.org\tz\t1\t7.5 8\n"


@pytest.mark.parametrize("is_gzip", [False, True])
def test_a_file_is_read_as_written(tmp_path: Path, is_gzip: bool) -> None:
    """Compressed or not; times ascend, a page begins with its first, all ends with the last of all."""
    path = tmp_path / "changes.tsv"
    path.write_bytes(gzip.compress(TEXT.encode()) if is_gzip else TEXT.encode())
    read = read_histories(path)
    assert (read.sites, read.pages) == (["a.org", "b.org"], ["x", "y", "z"])
    assert read.site.tolist() == [0, 0, 1]
    assert [read.of(page).tolist() for page in range(len(read))] == [[100, 200, 300], [50], [7.5, 8]]
    assert read.begins_at.tolist() == [100, 50, 7.5]
    assert read.ends_at == 300
    assert read.is_gone is not None
    assert read.is_gone.tolist() == [False, True, False]


def test_the_end_may_be_known(tmp_path: Path) -> None:
    """That nothing happened for long is known only to who recorded it."""
    path = tmp_path / "changes.tsv"
    path.write_text(TEXT)
    assert read_histories(path, ends_at=1000.0).ends_at == 1000.0


@pytest.mark.parametrize(
    ("line", "where"),
    [("only one column", ":5"), ("a\tb\t1\tsoon", ":5"), ("a\tb\t1\t", ":5"), ("a\tb\t1\t1 inf", ":5")],
)
def test_what_is_not_a_history_is_refused_with_its_line(tmp_path: Path, line: str, where: str) -> None:
    """A person must find the line."""
    path = tmp_path / "changes.tsv"
    path.write_text(f"{TEXT}{line}\n")
    with pytest.raises(ConfigError, match=where) as caught:
        read_histories(path)
    assert caught.value.hint


@pytest.mark.parametrize("body", [b"", b"# nothing\n", b"\x1f\x8b damaged"])
def test_an_empty_or_damaged_file_is_refused(tmp_path: Path, body: bytes) -> None:
    """Not an empty experiment, nor a traceback."""
    path = tmp_path / "changes.tsv"
    path.write_bytes(body)
    with pytest.raises(ConfigError):
        read_histories(path)


def test_regular_changes_are_regular() -> None:
    """Every page changes after its own interval, from a random phase on, and the mix is as asked for."""
    made = generate_histories(HistorySettings(pages=1000, seed=3))
    assert np.bincount(made.site).tolist() == [250] * 4
    counts = np.diff(made.starts)
    assert (counts >= 100).sum() == 230
    for page in range(100):
        gaps = np.diff(made.of(page)) / DAY
        assert not len(gaps) or np.allclose(gaps, gaps[0])
    assert made.times.min() >= 0
    assert made.times.max() < made.ends_at


@pytest.mark.parametrize("is_poisson", [False, True])
def test_as_many_changes_as_the_mix_says(is_poisson: bool) -> None:
    """.2589 a page and day for the mix of Figure 2 at the ends of its bars, .312 spread inside them."""
    for is_spread, rate in ((False, 0.2589), (True, 0.3125)):
        made = generate_histories(HistorySettings(is_spread=is_spread, is_poisson=is_poisson, seed=1))
        assert len(made.times) / 10_000 / 100 == pytest.approx(rate, rel=0.02)
        within = np.delete(np.diff(made.times), made.starts[1:-1][made.starts[1:-1] < len(made.times)] - 1)
        assert (within >= 0).all()


def test_a_seed_is_a_history() -> None:
    """The same twice, another with another seed."""
    one, same, other = (generate_histories(HistorySettings(seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.times, same.times)
    assert not np.array_equal(one.times[:100], other.times[:100])


@each_case(
    "wrong",
    [
        HistorySettings(pages=0),
        HistorySettings(days=float("inf")),
        HistorySettings(shares=(1.0,)),
        HistorySettings(intervals=(5.0, 4.0, 3.0, 2.0, 1.0)),
        HistorySettings(shares=(), intervals=()),
        HistorySettings(pages=10**9),
    ],
)
def test_impossible_histories_are_refused(wrong: HistorySettings) -> None:
    """Before any memory is taken."""
    with pytest.raises(ConfigError):
        generate_histories(wrong)
