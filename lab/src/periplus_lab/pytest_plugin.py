"""The lab as pytest fixtures: `lab`, with a clock that the test moves, and `start_lab` for every other kind.

In a test module or the top conftest: `pytest_plugins = ["periplus_lab.pytest_plugin"]`. The lab runs in a thread
of the test's process and is up in a fraction of a second, so a test can look at the world, the clock and the log
directly:

    def test_polite(lab):
        crawl(seeds=[lab.url(lab.world.hosts[0])], resolve=lab.resolver)
        assert lab.log.most_at_once(lab.world.hosts[0]) == 1
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from . import World
from .server import RunningLab, Server, SteppedClock

QUICK = 0.01
"""Hostile hosts wait a hundredth of their time."""
SITES = 40


@pytest.fixture(scope="session")
def lab_world() -> World:
    """A small world, made once: it is pure, so tests can share it."""
    return World(sites=SITES)


@pytest.fixture
def start_lab() -> Iterator[Callable[[Server], RunningLab]]:
    """Start any lab; it ends with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda server: stack.enter_context(RunningLab(server))


@pytest.fixture
def lab(lab_world: World, start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    """A lab in the clear, its clock at the world's epoch until the test moves it (`lab.clock.advance`)."""
    return start_lab(Server(lab_world, SteppedClock(lab_world.epoch), pace=QUICK))
