"""What every `UrlScores` promises."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.model import Lane, Stage, Url, UrlScore, UrlScores
from periplus.store import State


@pytest.fixture
def standings(state: State) -> UrlScores:
    return state.standings


def url(number: int, site: str = "a.test") -> Url:
    return Url(f"https://{site}/{number}")


def got(standings: UrlScores, *urls: Url) -> list[UrlScore | None]:
    """What is known of URLs, without what an implementation adds for itself."""
    names = UrlScore.__struct_fields__
    return [each and UrlScore(*[getattr(each, name) for name in names]) for each in standings.get(urls)]


def filled(standings: UrlScores, count: int, stage: Stage = Stage.WAITING) -> list[Url]:
    """URLs of two sites, in turn, worth as much as their position."""
    urls = [url(number, "ab"[number % 2] + ".test") for number in range(count)]
    standings.put([(each, UrlScore(float(number), stage)) for number, each in enumerate(urls)])
    return urls


def numbers(standings: UrlScores) -> dict[Url, int]:
    """The number of every URL."""
    count = len(standings.known().worth)
    return {each: number for number, (each, _) in enumerate(standings.numbered(range(count)))}


def test_what_was_put_is_got(state: State, standings: UrlScores) -> None:
    """Every field, aligned with what is asked for; what was not put is None; a commit changes nothing."""
    whole = UrlScore(0.1, Stage.WAITING, 255, Lane.SITEMAPS, b"\0place\xff", 2**32 - 1, 255, True)
    strange = Url("http://me@b.test:81/x?y=ü")
    standings.put([(url(1), whole), (strange, UrlScore())])
    for _ in range(2):
        assert got(standings, url(2), strange, url(1), url(1)) == [None, UrlScore(), whole, whole]
        state.commit()


def test_what_is_put_again_replaces_what_was(standings: UrlScores) -> None:
    """The last value counts, whether it is new or was read before."""
    standings.put([(url(1), UrlScore(1.0)), (url(1), UrlScore(2.0))])
    assert got(standings, url(1)) == [UrlScore(2.0)]
    standings.put([(url(1), UrlScore(3.0))])
    [mine] = standings.get([url(1)])
    assert mine is not None
    mine.worth += 1.0
    standings.put([(url(1), mine)])
    assert got(standings, url(1)) == [UrlScore(4.0)]


def test_a_url_that_is_asked_for_twice_is_one_standing(state: State, standings: UrlScores) -> None:
    """Or what one of two links in a batch brings would be lost."""
    standings.put([(url(1), UrlScore(1.0))])
    state.commit()
    one, other = standings.get([url(1), url(1)])
    assert one is other


def test_many_are_kept(standings: UrlScores) -> None:
    """More than are held in memory at a time."""
    urls = filled(standings, 20_000)
    found = standings.get(urls[::-1000])
    assert [each and each.worth for each in found] == [float(number) for number in range(19_999, -1, -1000)]


def test_what_is_pooled_is_counted(state: State, standings: UrlScores) -> None:
    """Through every change of stage."""
    assert standings.pooled == 0
    urls = filled(standings, 5, Stage.POOLED)
    state.commit()
    assert standings.pooled == 5
    [first] = standings.get(urls[:1])
    assert first is not None
    first.stage = Stage.WAITING
    standings.put([(urls[0], first)])
    assert standings.pooled == 4
    standings.put([(urls[1], UrlScore(stage=Stage.DONE)), (urls[0], UrlScore(stage=Stage.POOLED))])
    assert standings.pooled == 4
    state.commit()
    standings.put([(urls[2], UrlScore(stage=Stage.DONE)), (urls[2], UrlScore(stage=Stage.WAITING))])
    assert standings.pooled == 3


def test_urls_are_numbered_as_they_came(state: State, standings: UrlScores) -> None:
    """Among equals, who came first is first; commits and changes do not give anybody another number."""
    urls = filled(standings, 600)
    assert list(numbers(standings)) == urls
    state.commit()
    standings.put([(urls[3], UrlScore(9.0)), (url(1, "z.test"), UrlScore())])
    assert list(numbers(standings)) == [*urls, url(1, "z.test")]


def test_links_are_pairs_of_numbers(state: State, standings: UrlScores) -> None:
    """In any order, repeated where they repeat; what has no standing has no links."""
    urls = filled(standings, 4)
    standings.link([(urls[3], urls[0]), (urls[1], urls[2])])
    state.commit()
    standings.link([(urls[3], urls[0]), (urls[1], url(99)), (url(99), urls[1])])
    known = standings.known()
    assert list(zip(known.sources.tolist(), known.targets.tolist(), strict=True)) == [(3, 0), (1, 2), (3, 0)]
    assert known.sources.dtype == known.targets.dtype == np.dtype(np.int32)


def test_what_is_known_of_all_is_what_is_known_of_each(standings: UrlScores) -> None:
    """Column by column."""
    standings.put(
        [
            (url(1), UrlScore(0.5, Stage.POOLED, 7)),
            (url(2), UrlScore(2.0, Stage.DONE, 200, is_seed=True)),
            (url(3), UrlScore()),
        ]
    )
    known = standings.known()
    assert known.worth.tolist() == [0.5, 2.0, 0.0]
    assert known.stage.tolist() == [Stage.POOLED, Stage.DONE, Stage.HEARD_OF]
    assert known.level.tolist() == [7, 200, 0]
    assert known.is_seed.tolist() == [False, True, False]


def test_nothing_is_known_at_first(standings: UrlScores) -> None:
    """Empty columns, not a failure."""
    known = standings.known()
    assert [len(column) for column in (known.sources, known.targets, known.worth, known.stage)] == [0] * 4
    standings.revalue(np.empty(0))
    assert standings.numbered([]) == []


def test_a_ranking_gives_everybody_another_worth(state: State, standings: UrlScores) -> None:
    """And nothing else; what changes afterwards holds until the next one."""
    urls = filled(standings, 1500)
    for turn in range(1, 4):
        known = standings.known()
        standings.revalue(known.worth * 2 + 1)
        state.commit()
        assert got(standings, urls[1400]) == [UrlScore((1400 + 1) * 2.0**turn - 1, Stage.WAITING)]
    found = standings.numbered([7, 1499])
    assert [each for each, _ in found] == [urls[7], urls[1499]]
    found[0][1].worth = 0.25
    standings.put(found)
    standings.put([(url(9999), UrlScore(0.75))])
    state.commit()
    after = standings.known().worth
    assert (after[7], after[8], after[1499], after[1500]) == (0.25, 71.0, 11999.0, 0.75)
    assert [each and each.worth for each in standings.get([urls[7], url(9999)])] == [0.25, 0.75]
