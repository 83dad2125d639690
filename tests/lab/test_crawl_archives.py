"""Servers that list all their pages by the date of their last change, and a crawler that fetches only what is new."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.lab.crawling import crawl, rows
from tests.lab.scripted_web import ScriptedWeb, page

from periplus.engine.sitemaps.store import SitemapStore
from periplus.formats import metadata_archive
from periplus.formats.metadata_archive import ArchiveEntry
from periplus.model import Site
from periplus.store import DiskState
from periplus.store.layout import Layout

HOME = "http://a.test/"
DAY = 86400.0
START = 1_750_000_000.0


def exported(entries: Iterable[ArchiveEntry]) -> dict[str, str | bytes]:
    """A site's archives, of a hundred pages each, and the robots.txt that names them."""
    archives = list(metadata_archive.write(entries, segment=100, smallest_group=10))
    said: dict[str, str | bytes] = {f"{HOME}meta/{each.name}": each.body for each in archives}
    names = (f"{HOME}meta/{each.name}" for each in archives)
    return said | {f"{HOME}robots.txt": "".join(f"Metadata-archive: {name}\n" for name in names).encode()}


def described(number: int, mime: str = "text/html") -> ArchiveEntry:
    return ArchiveEntry(f"p/{number}", START + number * DAY, 1000, mime)


def archives_asked(web: ScriptedWeb) -> list[str]:
    return [url for url in web.asked if "/meta/" in url]


@pytest.mark.proof
def test_every_page_that_archives_describe_is_found(tmp_path: Path) -> None:
    """With its date; and no archive of pictures is asked for. What was read is not asked for when it is older."""
    pages = [described(number) for number in range(250)]
    pictures = [described(number, "image/png") for number in range(250, 300)]
    said: dict[str, str | bytes] = {f"{HOME}p/{n}": page(f"p {n}") for n in range(260)}
    said[HOME] = page("home")
    with ScriptedWeb(said | exported([*pages, *pictures])) as web:
        crawl(tmp_path, [HOME], web.settings)
        first = archives_asked(web)
        assert len(first) == 3
        assert not any("image" in url for url in first)
        found = rows(tmp_path, "select url, epoch(lastmod) modified from discoveries where source = 'archive'")
        assert {row["url"]: row["modified"] for row in found} == {f"{HOME}p/{n}": START + n * DAY for n in range(250)}
        assert {f"{HOME}p/{n}" for n in range(250)} <= set(web.asked)
        web.said |= exported([*pages, *(described(number) for number in range(250, 260))])
        web.asked.clear()
        let_a_day_pass(tmp_path)
        crawl(tmp_path, [HOME], web.settings)
    assert len(archives_asked(web)) == 2
    assert archives_asked(web).count(min(first)) == 1
    assert {url for url in web.asked if "/p/" in url} == {f"{HOME}p/{n}" for n in range(250, 260)}
    purposes = rows(tmp_path, "select distinct purpose from fetches where url like '%/meta/%'")
    assert purposes == [{"purpose": "archive"}]
    kinds = rows(tmp_path, "select kind, outcome, sum(problem_count) bad from sitemaps group by all")
    assert kinds == [{"kind": "archive", "outcome": None, "bad": 0}]


def test_archive_without_dates_in_its_name_is_reported(tmp_path: Path) -> None:
    """It is not read, since nothing says which time it covers; the table of files says why."""
    rules = f"Metadata-archive: {HOME}meta/all.gz\n"
    with ScriptedWeb({HOME: page("home"), f"{HOME}robots.txt": rules.encode()}) as web:
        crawl(tmp_path, [HOME], web.settings)
    assert archives_asked(web) == []
    found = rows(tmp_path, "select url, retired from sitemaps where url like '%.gz' and retired is not null")
    assert {"url": f"{HOME}meta/all.gz", "retired": "bad-name"} in found


def let_a_day_pass(folder: Path) -> None:
    """An archive is due, which is a reason to ask for the names of others: they are in robots.txt."""
    state = DiskState(Layout(folder).shard(0))
    nodes = SitemapStore(state)
    oldest = min(nodes.of_site(Site("a.test")), key=lambda node: node.url)
    nodes.put(replace(oldest, due_at=0.0))
    state.commit()
    state.close()
