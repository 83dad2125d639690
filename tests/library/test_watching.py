"""A watch as programs run it: changes as they are found, a graceful end, items of pages that were visited again."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import SEED, attentive, quick, shop

import periplus

SOON = {"refresh.shortest": 0.2, "politeness.delay": 0}
"""Pages are visited again at once."""
CHANGED = (
    "<!doctype html><html lang=en><title>Product 0</title><h1>Product 0</h1><p class=price>9 EUR</p>"
    "<p>An entirely different product, which is made of gold, and costs more than all others together.</p>"
)


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with shop(4) as server:
        yield server


def price(page: periplus.Page) -> dict[str, str] | None:
    found = page.select_text(".price")
    return None if found is None else {"price": found}


@pytest.fixture
def shopping(web: ScriptedWeb, tmp_path: Path) -> periplus.Collection:
    crawl = periplus.crawl(SEED, out=tmp_path / "c", config=attentive(tmp_path), extract=price, **quick(web))
    crawl.run()
    return periplus.open(tmp_path / "c")


def prices(collection: periplus.Collection, view: str = "items") -> list[tuple[str, str, bool]]:
    asked = f"select replace(url, '{SEED}', ''), price, vanished_at is not null from {view} order by all"
    return collection.query(asked).fetchall()


@pytest.mark.proof
def test_items_of_refreshed_pages(shopping: periplus.Collection, web: ScriptedWeb) -> None:
    """Items of the last version replace earlier ones; those of a page that is gone say since when."""
    assert prices(shopping) == [(f"product/{n}", f"{n}.50 EUR", False) for n in range(4)]
    web.said[f"{SEED}product/0"] = CHANGED
    del web.said[f"{SEED}product/1"]
    web.said[f"{SEED}product/2"] = "<title>Product 2</title><h1>Product 2</h1><p>Sold out, and will not come back."
    shopping.refresh(extract=price)
    assert prices(shopping) == [
        ("product/0", "9 EUR", False),
        ("product/1", "1.50 EUR", True),
        ("product/3", "3.50 EUR", False),
    ]
    every = [(url, cost) for url, cost, _ in prices(shopping, "item_versions")]
    assert ("product/0", "0.50 EUR") in every
    assert ("product/0", "9 EUR") in every
    assert ("product/2", "2.50 EUR") in every
    since = {page.url: page.vanished_at for page in shopping if page.vanished_at}
    asked = "select url, vanished_at from items where vanished_at is not null"
    assert dict(shopping.query(asked).fetchall()) == since == {f"{SEED}product/1": since[f"{SEED}product/1"]}
    shopping.refresh(url=f"{SEED}product/1")
    assert dict(shopping.query(asked).fetchall()) == since


def test_extractor_that_fails_in_a_refresh(shopping: periplus.Collection, web: ScriptedWeb) -> None:
    """It is our error, and the collection can be used again: the page is handed over again."""
    web.said[f"{SEED}product/0"] = CHANGED
    with pytest.raises(periplus.UsageError, match="extract= raised ZeroDivisionError"):
        shopping.refresh(extract=lambda _page: 1 / 0)
    shopping.refresh(extract=price)
    assert ("product/0", "9 EUR", False) in prices(shopping)


@pytest.mark.proof
def test_watch_hands_over_changes(shopping: periplus.Collection, web: ScriptedWeb) -> None:
    """Changes arrive while it runs; leaving the block stops it, and the collection is free again."""
    web.said[f"{SEED}product/0"] = CHANGED
    found = []
    with shopping.watch(budget=100_000_000, for_="60s", extract=price, settings=SOON) as watch:
        for change in watch:
            found.append(change)
            break
    assert [(change.kind, change.url, change.level) for change in found] == [("changed", f"{SEED}product/0", "major")]
    assert "gold" in found[0].diff
    assert watch.summary.ended == "interrupted"
    assert ("product/0", "9 EUR", False) in prices(shopping)
    assert shopping.refresh().is_complete


@pytest.mark.proof
def test_watch_ends_and_can_be_stopped(shopping: periplus.Collection) -> None:
    """When its time is over, or from another thread; without a block it says how it is used."""
    with pytest.raises(periplus.UsageError, match="has not begun"):
        next(iter(shopping.watch()))
    with pytest.raises(periplus.UsageError, match="--for must be more than 0"):
        shopping.watch(for_=0)
    watch = shopping.watch(diff=False)
    Timer(1.0, watch.stop).start()
    assert watch.run(print).ended == "interrupted"
    assert shopping.watch(for_="1s").run(print).ended != "interrupted"


@pytest.mark.proof
def test_signature_through_the_lazy_import() -> None:
    """`help(periplus.crawl)` shows keywords and what they mean."""
    names = list(inspect.signature(periplus.crawl).parameters)
    assert {"seeds", "out", "limit", "for_", "settings", "extract"} <= set(names)
    assert "options" not in names
    text = pydoc.plain(pydoc.render_doc(periplus.crawl))
    assert "limit: Maximum pages to fetch in all." in text
    code = "import inspect, periplus; print('limit' in inspect.signature(periplus.crawl).parameters)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"True\n"


def test_to_markdown_of_texts_and_bytes() -> None:
    """A text is taken as it is, bytes as their page declares; links are absolute if there is a URL."""
    html = "<meta charset=iso-8859-1><h1>Größe</h1><p>Some words about the size of things. <a href='/x'>More</a>"
    markdown = periplus.to_markdown(html, "https://example.org/a")
    assert "# Größe" in markdown
    assert "[More](https://example.org/x)" in markdown
    assert periplus.to_markdown(html.encode("latin-1"), "https://example.org/a") == markdown
    assert "Größe" in periplus.to_markdown(html)
