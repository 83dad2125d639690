"""The lab watched for days: is it as fresh as is said, and does no site get more than its share by crying wolf?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.lab.watching import watched

from periplus_lab import World
from periplus_lab.sites import Profile


@pytest.mark.slow
def test_it_is_as_fresh_as_is_said(tmp_path: Path) -> None:
    """After four days of learning the share of fresh copies that is told is the true one, give or take few points.

    Four sites, one of which answers 304 whatever has changed, and one of which changes at night, all at once: so the
    truth of a moment is some points off its mean, and it is the mean over a day and more that is compared.
    """
    world = World(5, 4, pages=300, profiles=[Profile.NEWS])
    with watched(world, tmp_path, {"watch.visits_a_day": 400}) as lab:
        lab.crawl()
        lab.watch(4.0)
        moments = [lab.watch(0.37) for _ in range(5)]
    told = sum(moment.told.fresh for moment in moments) / len(moments)
    true = sum(moment.fresh for moment in moments) / len(moments)
    assert 0.7 < true < 0.95
    assert told == pytest.approx(true, abs=0.04)
    assert moments[-1].requests == pytest.approx(400 * moments[-1].day, rel=0.1)


@pytest.mark.slow
def test_claims_that_everything_changed_gain_nothing(tmp_path: Path) -> None:
    """A site that puts the time of the request on every page is visited no more than it would be without sitemaps."""
    visits = Counter[bool]()
    for follows in (False, True):
        world = World(5, 4, pages=200, profiles=[Profile.ALWAYS_NOW, Profile.NONE, Profile.NONE, Profile.NONE])
        [loud] = [site for site in world.sites() if site.profile is Profile.ALWAYS_NOW]
        folder = tmp_path / str(follows)
        folder.mkdir()
        with watched(world, folder, {"watch.visits_a_day": 250, "sitemaps.follow": follows}) as lab:
            lab.crawl()
            lab.watch(1.0)
            before = lab.lab.log.total
            lab.watch(4.0)
            said = lab.lab.log.visits()[before:]
        visits[follows] = sum(visit.host == loud.host and "sitemap" not in visit.url for visit in said)
    assert visits[False] > 100
    assert visits[True] <= 1.1 * visits[False]
