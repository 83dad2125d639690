"""A crawl of the lab that runs in a process of its own while a server shows it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.system.typed import running, wait_until

from periplus.collection.control import ControlClient, is_running
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock

QUIET = 0.4
"""Seconds without a request after which those that were under way when a crawl was paused have ended."""


def small_lab(start: Callable[[Server], RunningLab]) -> RunningLab:
    """Four sites of hundreds of pages each, whose time stands still."""
    world = World(11, 4, pages=1500)
    return start(Server(world, SteppedClock(world.epoch), pace=0.01))


def hosts(web: RunningLab) -> list[str]:
    return [site.host for site in web.world.sites()]


def settled(web: RunningLab, crawl: ControlClient) -> int:
    """The requests that the lab has had of a paused crawl once none is under way."""
    before, total = -1, web.log.total
    while total != before or crawl.ask("status")["progress"]["leases"]:
        time.sleep(QUIET)
        before, total = total, web.log.total
    return total


@contextmanager
def crawling(web: RunningLab, out: Path, *args: str, delay: str = "0.1") -> Iterator[subprocess.Popen[str]]:
    """The crawl, once it has fetched a few pages."""
    before = web.log.total
    seeds = [f"http://{host}/" for host in hosts(web)]
    options = ("--proxy", web.base, "--delay", delay, "--scope", "host", "--no-sitemaps", "--workers", "1")
    with running("crawl", *seeds, "-o", str(out), *options, *args) as process:
        wait_until(lambda: web.log.total > before + 20 and is_running(out), process, patience=300.0)
        yield process
