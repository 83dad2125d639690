"""The log of queries: what is typed on is one query, nothing grows without bounds, and nothing says who asked."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from periplus.apps.search import query_log
from periplus.apps.search.query_log import FILE, LoggedQuery, QueryLog, read_queries


def test_what_is_typed_on_is_one_query(tmp_path: Path) -> None:
    """Also with letters taken back; another query, or the same one later, is another."""
    log = QueryLog(tmp_path)
    for second, text in enumerate(("l", "lo", "lok", "lo", "loc", "lock", "path", "Lock tim", "lock time")):
        log.add(LoggedQuery(1000.0 + second, text, second))
    log.add(LoggedQuery(1100.0, "lock time", 7))
    log.flush()
    assert [(each.query, each.total) for each in read_queries(tmp_path)] == [
        ("path", 6),
        ("lock time", 8),
        ("lock time", 7),
    ]


def test_a_line_has_four_keys_and_no_address(tmp_path: Path) -> None:
    """The file is for its owner alone; lines that cannot be read are left out."""
    log = QueryLog(tmp_path)
    log.add(LoggedQuery(1.5, "lokc" * 100, 0, "lock"))
    log.flush()
    path = tmp_path / FILE
    assert path.stat().st_mode & 0o777 == 0o600
    assert msgspec.json.decode(path.read_bytes()) == {
        "at": 1.5,
        "query": ("lokc" * 100)[:200],
        "total": 0,
        "corrected": "lock",
    }
    path.write_bytes(b"{\n" + path.read_bytes() + b"[]\n\xff\n")
    assert [each.corrected for each in read_queries(tmp_path)] == ["lock"]
    assert list(read_queries(tmp_path / "nowhere")) == []


def test_the_older_half_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and what waits stay bounded."""
    monkeypatch.setattr(query_log, "MAX_BYTES", 2_000)
    monkeypatch.setattr(query_log, "_MAX_WAITING", 5)
    log = QueryLog(tmp_path)
    for number in range(200):
        log.add(LoggedQuery(1000.0, f"{number} query", number))
        assert not (tmp_path / FILE).exists() or (tmp_path / FILE).stat().st_size <= 2_000
    log.flush()
    kept = [each.total for each in read_queries(tmp_path)]
    assert kept == list(range(kept[0], 200))
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
