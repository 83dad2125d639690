"""Differences on the lab's sites, whose truth is known: what was added, removed and moved, and whose dates are lies.

The files are the lab's own, read by `formats.sitemap`, at several days of its life; nothing is fetched over a wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import numpy as np
import pytest

from periplus.engine.sitemaps.difference import (
    NOTHING,
    Compared,
    Comparison,
    EntryChange,
    FileMemory,
    is_appended,
    prints_of,
    times_at,
)
from periplus.formats import sitemap
from periplus.formats.sitemap import Child, Entry
from periplus.model import Problem, Url
from periplus.urls import canonical
from periplus_lab import Request, World
from periplus_lab.sites import Profile

DAY = 86_400.0
DAYS = (0.3, 8.3, 16.3, 24.3)


def of_profile(profile: Profile) -> tuple[World, str]:
    world = World(seed=5, sites=1, pages=400, profiles=[profile])
    path = "/sitemap_index.xml" if profile is Profile.SHOP else "/sitemap.xml"
    return world, f"http://{world.sites()[0].host}{path}"


def values(world: World, url: str, at: float) -> list[Entry | Child]:
    parts = urlsplit(url)
    answer = world.answer(Request("GET", parts.netloc, parts.path, (), at))
    assert answer.status == 200
    body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    return [value for value in sitemap.read(body, url=url) if not isinstance(value, Problem)]


def known(url: str) -> Url:
    found = canonical(url)
    assert found is not None
    return found


def readings(
    world: World, url: str
) -> Iterator[tuple[list[Entry | Child], dict[str, EntryChange], Compared, FileMemory]]:
    """Each day's file, what was said of its entries, the difference, and the memory before it."""
    before = NOTHING
    for day in DAYS:
        now = world.epoch + day * DAY
        listed = values(world, url, now)
        comparison = Comparison(before)
        said: dict[str, EntryChange] = {}
        for start in range(0, len(listed), 100):
            part = listed[start : start + 100]
            seconds = [np.nan if value.lastmod is None else value.lastmod.at for value in part]
            times, bad = times_at(np.array(seconds), now)
            assert bad == 0
            codes = comparison.compare(prints_of(known(value.url) for value in part), times)
            said |= {value.url: EntryChange(int(code)) for value, code in zip(part, codes, strict=True)}
        compared = comparison.end()
        yield listed, said, compared, before
        before = compared.memory


@pytest.mark.parametrize("profile", [Profile.PARTIAL, Profile.STALE, Profile.BUILD, Profile.ALWAYS_NOW, Profile.SHOP])
def test_difference_is_the_truth(profile: Profile) -> None:
    """What two readings of a living site's file differ in is found, entry by entry."""
    last: dict[str, Entry | Child] = {}
    for listed, said, compared, _ in readings(*of_profile(profile)):
        now = {value.url: value for value in listed}
        assert {url for url, change in said.items() if change is EntryChange.ADDED} == now.keys() - last.keys()
        assert set(compared.removed.tolist()) == set(prints_of(map(known, last.keys() - now.keys())).tolist())
        for url in now.keys() & last.keys():
            old, new = last[url].lastmod, now[url].lastmod
            is_moved = old is not None and new is not None and int(new.at) > int(old.at)
            assert said[url] is (EntryChange.MOVED if is_moved else EntryChange.SAME)
        last = now


@pytest.mark.parametrize(
    ("profile", "answers"),
    [
        (Profile.BUILD, [False, True, True, True]),
        (Profile.ALWAYS_NOW, [False, True, True, True]),
        (Profile.PARTIAL, [False] * 4),
        (Profile.STALE, [False] * 4),
    ],
)
def test_dates_of_generation_are_told_from_honest_ones(profile: Profile, answers: list[bool]) -> None:
    """A site whose dates are those of its last build, or of the request, is found out at the second reading."""
    assert [compared.is_generated for _, _, compared, _ in readings(*of_profile(profile))] == answers


def test_shop_index_is_a_log_and_archive_is_not() -> None:
    """A file a day, older ones never touched again, against volumes that are rewritten every night."""
    shop = [is_appended(before, compared.memory) for _, _, compared, before in readings(*of_profile(Profile.SHOP))]
    assert shop == [False, True, True, True]
    archive = list(readings(*of_profile(Profile.ARCHIVE)))
    assert all(compared.moved for _, _, compared, _ in archive[1:])
    assert not any(is_appended(before, compared.memory) for _, _, compared, before in archive)


def test_stale_file_does_not_change() -> None:
    """A file written once says nothing new, however often it is read."""
    assert [compared.is_changed for _, _, compared, _ in readings(*of_profile(Profile.STALE))] == [True] + [False] * 3
