"""Whole crawls of the lab, as a program would run them, and what others read of the collection afterwards.

The crawl is put together by `collection`, as the command line does it; the lab runs in this process, and so its log is
at hand. Names lead to the lab in one of two ways: by a table of addresses, every site at its own (then URLs carry the
lab's port, and links from site to site, which do not, lead out of the crawl), or through the lab as a proxy (then the
whole web is there as it is, but addresses are not).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from msgspec.structs import replace
from tests.typed_seeds import opened

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.shard import ShardStatus
from periplus.engine.sitemaps.store import SitemapStore
from periplus.model import Lane, Queued, Url
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.urls import site_of
from periplus_lab import World
from periplus_lab.http import Request
from periplus_lab.server import RunningLab, Server, SteppedClock
from periplus_lab.sites import DOMAIN

_WAY = re.compile(rb'<(?:a href|link rel="canonical" href)="([^"]*)"')
_IDLE = re.compile(r"[?&]utm_source=[^&]*$")

EVERY_URL: dict[str, object] = {"dust.enabled": False, "absence.enabled": False}
"""Settings for a crawl that is compared with everything that the lab links to: duplicates are fetched as well, and
nothing that is linked nowhere."""
EXCHANGING: dict[str, object] = {"engine.checkpoint_interval": 0.1, "engine.checkpoint_share": 0.5}
"""Settings for a crawl by several processes, which send each other URLs when they commit: often, not every second."""
TABLES = ("discoveries", "fetches", "pages", "links", "sitemaps", "sitemap_entries", "changes")


def standing(world: World, after: float = 0.0, **options: Any) -> RunningLab:
    """A lab whose time stands still: what is true when the crawl begins is true when it ends."""
    return RunningLab(Server(world, SteppedClock(world.epoch + after), **options))


def by_address(lab: RunningLab) -> dict[str, object]:
    """Settings for a crawl that finds every site at its own address."""
    return {"dns.hosts": dict(lab.resolver), "scope.kind": "host"}


def by_proxy(lab: RunningLab) -> dict[str, object]:
    """Settings for a crawl that finds every site by its name alone."""
    return {"wire.proxy": lab.base}


def as_domains(lab: RunningLab) -> dict[str, object]:
    """As `by_proxy`, over the whole web of the lab, in which every name below lab.test is a domain of its own."""
    return by_proxy(lab) | {"scope.kind": "any", "scope.suffixes": (DOMAIN,)}


def crawl(folder: Path, seeds: Iterable[str], options: dict[str, object], workers: int = 1) -> list[ShardStatus]:
    """Crawl to the end, or continue to the end: how every shard was doing then.

    Sitemaps are read, and rules for duplicate URLs learnt, only if asked for: what is fetched is then exactly known.
    """
    folder.mkdir(exist_ok=True)
    usual: dict[str, object] = {"sitemaps.follow": False, **EVERY_URL, **(EXCHANGING if workers > 1 else {})}
    config = Config().with_options(usual | options)
    config.check()
    urls = seeds_from(list(seeds))
    statuses = open_crawl(opened(config, urls), folder, urls, workers).run()
    settle(folder)
    return statuses


def rows(folder: Path, question: str) -> list[dict[str, Any]]:
    """What DuckDB answers; every table goes by its name, over its files."""
    with duckdb.connect() as database:
        for table in TABLES:
            database.execute(f"create view {table} as select * from '{folder}/tables/{table}/*.parquet'")
        answer = database.execute(question)
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def make_due(folder: Path, urls: Iterable[str]) -> None:
    """Give known URLs a place in the queue again."""
    state = DiskState(Layout(folder).shard(0), shard=0)
    tickets = state.queues.push([Queued(Url(url), site_of(Url(url)), Lane.REFRESH, 0) for url in urls])
    meta = state.meta(ShardMeta)
    assert meta is not None
    meta.frontier.is_crowded = True
    meta.frontier.revisits_waiting += len(tickets)
    state.put_meta(meta)
    state.commit()
    state.close()


def make_files_due(folder: Path) -> None:
    """Let time pass, as far as the files that sites publish are concerned."""
    state = DiskState(Layout(folder).shard(0))
    nodes = SitemapStore(state)
    for node in [node for site in state.sites for node in nodes.of_site(site.site)]:
        nodes.put(replace(node, due_at=0.0))
    state.commit()
    state.close()


def place(url: str) -> tuple[str, str]:
    """Host and target, without scheme and port: what the log of the lab has of a URL."""
    authority, slash, rest = url.partition("://")[2].partition("/")
    return authority.partition(":")[0], slash + rest


class Truth(NamedTuple):
    """What a crawler that obeys and follows everything meets: the status of every URL, and what is forbidden."""

    statuses: dict[str, int]
    forbidden: set[str]


def truth(world: World, seeds: Iterable[str], host: str = "") -> Truth:
    """From the seeds, breadth first, over the whole web or one host of it.

    Worked out from the world's answers alone: anchors and canonical links by a pattern, redirects, robots, and one
    parameter that is known everywhere to say nothing of a page.
    """
    found = Truth({}, set())
    waiting = deque(seeds)
    while waiting:
        url = _IDLE.sub("", waiting.popleft())
        if url in found.statuses or url in found.forbidden or (host and place(url)[0] != host):
            continue
        if not world.allowed("periplus", url):
            found.forbidden.add(url)
            continue
        found.statuses[url], ways = _answer(world, url)
        waiting.extend(ways)
    return found


def _answer(world: World, url: str) -> tuple[int, list[str]]:
    """What a URL answers, and where that leads."""
    host, _, target = url.removeprefix("http://").partition("/")
    said = world.answer(Request("GET", host, f"/{target}", (), world.epoch))
    if said.status in (301, 302):
        return said.status, [dict(said.headers)["Location"]]
    body = said.body if isinstance(said.body, bytes) else b"".join(said.body)
    hrefs = [href.replace(b"&amp;", b"&").decode() for href in _WAY.findall(body)] if said.status == 200 else []
    return said.status, [href if href.startswith("http") else f"http://{host}{href}" for href in hrefs]
