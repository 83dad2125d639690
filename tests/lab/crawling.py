"""Whole crawls of the lab, as a program would run them, and what others read of the collection afterwards.

The crawl is put together by `assembly`, as the command line does it; the lab runs in this process, and so its log is at
hand. Names lead to the lab in one of two ways: by a table of addresses, every site at its own (then URLs carry the
lab's port, and links from site to site, which do not, lead out of the crawl), or through the lab as a proxy (then the
whole web is there as it is, but addresses are not).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from periplus.assembly import open_crawl, seeds_from, settle
from periplus.config import Config
from periplus.crawl.shard import Status
from periplus.lab.web import World
from periplus.lab.web.clock import SteppedClock
from periplus.lab.web.running import RunningLab
from periplus.lab.web.server import Server

TABLES = ("discoveries", "fetches", "pages", "links", "sitemap_entries", "changes")


def standing(world: World, **options: Any) -> RunningLab:
    """A lab whose time stands still: what is true when the crawl begins is true when it ends."""
    return RunningLab(Server(world, SteppedClock(world.epoch), **options))


def by_address(lab: RunningLab) -> dict[str, object]:
    """Settings for a crawl that finds every site at its own address."""
    return {"dns.hosts": dict(lab.resolver), "scope.kind": "host"}


def by_proxy(lab: RunningLab) -> dict[str, object]:
    """Settings for a crawl that finds every site by its name alone."""
    return {"wire.proxy": lab.base}


def crawl(folder: Path, seeds: Iterable[str], options: dict[str, object], workers: int = 1) -> list[Status]:
    """Crawl to the end, or continue to the end: how every shard was doing then."""
    folder.mkdir(exist_ok=True)
    config = Config().with_options(options)
    config.check()
    statuses = open_crawl(config, folder, seeds_from(list(seeds)), workers).run()
    settle(folder)
    return statuses


def rows(folder: Path, question: str) -> list[dict[str, Any]]:
    """What DuckDB answers; every table goes by its name, over its files."""
    with duckdb.connect() as database:
        for table in TABLES:
            if any((folder / "tables" / table).glob("*.parquet")):
                database.execute(f"create view {table} as select * from '{folder}/tables/{table}/*.parquet'")
        answer = database.execute(question)
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def place(url: str) -> tuple[str, str]:
    """Host and target, without scheme and port: what the log of the lab has of a URL."""
    authority, slash, rest = url.partition("://")[2].partition("/")
    return authority.partition(":")[0], slash + rest


def folder_for(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """A place for a collection."""
    yield factory.mktemp(name) / "collection"
