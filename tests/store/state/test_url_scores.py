"""UrlScores on disk: URLs of one fingerprint, collections from before there were any, and rows that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.model import CollectionDamaged, Url, UrlScore
from periplus.store import DiskState
from periplus.store.state.environment import Environment
from periplus.store.state.sites import MAX_PROBES, SiteNames
from periplus.store.state.url_scores import DiskUrlScores


def url(number: int) -> Url:
    return Url(f"https://a.test/{number}")


def worths(standings: DiskUrlScores, count: int) -> list[float | None]:
    return [each and each.worth for each in standings.get([url(number) for number in range(count)])]  # type: ignore[misc]


@pytest.mark.parametrize("is_flushed", [False, True])
def test_urls_of_one_fingerprint_are_kept_apart(tmp_path: Path, is_flushed: bool) -> None:
    """Up to a bound: a site can only hide its own URLs."""
    environment = Environment(tmp_path)
    standings = DiskUrlScores(environment, SiteNames(environment), digest=lambda _: b"12345678", remembered=1)
    for number in range(MAX_PROBES + 2):
        standings.get([url(number)])
        standings.put([(url(number), UrlScore(float(number)))])
        if is_flushed:
            standings.flush()
    assert worths(standings, MAX_PROBES + 2) == [*map(float, range(MAX_PROBES)), None, None]
    assert len(standings.known().worth) == MAX_PROBES
    assert [each for each, _ in standings.numbered(range(MAX_PROBES))] == [url(number) for number in range(MAX_PROBES)]
    environment.close()


def test_what_is_not_committed_has_not_happened(tmp_path: Path) -> None:
    """UrlScores, links and counts go back together."""
    state = DiskState(tmp_path)
    state.standings.put([(url(0), UrlScore(1.0)), (url(1), UrlScore(1.0))])
    state.standings.link([(url(0), url(1))])
    state.commit()
    state.standings.put([(url(0), UrlScore(5.0)), (url(2), UrlScore())])
    state.standings.link([(url(2), url(1))])
    state.standings.flush()
    state.close()
    state = DiskState(tmp_path)
    known = state.standings.known()
    assert (known.worth.tolist(), known.sources.tolist(), known.targets.tolist()) == ([1.0, 1.0], [0], [1])
    state.close()


def test_a_state_without_standings_is_read_as_one_that_has_none(tmp_path: Path) -> None:
    """Of an ordering that learns nothing, or of a time before there were any."""
    DiskState(tmp_path).close()
    state = DiskState.read_only(tmp_path)
    assert state.standings.get([url(0)]) == [None]
    assert (len(state.standings.known().worth), state.standings.pooled) == (0, 0)
    state.close()


def test_a_row_that_is_none_is_damage(tmp_path: Path) -> None:
    """Said with what to do, not as whatever the first tool to fail calls it."""
    state = DiskState(tmp_path)
    state.standings.put([(url(0), UrlScore())])
    state.commit()
    [(key, _)] = state.standings._table.page(b"\0", 9)
    state.standings._table.put(key, b"short")
    with pytest.raises(CollectionDamaged):
        state.standings.known()
    state.close()
