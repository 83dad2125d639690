"""Lives and changes: closed forms held against brute force, and rates against the papers they are from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from periplus_lab import World
from periplus_lab.change import (
    CLASSES,
    DAY,
    PREHISTORY,
    WEEK,
    Changes,
    History,
    LastArrival,
    Pattern,
    birth_of,
    generation,
    generations,
    mean_interval,
    mean_intervals,
)
from periplus_lab.randomness import at_all, key_of

NOW = PREHISTORY + 3 * DAY + 12345
KEYS = at_all(key_of(5, "keys"), np.arange(20_000, dtype=np.int64))
PROCESSES = [Pattern.POISSON, Pattern.REGULAR, Pattern.BURSTY]


def test_a_page_lives_from_its_birth_to_the_next() -> None:
    """The generation of a moment was born before it, and the next is born after it."""
    for key in KEYS[:500].tolist():
        number, born = generation(key, NOW)
        assert born == birth_of(key, number) <= NOW < birth_of(key, number + 1)
        assert generation(key, born) == (number, born)
        assert generation(key, born - 1)[0] == number - 1


def test_births_and_deaths_are_as_frequent_as_on_the_web() -> None:
    """8 % of pages are new each week, 80 % are gone after a year (Ntoulas, Cho, Olston 2004)."""
    now, _ = generations(KEYS, NOW)
    assert generations(KEYS, NOW)[0].tolist()[:100] == [generation(key, NOW)[0] for key in KEYS[:100].tolist()]
    week, year = generations(KEYS, NOW + WEEK)[0], generations(KEYS, NOW + 52 * WEEK)[0]
    assert (week != now).mean() == pytest.approx(0.08, abs=0.01)
    assert (year != now).mean() == pytest.approx(0.82, abs=0.03)


def test_arrivals_are_what_a_look_at_every_slot_finds() -> None:
    """The newest and the next birth agree with a search through all slots."""
    slots = np.arange(400, dtype=np.int64)
    arrivals = LastArrival(slots, KEYS[:400])
    for tick in (NOW, NOW + 17 * DAY, NOW + 3 * WEEK + 1):
        _, born = generations(KEYS[:400], tick)
        order = sorted(zip((-born).tolist(), slots.tolist(), strict=True))
        assert arrivals.latest(tick, 30) == [(-birth, slot) for birth, slot in order[:30]]
        soon = arrivals.next_after(tick)
        assert arrivals.latest(soon - 1, 30) == arrivals.latest(tick, 30)
        assert arrivals.latest(soon, 1)[0][0] == soon


def test_no_arrivals() -> None:
    """A hub of a tiny site may have nothing to tell."""
    none = LastArrival(np.arange(0, dtype=np.int64), KEYS[:0])
    assert none.latest(NOW, 10) == []
    assert none.next_after(NOW) > NOW


@pytest.mark.parametrize("pattern", PROCESSES)
def test_the_last_change_of_many_is_that_of_each(pattern: Pattern) -> None:
    """Sitemaps, made for all pages at once, tell the dates that pages show alone."""
    changes = Changes(pattern, nightly=4321)
    keys = KEYS[:1500]
    _, born = generations(keys, NOW)
    together = changes.last_all(keys, NOW, born).tolist()
    alone = [changes.last(key, NOW, since)[0] for key, since in zip(keys.tolist(), born.tolist(), strict=True)]
    assert together == alone


@pytest.mark.parametrize("pattern", PROCESSES)
def test_changes_are_the_same_whenever_they_are_asked_for(pattern: Pattern) -> None:
    """The history seen from a later moment contains the history seen from an earlier one."""
    changes = Changes(pattern, nightly=4321)
    for key in KEYS[:100].tolist():
        since = NOW - 20 * mean_interval(key)
        late = changes.recent(key, NOW, since, 10_000)
        early = changes.recent(key, NOW - 3 * mean_interval(key), since, 10_000)
        assert early == [change for change in late if change[0] <= NOW - 3 * mean_interval(key)]
        assert late == sorted(late, reverse=True)
        assert len({event for _, event in late}) == len(late)
        assert changes.recent(key, NOW, since, 2) == late[:2]


@pytest.mark.parametrize("pattern", [Pattern.POISSON, Pattern.BURSTY])
def test_changes_come_at_the_rate_of_their_class(pattern: Pattern) -> None:
    """Over many intervals a page changes once in each, on average."""
    changes = Changes(pattern)
    counts = []
    for key in KEYS[:400].tolist():
        interval = mean_interval(key)
        counts.append(len(changes.recent(key, 1000 * interval, 950 * interval, 10_000)) / 50)
    assert np.mean(counts) == pytest.approx(1.0, abs=0.05)


def test_poisson_is_poisson_and_bursts_are_not() -> None:
    """The number of changes in two intervals has its mean for variance; of bursty pages much more."""

    def counts(pattern: Pattern) -> list[int]:
        changes, found = Changes(pattern), []
        for key in KEYS[:1500].tolist():
            end = (500 + key % 7) * mean_interval(key) + key % 1000
            found.append(len(changes.recent(key, end, end - 2 * mean_interval(key), 10_000)))
        return found

    poisson, bursty = counts(Pattern.POISSON), counts(Pattern.BURSTY)
    assert np.var(poisson) / np.mean(poisson) == pytest.approx(1.0, abs=0.15)
    assert np.var(bursty) / np.mean(bursty) > 2


def test_regular_pages_change_at_night() -> None:
    """Every change of a regular page is at the site's hour, and the days between are alike."""
    changes = Changes(Pattern.REGULAR, nightly=7200)
    for key in KEYS[:50].tolist():
        times = [tick for tick, _ in changes.recent(key, NOW + 5000 * DAY, NOW, 20)]
        assert {tick % DAY for tick in times} == {7200}
        assert len({after - before for before, after in zip(times[1:], times, strict=False)}) <= 1


