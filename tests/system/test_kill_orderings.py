"""Killed and continued, a crawl by an ordering that learns ends with the same pages, each once, and the same worths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.system.crawled import Asked, asked, crawled, killed_and_whole, lost, small_world

from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]

KILLS = 2


@pytest.fixture
def lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    """Some 40 pages on nine hosts."""
    world = small_world(40)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


def compare(lab: RunningLab, folder: Path, what: Asked, seed: int) -> None:
    """Nothing is lost of a crawl that was killed."""
    births = killed_and_whole(lab, folder, what, kills=KILLS, seed=seed)
    killed, whole = crawled(folder / "killed"), crawled(folder / "whole")
    assert killed.pages == whole.pages
    assert max(killed.pages.values()) == 1
    assert killed.fetches == whole.fetches
    assert killed.captures == whole.captures
    assert all(count <= len(births) for count in lost(lab.log.visits(), folder / "killed", births).values())


def worths(folder: Path) -> dict[str, float]:
    """What the state says of every URL."""
    state = DiskState(Layout(folder).shard(0))
    count = len(state.standings.known().worth)
    found = {str(url): standing.worth for url, standing in state.standings.numbered(range(count))}
    state.close()
    return found


@pytest.mark.slow
def test_in_degrees_are_what_they_would_have_been(lab: RunningLab, tmp_path: Path) -> None:
    """Each link of each page counts once, whichever process dies: scores by in-degree do not depend on the order."""
    compare(lab, tmp_path, asked(lab, crawl__ordering="indegree", engine__checkpoint_interval=0.5), seed=5)
    assert worths(tmp_path / "killed") == worths(tmp_path / "whole")


@pytest.mark.slow
def test_cash_is_neither_made_nor_lost(lab: RunningLab, tmp_path: Path) -> None:
    """OPIC: what is there came from the seeds, where no site lists pages: those have some of their own."""
    compare(lab, tmp_path, asked(lab, crawl__ordering="opic", sitemaps__follow=False), seed=6)
    assert 2.0 < sum(worths(tmp_path / "killed").values()) <= 4.0 + 1e-9


@pytest.mark.slow
def test_batches_go_on(lab: RunningLab, tmp_path: Path) -> None:
    """Also one that was formed after the last commit, and whose pages are in the journal."""
    what = asked(lab, crawl__ordering="batch", ordering__every=15, engine__checkpoint_interval=0.5)
    compare(lab, tmp_path, what, seed=7)
