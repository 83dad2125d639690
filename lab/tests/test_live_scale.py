"""Size: a million pages cost no more than knowing how many there are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from periplus_lab import Request, World
from periplus_lab.live import MOST_ANCHORS

MILLION = """
from periplus_lab import World
world = World(seed=7, sites=10_000, pages=1_000_000)
total = sum(site.size for site in world.sites())
for site in world.sites()[::50]:
    for url, _ in zip(world.urls(site.host, world.epoch), range(20)):
        world.content(url, world.epoch)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # not that of who started it
print(total, int(peak.split()[1]) / 1024)
"""


@pytest.mark.slow
def test_a_million_pages() -> None:
    """Made in under a gigabyte, with thousands of pages asked for."""
    told = subprocess.run([sys.executable, "-c", MILLION], capture_output=True, text=True, check=True)
    pages, megabytes = map(float, told.stdout.split())
    assert pages > 990_000
    assert megabytes < 1024


def test_memory_does_not_grow_with_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept for speed is bounded, and letting it go changes nothing."""
    monkeypatch.setattr("periplus_lab.live.MOST_ANCHORS", 100)
    small, large = World(seed=9, sites=4, pages=800), World(seed=9, sites=4, pages=800)
    for site in small.sites():
        for url in small.urls(site.host, small.epoch):
            host, _, target = url.removeprefix("http://").partition("/")
            request = Request("GET", host, f"/{target}", (), small.epoch + 86_400)
            answer = small.answer(request)
            assert len(small._lives[0].signs._kept) <= 100
            monkeypatch.setattr("periplus_lab.live.MOST_ANCHORS", MOST_ANCHORS)
            assert answer == large.answer(request)
            monkeypatch.setattr("periplus_lab.live.MOST_ANCHORS", 100)
