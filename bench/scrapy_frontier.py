"""`python -m bench.scrapy_frontier`: one spider with Scrapy's own scheduler and with ours, in turns, on the lab.

Both obey robots.txt, wait for nothing between two requests, and have the same number under way. Ours also archives
every answer, reads every page, and can be killed at any time. The clock starts with the first answer, so imports do
not count. Failed requests are tried again almost at once, as Scrapy does; with our default back-off the end of a crawl
waits.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from periplus_lab import World
from periplus_lab.server import RunningLab, Server

KINDS = ("plain", "periplus")
_PARALLEL = 16
"""Requests under way, in all: Scrapy's default."""
_PER_SITE = 8
"""Requests under way to one site: Scrapy's default."""


def spider(kind: str, folder: str, proxy: str, seeds: list[str]) -> dict[str, float]:
    """Crawl every site, in this process; what that took."""
    import os
    import time

    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor
    from scrapy.spiders import CrawlSpider, Rule

    began: list[tuple[float, float]] = []
    pages: list[str] = []

    class Following(CrawlSpider):
        name = "following"
        allowed_domains = [  # noqa: RUF012 (as Scrapy has it)
            seed.split("/")[2] for seed in seeds
        ]
        rules = (Rule(LinkExtractor(allow_domains=allowed_domains), callback="read", follow=True),)

        def read(self, response: Any) -> None:
            if not began:
                began.append((time.perf_counter(), time.process_time()))
            pages.append(response.url)

        def parse_start_url(self, response: Any, **_: Any) -> Any:
            return self.read(response)

    settings: dict[str, Any] = {
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": _PARALLEL,
        "CONCURRENT_REQUESTS_PER_DOMAIN": _PER_SITE,
    }
    if kind == "periplus":
        settings["ADDONS"] = {"periplus_scrapy.Addon": 300}
        settings["PERIPLUS_DIR"] = folder
        settings["PERIPLUS_OPTIONS"] = {
            "politeness.slow_factor": 0.0,
            "politeness.ip_delay": 0.0,
            "retries.backoff": 0.01,
        }
    commits = _timed_commits() if kind == "periplus" else []
    os.environ["http_proxy"] = proxy
    process = CrawlerProcess(settings)
    process.crawl(Following, start_urls=seeds)
    process.start()
    wall, cpu = time.perf_counter() - began[0][0], time.process_time() - began[0][1]
    found = {"pages": len(pages), "different": len(set(pages)), "seconds": wall, "cpu": cpu}
    if len(commits) > 1:
        found["commit_p95_ms"] = round(quantiles(commits, n=20)[-1] * 1000, 1)
    return found


def _timed_commits() -> list[float]:
    """The seconds of every commit of the state from now on: the reactor waits meanwhile."""
    import time

    from periplus.store import DiskState

    seconds: list[float] = []
    commit = DiskState.commit

    def timed(state: DiskState) -> None:
        started = time.perf_counter()
        commit(state)
        seconds.append(time.perf_counter() - started)

    setattr(DiskState, "commit", timed)  # noqa: B010 (mypy takes no assignment to a method)
    return seconds


def run(kind: str, proxy: str, seeds: list[str]) -> dict[str, float]:
    """The same in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.scrapy_frontier", "--as", kind, str(Path(folder) / "c"), proxy, *seeds]
        done = subprocess.run(command, capture_output=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    """Take turns, and print one line for each kind."""
    ask = argparse.ArgumentParser(prog="python -m bench.scrapy_frontier", description=__doc__)
    ask.add_argument("--rounds", type=int, default=3)
    ask.add_argument("--sites", type=int, default=12)
    ask.add_argument("--pages", type=int, default=400, help="pages of a site")
    ask.add_argument("--as", dest="kind", choices=KINDS, help=argparse.SUPPRESS)
    ask.add_argument("given", nargs="*", help=argparse.SUPPRESS)
    asked = ask.parse_args()
    if asked.kind:
        folder, proxy, *seeds = asked.given
        print(json.dumps(spider(asked.kind, folder, proxy, seeds)))
        return 0
    world = World(28, asked.sites, pages=asked.pages)
    results: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with RunningLab(Server(world)) as lab:
        for _ in range(asked.rounds):
            for kind in KINDS:
                results[kind].append(run(kind, lab.base, [site.url for site in world.sites()]))
                print(kind, results[kind][-1], flush=True)
    for unit, what in (("seconds", "second"), ("cpu", "CPU second")):
        rates = {kind: [each["different"] / each[unit] for each in results[kind]] for kind in KINDS}
        ratios = [ours / theirs for theirs, ours in zip(rates["plain"], rates["periplus"], strict=True)]
        line = ", ".join(f"{kind} {median(rates[kind]):.1f}" for kind in KINDS)
        print(f"pages a {what}: {line}; ratio {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
