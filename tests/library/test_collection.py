"""A collection as programs read it: pages, SQL, what is known of a URL, changes, exports, refreshes, maps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import SEED, attentive, quick, shop

import periplus


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with shop(4) as server:
        yield server


@pytest.fixture
def collection(web: ScriptedWeb, tmp_path: Path) -> periplus.Collection:
    """A crawl of the shop, and a page of another site."""
    web.said["http://other.test/"] = "<title>Other</title><p>Something else."
    seeds = [SEED, "http://other.test/"]
    periplus.crawl(seeds, out=tmp_path / "c", config=attentive(tmp_path), **quick(web)).run()
    return periplus.open(tmp_path / "c")


def test_pages(collection: periplus.Collection) -> None:
    """The last version of every page; of one site, if it is named."""
    assert len(list(collection.pages())) == 7
    assert [page.title for page in collection.pages(site="other.test")] == ["Other"]
    titles = {page.title for page in collection.pages(site="shop.test")}
    assert titles == {"The shop", "About", "Product 0", "Product 1", "Product 2", "Product 3"}


def test_query_in_every_form(collection: periplus.Collection) -> None:
    """Rows, an Arrow table, a data frame, an iterator; the columns have their names."""
    answer = collection.query("select url, status from fetches where outcome = 'fetched' order by url")
    assert answer.columns == ["url", "status"]
    rows = answer.fetchall()
    assert (f"{SEED}about", 200) in rows
    assert list(answer) == rows
    assert answer.arrow().num_rows == len(rows)
    assert list(answer.df()["url"]) == [url for url, _ in rows]


def test_query_reads_the_collection_only(collection: periplus.Collection, tmp_path: Path) -> None:
    """Nothing can be written or read elsewhere by SQL, and what is wrong with it is our error."""
    for sql in (f"copy fetches to '{tmp_path}/x.csv'", "select * from '/etc/passwd'", "select * from nowhere", "selec"):
        with pytest.raises(periplus.UsageError):
            collection.query(sql).fetchall()
    assert not (tmp_path / "x.csv").exists()


def test_page_says_what_is_known(collection: periplus.Collection) -> None:
    """Where it was found, and every version of it; nothing of an unknown URL."""
    known = collection.page(f"{SEED}product/1")
    assert known.facts.is_known
    assert known.facts.record is not None
    assert [seen.source.value for seen in known.facts.record.first_seen] == ["link"]
    assert known.latest is not None
    assert known.latest.title == "Product 1"
    unknown = collection.page(f"{SEED}nowhere")
    assert not unknown.facts.is_known
    assert unknown.latest is None


def test_refresh_and_changes(collection: periplus.Collection, web: ScriptedWeb) -> None:
    """What changed since is found by asking again, once, and shown with its difference."""
    web.said[f"{SEED}product/2"] = (
        "<!doctype html><html lang=en><title>Product 2, replaced</title><h1>Product 2</h1>"
        "<p>It was replaced by something altogether different, which no reader had expected at all.</p>"
    )
    before = len(web.asked)
    found = collection.refresh()
    assert (found.asked, found.changed, found.same, found.is_complete) == (7, 1, 6, True)
    assert found.changed_urls == (f"{SEED}product/2",)
    assert len(web.same) == 6
    pages = [url for url in web.asked[before:] if not url.endswith("robots.txt")]
    assert len(pages) == len(set(pages)) == 7
    changes = list(collection.changes(since="1h", kind="changed"))
    assert [(change.url, change.kind) for change in changes] == [(f"{SEED}product/2", "changed")]
    assert changes[0].detail is not None
    assert changes[0].detail.difference is not None
    versions = collection.page(f"{SEED}product/2").versions
    assert len(versions) == 2
    assert "replaced" in versions[1].text
    assert "replaced" not in versions[0].text
    with pytest.raises(periplus.UsageError, match="is not a kind of change"):
        list(collection.changes(kind="sideways"))


def test_exports(collection: periplus.Collection, tmp_path: Path) -> None:
    """A file that is new, or a folder; what was written is counted."""
    done = collection.export("jsonl", tmp_path / "pages.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert done.written == len(lines) == 7
    assert {line["title"] for line in lines} >= {"About", "Other"}
    assert collection.export("markdown", tmp_path / "pages").written > 0
    with pytest.raises(periplus.UsageError, match="exists already"):
        collection.export("jsonl", tmp_path / "pages.jsonl")
    with pytest.raises(periplus.UsageError):
        collection.export("sideways", tmp_path / "x")


def test_folder_that_is_not_a_collection(tmp_path: Path) -> None:
    """The error says so."""
    with pytest.raises(periplus.PeriplusError, match=r"periplus\.toml"):
        periplus.open(tmp_path)


def test_selecting_elements(collection: periplus.Collection) -> None:
    """CSS selectors on the source; a selector that cannot be read is our error."""
    [page] = [page for page in collection if page.url == f"{SEED}product/3"]
    assert page.select_text(".price") == "3.50 EUR"
    assert page.select_text(".missing") is None
    assert [node.text() for node in page.select("h1")] == ["Product 3"]
    with pytest.raises(periplus.UsageError, match="is not a CSS selector"):
        page.select("..")


def test_selecting_without_the_extra(collection: periplus.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where selectolax is not installed the error names what to install."""
    monkeypatch.setitem(__import__("sys").modules, "selectolax.lexbor", None)
    page = next(collection.pages())
    with pytest.raises(periplus.UsageError) as refused:
        page.select("p")
    assert "periplus[select]" in refused.value.hint


def test_map(web: ScriptedWeb) -> None:
    """Every URL that the site lists, and why a crawl would not fetch one; no page is fetched."""
    listed = "".join(f"<url><loc>{SEED}{path}</loc></url>" for path in ("about", "product/1", "secret/1"))
    web.said[f"{SEED}robots.txt"] = f"User-agent: *\nDisallow: /secret/\nSitemap: {SEED}sitemap.xml\n"
    web.said[f"{SEED}sitemap.xml"] = f'<?xml version="1.0"?><urlset>{listed}</urlset>'
    found = {each.url: each.reason for each in periplus.map(SEED, proxy=web.base, delay=0)}
    assert found == {f"{SEED}about": "", f"{SEED}product/1": "", f"{SEED}secret/1": "robots"}
    assert f"{SEED}about" not in web.asked
