from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import quick

import periplus
from periplus.apps.search.indexing import open_index, update_index
from periplus.collection.collection import existing
from periplus.content import entities
from periplus.insight import entities as kept_entities

SEED = "http://pies.test/"
DATA = (
    '<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [{"@type": "Article",'
    ' "name": "Apple pie", "dateModified": "2020-02-03"}, {"@type": "BreadcrumbList", "itemListElement": ['
    '{"position": 1, "name": "Home"}, {"position": 2, "name": "Pies"}]}]}</script>'
)
PAGES: dict[str, str | bytes] = {
    SEED: "<title>Pies</title><meta property=og:title content=Pies><a href=/apple>Apple</a> <a href=/plain>Plain</a>",
    f"{SEED}apple": f"<title>Apple pie</title>{DATA}<p>How to bake an apple pie with cinnamon and sugar.</p>",
    f"{SEED}plain": "<title>Plain</title><p>Nothing is said about this page in any other way than words.</p>",
}
ROWS = "select page, position, syntax, type, name, date_modified::date::text, breadcrumbs from entities order by all"


def test_the_table_is_made_once_and_follows_the_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(html: bytes, url: str) -> list[entities.Entity]:
        read.append(url)
        return entities.entities_of(html, url)

    monkeypatch.setattr(kept_entities, "entities_of", counted)
    with ScriptedWeb(dict(PAGES)) as web:
        periplus.crawl(SEED, out=tmp_path / "c", **quick(web)).run()
        first = periplus.open(tmp_path / "c").query(ROWS).fetchall()
        assert first == [
            (SEED, 0, "open-graph", None, "Pies", None, None),
            (f"{SEED}apple", 0, "json-ld", "Article", "Apple pie", "2020-02-03", None),
            (f"{SEED}apple", 1, "json-ld", "BreadcrumbList", None, None, ["Home", "Pies"]),
        ]
        assert sorted(read) == sorted(PAGES)
        assert periplus.open(tmp_path / "c").query(ROWS).fetchall() == first
        assert len(read) == 3
        web.said[f"{SEED}apple"] = "<title>Apple pie</title><p>There is no pie any more, and no data about it.</p>"
        periplus.open(tmp_path / "c").refresh()
        assert periplus.open(tmp_path / "c").query(ROWS).fetchall() == first[:1]
        assert read[3:] == [f"{SEED}apple"]


def test_a_file_that_is_not_ours_is_made_again(tmp_path: Path) -> None:
    with ScriptedWeb(dict(PAGES)) as web:
        periplus.crawl(SEED, out=tmp_path / "c", **quick(web)).run()
    (tmp_path / "c" / "insight").mkdir(exist_ok=True)
    (tmp_path / "c" / "insight" / "entities.parquet").write_bytes(b"damaged")
    assert periplus.open(tmp_path / "c").query("select count(*) from entities").fetchall() == [(3,)]


def test_results_have_breadcrumbs_and_the_date_that_the_page_gives(tmp_path: Path) -> None:
    with ScriptedWeb(dict(PAGES)) as web:
        periplus.crawl(SEED, out=tmp_path / "c", **quick(web)).run()
    collection = existing(tmp_path / "c")
    update_index(collection)
    with open_index(collection) as index:
        [hit] = index.search("cinnamon", 3).hits
    assert hit.breadcrumbs == ("Home", "Pies")
    assert hit.modified_at == 1580688000