def test_change_classes_have_their_shares() -> None:
    """23/15/16/16/30 % of pages (Brandman et al. 2000)."""
    intervals = mean_intervals(KEYS)
    assert intervals[:50].tolist() == [mean_interval(key) for key in KEYS[:50].tolist()]
    bounds = [high for _, _, high in CLASSES]
    shares = Counter(np.searchsorted(np.array(bounds), intervals).tolist())
    found = [shares[number] / len(KEYS) for number in range(5)]
    assert found == pytest.approx([0.23, 0.15, 0.16, 0.16, 0.30], abs=0.015)


def write_history(path: Path) -> Path:
    rows = [
        "#site\tpage\tin_head\ttimes",
        "x\ta\t1\t1000000000 1040000000 1060000000",
        "x\tb\t0\t1050000000",
        "x\tc\t1\t",
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_history_is_replayed(tmp_path: Path) -> None:
    """The end of the file lies two years after the epoch, and distances in it are kept."""
    history = History.read(write_history(tmp_path / "changes.tsv"))
    end = PREHISTORY + History.FUTURE
    times = history.recent(0, end + 1, 0, 10)
    assert [tick for tick, _ in times] == [end, end - 20_000_000, end - 60_000_000]
    assert history.recent(0, end - 1, end - 20_000_000, 10) == []
    assert history.recent(1, end, 0, 10) == [(end - 10_000_000, 0)]


def test_a_world_replays_a_history_on_some_sites(tmp_path: Path) -> None:
    """With a history file every fourth site follows it; the others keep their own laws."""
    world = World(sites=8, pages=400, history=write_history(tmp_path / "changes.tsv"))
    patterns = [site.pattern for site in world.sites()]
    assert [number for number, pattern in enumerate(patterns) if pattern is Pattern.REPLAYED] == [3, 7]
    host = world.sites()[3].host
    urls = list(world.urls(host, world.epoch))
    assert urls
    assert all(world.modified_at(url, world.epoch) is not None for url in urls)


@pytest.mark.corpus
def test_real_histories_are_replayed(corpus: Path) -> None:
    """The change histories of real sites drive pages, and the truth is what the file says."""
    world = World(sites=4, pages=2000, history=corpus / "change_histories" / "changes.tsv.gz")
    host = world.sites()[3].host
    year = 365 * DAY
    urls = [url for url in world.urls(host, world.epoch) if world.exists(url, world.epoch + year)]
    changed = [world.changed_between(url, world.epoch, world.epoch + year) for url in urls]
    assert any(changed)
    assert not all(changed)
