"""Pings as signals: a site that reports real changes is believed, one that reports everything all the time is not."""

from __future__ import annotations

from pathlib import Path
from types import MethodType

import pytest
from tests.lab.watching import Watched, watched

from periplus.engine.revisit.evidence import SignalKind
from periplus.engine.revisit.signals import KindEvidence, SiteEvidence
from periplus.model import ChangeLevel, Discovery, Source, Url
from periplus.store import DiskState, MessageInbox
from periplus.store.layout import Layout
from periplus.urls import site_of
from periplus_lab import World
from periplus_lab.server import SteppedClock
from periplus_lab.sites import Profile

EVERY = 3600.0
"""Seconds of the lab between two pings."""


class PingingSites:
    """Pushes to the inbox while the lab's time passes: what changed on the one site, everything of the other."""

    def __init__(self, lab: Watched, honest: str, loud: str) -> None:
        self._world = lab.world
        self._inbox = MessageInbox(Layout(lab.folder).inbox)
        urls = [record.url for record in lab.records()]
        self._honest = [url for url in urls if site_of(url) == honest]
        self._loud = [url for url in urls if site_of(url) == loud]
        self._last = lab.clock.now()
        advance = lab.clock.advance

        def advance_and_ping(_clock: SteppedClock, seconds: float) -> float:
            now = advance(seconds)
            self.ping(now)
            return now

        lab.clock.advance = MethodType(advance_and_ping, lab.clock)  # type: ignore[method-assign]

    def ping(self, now: float) -> None:
        """Report what changed since the last time, if that was long ago."""
        if now < self._last + EVERY:
            return
        changed = [url for url in self._honest if self._has_changed(url, now)]
        self._inbox.append([Discovery(url, Source.PING, now) for url in changed + self._loud])
        self._last = now

    def _has_changed(self, url: Url, now: float) -> bool:
        return self._world.change_level(url, self._last, now) >= ChangeLevel.MAJOR


def evidence(folder: Path) -> dict[str, KindEvidence]:
    """What was learnt of the pings of each site."""
    state = DiskState.read_only(Layout(folder).shard(0))
    try:
        known = {site.site: site.value(SiteEvidence) for site in state.sites}
        return {site: each.of(SignalKind.PING) for site, each in known.items() if each is not None}
    finally:
        state.close()


@pytest.mark.slow
def test_pings_for_nothing_are_believed_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two sites alike, the one that cries wolf loses its precision, and its pings are not heard any more."""
    monkeypatch.setattr("periplus.engine.sharding.crawl.INBOX_INTERVAL", 0.0)  # time flies in the lab
    monkeypatch.setattr("periplus.engine.sharding.requests.ANNOUNCE_EVERY", 0.0)
    world = World(5, 2, pages=40, profiles=[Profile.NONE])
    honest, loud = (site_of(Url(site.url)) for site in world.sites())
    with watched(world, tmp_path, {"watch.visits_a_day": 100}) as lab:
        lab.crawl()
        PingingSites(lab, honest, loud)
        lab.watch(1.0)
    found = evidence(tmp_path)
    assert found[loud].judged > 10
    assert found[honest].judged > 5
    assert found[loud].precision < 0.2 < 0.5 < found[honest].precision
    assert found[loud].kappa == 0.0 < found[honest].kappa
    assert found[loud].verdict == "useless"
