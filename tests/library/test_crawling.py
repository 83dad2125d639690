"""A crawl in a program: pages arrive in a loop, leaving the loop stops it, and the same folder continues."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import SEED, quick, shop

import periplus
from periplus.store.export.documents import read_document


def urls_of(pages: list[periplus.Page]) -> set[str]:
    return {page.url for page in pages}


def every_page(web: ScriptedWeb) -> set[str]:
    return {url for url in web.said if not url.endswith(".txt")}


def test_every_page_is_handed_over_once(tmp_path: Path) -> None:
    """The loop ends with the crawl, after every page, and the summary counts them."""
    with shop() as web:
        with periplus.crawl(SEED, out=tmp_path / "c", **quick(web)) as crawl:
            pages = list(crawl)
        assert len(pages) == len(every_page(web))
        assert urls_of(pages) == every_page(web)
    assert crawl.summary.ended == "complete"
    assert crawl.summary.pages == crawl.summary.this_run.pages == len(pages)


def test_page_has_its_content(tmp_path: Path) -> None:
    """What was stored is read from the archive: title, texts, links, language, source."""
    with shop() as web, periplus.crawl(SEED, out=tmp_path / "c", **quick(web)) as crawl:
        found = {page.url: page for page in crawl}
    page = found[f"{SEED}product/3"]
    assert page.title == "Product 3"
    assert page.language == "en"
    assert page.status == 200
    assert "3.50 EUR" in page.text
    assert "made of 3 parts" in page.main_text
    assert "made of 3 parts" in page.markdown
    assert page.html.startswith("<!doctype html>")
    home = found[SEED]
    assert f"{SEED}product/3" in [link.url for link in home.links]
    assert "About us" in [link.anchor for link in home.links]


def test_page_is_stored_when_it_is_handed_over(tmp_path: Path) -> None:
    """While the crawl runs, the collection already has every page that the loop got."""
    with shop() as web, periplus.crawl(SEED, out=tmp_path / "c", **quick(web)) as crawl:
        for number, page in enumerate(crawl):
            stored = {url for (url,) in periplus.open(tmp_path / "c").query("select url from fetches").fetchall()}
            assert page.url in stored
            if number == 2:
                break


@pytest.mark.proof
def test_leaving_the_loop_stops_and_the_same_folder_continues(tmp_path: Path) -> None:
    """A crawl that is left early keeps everything; the next one hands over what the first did not."""
    with shop(60) as web:
        options = quick(web) | {"rate": 2.5}  # to fetch all takes half a minute
        first = []
        with periplus.crawl(SEED, out=tmp_path / "c", **options) as crawl:
            for page in crawl:
                first.append(page)
                if len(first) == 3:
                    break
        assert crawl.summary.ended == "interrupted"
        with periplus.crawl(out=tmp_path / "c", rate=0) as crawl:
            second = list(crawl)
        assert crawl.summary.ended == "complete"
        assert not urls_of(first) & urls_of(second)
        assert urls_of(first) | urls_of(second) == every_page(web)
        requests = [url for url in web.asked if not url.endswith("robots.txt")]
    assert len(requests) == len(set(requests))


def handle_one_and_fail(folder: Path, web: ScriptedWeb) -> list[str]:
    """A program that handles one page and fails with the second; both URLs."""
    got: list[str] = []
    with suppress(ZeroDivisionError), periplus.crawl(SEED, out=folder, **quick(web)) as crawl:
        for page in crawl:
            got.append(page.url)
            if len(got) == 2:
                _ = 1 / 0
    return got


def test_page_that_failed_in_the_loop_is_handed_over_again(tmp_path: Path) -> None:
    """After an exception in the loop, the page that it happened with comes again, and no other."""
    with shop() as web:
        handled, failed = handle_one_and_fail(tmp_path / "c", web)
        with periplus.crawl(out=tmp_path / "c") as crawl:
            again = list(crawl)
    assert again[0].url == failed
    assert handled not in urls_of(again)
    assert urls_of(again) | {handled} == every_page(web)


def test_without_a_loop(tmp_path: Path) -> None:
    """`run` crawls to the end and returns the summary."""
    with shop() as web:
        summary = periplus.crawl(SEED, out=tmp_path / "c", limit=4, **quick(web)).run()
    assert (summary.ended, summary.pages) == ("limit", 4)


def test_asynchronous_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`async with` and `async for` hand over the same pages; while one is read, the event loop goes on."""
    ticks = 0
    read_beside: list[bool] = []

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    def read_while_ticking(*given: Any) -> Any:
        """Read a page, but not before the event loop made ten more turns; it makes none if it waits for this."""
        start, end = ticks, time.monotonic() + 5
        while ticks < start + 10 and time.monotonic() < end and all(read_beside):
            time.sleep(0.001)
        read_beside.append(ticks >= start + 10)
        return read_document(*given)

    async def gathered(web: ScriptedWeb) -> set[str]:
        ticking = asyncio.create_task(tick())
        async with periplus.crawl(SEED, out=tmp_path / "c", **quick(web)) as crawl:
            found = {page.url async for page in crawl if page.title}
        ticking.cancel()
        assert crawl.summary.ended == "complete"
        return found

    monkeypatch.setattr("periplus.library.page.read_document", read_while_ticking)
    with shop() as web:
        assert asyncio.run(gathered(web)) == every_page(web)
        assert read_beside == [True] * len(every_page(web))


def test_collection_of_the_command_line_continues(tmp_path: Path) -> None:
    """Of a collection that no program has looped over, only pages stored from now on are handed over."""
    with shop() as web:
        periplus.crawl(SEED, out=tmp_path / "c", limit=4, **quick(web)).run()
        with periplus.crawl(out=tmp_path / "c", limit=7) as crawl:
            assert len(list(crawl)) == 3


def test_a_refresh_does_not_use_up_the_limit(tmp_path: Path) -> None:
    """`limit` is the number of different pages over all runs, however often they are fetched again."""
    with shop() as web:
        crawled = periplus.crawl(SEED, out=tmp_path / "c", limit=5, **quick(web)).run()
        collection = periplus.open(tmp_path / "c")
        for _ in range(2):
            assert collection.refresh().asked == 5
        same = periplus.crawl(out=tmp_path / "c", limit=5).run()
        more = periplus.crawl(out=tmp_path / "c", limit=8).run()
        assert collection.refresh().asked == 8
        rest = periplus.crawl(out=tmp_path / "c", limit=100).run()
    found = [(summary.ended, summary.new, summary.this_run.pages) for summary in (crawled, same, more, rest)]
    assert found == [("limit", 5, 5), ("limit", 5, 0), ("limit", 8, 3), ("complete", 14, 6)]


@pytest.mark.slow
def test_worker_processes(tmp_path: Path) -> None:
    """With several workers the pages of all of them arrive."""
    with shop() as web:
        other = {url.replace("shop.test", "other.test"): page for url, page in web.said.items()}
        web.said |= other
        seeds = [SEED, "http://other.test/"]
        with periplus.crawl(seeds, out=tmp_path / "c", workers=2, **quick(web)) as crawl:
            pages = list(crawl)
        assert urls_of(pages) == every_page(web)
        assert len(pages) == len(every_page(web))
    assert crawl.summary.workers == 2


def test_errors_of_ours_are_one_tree(tmp_path: Path) -> None:
    """What cannot be done raises `PeriplusError`, before anything is written."""
    with pytest.raises(periplus.PeriplusError, match="not a URL"):
        periplus.crawl("http://", out=tmp_path / "c")
    with pytest.raises(periplus.UsageError):
        periplus.crawl(out=tmp_path / "c")
    with pytest.raises(periplus.ConfigError):
        periplus.crawl(SEED, out=tmp_path / "c", order="sideways")
    with pytest.raises(periplus.UsageError, match="has not begun"):
        next(iter(periplus.crawl(SEED, out=tmp_path / "c")))
    assert not (tmp_path / "c").exists()


def test_two_crawls_of_one_folder(tmp_path: Path) -> None:
    """A second crawl into the same folder is refused while the first runs."""
    with (
        shop() as web,
        periplus.crawl(SEED, out=tmp_path / "c", **quick(web)),
        pytest.raises(periplus.CollectionInUse),
        periplus.crawl(SEED, out=tmp_path / "c", **quick(web)),
    ):
        pass
