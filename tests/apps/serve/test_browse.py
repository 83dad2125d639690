"""Pages about a collection: what they show is what `periplus info` says, and no link of ours leads nowhere."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urljoin, urlsplit

import msgspec
import pytest
from tests.apps.serve.asking import PATIENCE, Site
from tests.apps.serve.browsed import crawled
from tests.lab.crawling import rows
from tests.markup import elements

import periplus
from periplus.apps.audit.page_grid import TEXT_COLUMNS
from periplus.apps.serve.browse import PAGES
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.collection.collection import existing, planned
from periplus.collection.facts.lines import collection_lines, site_lines
from periplus.collection.facts.lookup import collection_facts, site_facts, url_facts
from periplus.insight.views import VIEWS
from periplus.model import Site as SiteName

MOST_LINKS = 400
"""Links of our own pages that are followed; a twentieth of them in every run."""
MOST_OF_A_KIND = 1
"""Links that are followed of those that differ in their values only."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawled(tmp_path_factory.mktemp("browsed") / "lab")


@pytest.fixture(scope="module")
def server(lab: Path) -> Iterator[Site]:
    with running(Served((lab,), ServeSettings(port=0, timeout=PATIENCE))) as url:
        yield Site(url)


def largest(lab: Path) -> SiteName:
    return collection_facts(existing(lab)).largest[0].site


def plain(value: object) -> Any:
    """A value as it is after JSON."""
    return json.loads(msgspec.json.encode(value))


def shown_lines(text: str) -> list[tuple[str, str]]:
    """The labelled lines of a page."""
    labels = [each.text_content() for each in elements(text, '//dl[@class="facts-list"]/dt')]
    values = [each.text_content() for each in elements(text, '//dl[@class="facts-list"]/dd')]
    return list(zip(labels, values, strict=True))


@pytest.mark.proof
@pytest.mark.parametrize("path", [spec.path for spec in PAGES if "{" not in spec.path])
def test_every_page_and_its_twin_answer(server: Site, path: str) -> None:
    page = server.get(f"/collection{path}")
    assert page.status == 200
    assert elements(page.text, "//h1")
    assert not elements(page.text, '//*[@class="problem"]')
    twin = server.get(f"/api/collection{path}").json
    assert twin["title"] == elements(page.text, "//h1")[0].text_content()
    titles = [each.text_content() for each in elements(page.text, "//main//section/h2")]
    assert sorted(each["title"] for each in twin["tables"] if each["rows"] or not each["figure"]) == sorted(titles)


def test_overview_is_what_info_says(server: Site, lab: Path) -> None:
    facts = collection_facts(existing(lab))
    without_age = [line for line in collection_lines(facts, is_whole=False) if line[1] and line[0] != "fresh"]
    assert [line for line in shown_lines(server.get("/collection").text) if line[0] != "fresh"] == without_age
    found = server.get("/api/collection").json["facts"]
    assert found["tally"] == plain(facts.tally)
    assert found["largest"] == plain(facts.largest)


def test_site_is_what_info_says(server: Site, lab: Path) -> None:
    name = largest(lab)
    facts = site_facts(existing(lab), name)
    assert facts is not None
    page = server.get(f"/collection/sites/{quote(name, safe='')}")
    assert shown_lines(page.text) == [line for line in site_lines(facts) if line[1]]
    assert server.get(f"/api/collection/sites/{name}").json["facts"] == plain(facts)
    assert "Sitemap:" in page.text  # its robots.txt


def test_all_sites_are_listed_sorted_and_filtered(server: Site, lab: Path) -> None:
    facts = collection_facts(existing(lab))
    listed = server.get("/api/collection/sites").json["tables"][0]["rows"]
    assert [row["site"] for row in listed] == [line.site for line in facts.largest]
    assert {row["site"]: row["pages"] for row in listed} == {line.site: line.pages for line in facts.largest}
    by_name = server.get("/api/collection/sites", sort="site").json["tables"][0]["rows"]
    assert [row["site"] for row in by_name] == sorted(row["site"] for row in listed)
    name = listed[0]["site"]
    assert [row["site"] for row in server.get("/api/collection/sites", q=name).json["tables"][0]["rows"]] == [name]
    done = server.get("/api/collection/sites", state="finished").json
    assert done["facts"]["matching"] == sum(row["state"] == "finished" for row in listed)
    assert server.get("/api/collection/sites", sort="size").status == 400
    assert server.get("/api/collection/sites", state="asleep").status == 400


@pytest.mark.proof
@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ("status = 200 and purpose = 'page'", "It was fetched once, last with status 200."),
        ("status = 404 and purpose = 'page'", "and the last visit failed: http-404"),
        ("outcome = 'excluded' and reason = 'robots'", "forbidden by the site's robots.txt"),
    ],
)
def test_url_says_why(server: Site, lab: Path, which: str, expected: str) -> None:
    url = rows(lab, f"select url from fetches where {which} order by url limit 1")[0]["url"]
    page = server.get("/collection/url", url=url)
    assert page.status == 200
    assert elements(page.text, "//h1")[0].text_content() == url
    assert expected in " ".join(each.text_content() for each in elements(page.text, '//ul[@class="why"]/li'))
    twin = server.get("/api/collection/url", url=url).json
    record = url_facts(existing(lab), url).record
    assert twin["facts"]["record"] == plain(record)


def test_url_has_its_links_header_and_where_it_was_found(server: Site, lab: Path) -> None:
    url = rows(lab, "select page from links group by page order by count(*) desc, page limit 1")[0]["page"]
    tables = {each["name"]: each for each in server.get("/api/collection/url", url=url).json["tables"]}
    linked = rows(lab, f"select count(*) as n from links where page = '{url}'")[0]["n"]
    answer = server.get("/api/collection/url", url=url, table="outlinks").json
    assert len(answer) == linked
    assert any(row["name"].lower() == "content-type" for row in tables["headers"]["rows"])
    found = rows(lab, f"select count(*) as n from discoveries where url = '{url}'")[0]["n"]
    assert len(server.get("/api/collection/url", url=url, table="found").json) == found


def test_unknown_url_is_explained(server: Site, lab: Path) -> None:
    page = server.get("/collection/url", url=f"http://{largest(lab)}/never/heard/of")
    assert page.status == 200
    assert "no page, sitemap or feed that was read names it" in page.text


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/collection/sites/nowhere.test", "has no site nowhere.test"),
        ("/collection/tables/nothing", "There is no table nothing"),
        ("/collection/url?url=http%3A%2F%2F", "is not a URL"),
        ("/collection?collection=other", "There is no collection of this name"),
        ("/collection/nothing", "There is no such page"),
    ],
)
def test_unknown_names_are_404_with_a_sentence(server: Site, path: str, sentence: str) -> None:
    page = server.get(path)
    assert page.status == 404
    assert sentence in elements(page.text, "//h1")[0].text_content()


def test_figures_are_drawn(server: Site, lab: Path) -> None:
    drawn = elements(server.get("/collection").text, "//svg/@aria-label")
    assert drawn == ["Status codes", "Depth", "Content types", "Response times", "Requests over time"]
    table = server.get("/api/collection", table="status").json
    counted = rows(
        lab,
        "select status, count(*) as n from (select * from fetches where purpose = 'page' and outcome <> 'excluded'"
        " qualify row_number() over (partition by url order by started_at desc) = 1) group by status",
    )
    assert {row["status"]: row["urls"] for row in table} == {str(row["status"]): row["n"] for row in counted}


@pytest.mark.parametrize("name", list(VIEWS))
def test_every_table_is_shown_with_its_sql(server: Site, name: str) -> None:
    page = server.get(f"/collection/tables/{name}")
    assert page.status == 200
    assert not elements(page.text, '//*[@class="problem"]'), page.text
    assert f"select * from {name}" in elements(page.text, "//pre/code")[0].text_content()
    if VIEWS[name].sql:
        assert VIEWS[name].sql in elements(page.text, "//pre/code")[-1].text_content()


def test_tables_are_paged_and_downloaded_whole(server: Site, lab: Path) -> None:
    total = rows(lab, "select count(*) as n from fetches")[0]["n"]
    assert total > 50
    everything = server.get("/api/collection/tables/fetches", table="rows", sort="url").json
    assert len(everything) == total
    pages = [
        server.get(f"/api/collection/tables/fetches?sort=url&rows.page={number}").json["tables"][0]
        for number in range(1, total // 25 + 2)
    ]
    assert [row["url"] for page in pages for row in page["rows"]] == [row["url"] for row in everything]
    assert [page["has_more"] for page in pages] == [True] * (len(pages) - 1) + [False]
    written = server.get("/api/collection/tables/fetches", table="rows", format="csv", sort="url")
    assert written.headers["content-type"] == "text/csv; charset=utf-8"
    read = list(csv.DictReader(io.StringIO(written.text)))
    assert [row["url"] for row in read] == [row["url"] for row in everything]
    assert server.get("/api/collection/tables/fetches?rows.page=0").status == 400
    assert server.get("/api/collection/tables/fetches", sort="nothing").status == 400


def test_settings_say_where_each_came_from(server: Site) -> None:
    table = {row["setting"]: row for row in server.get("/api/collection/settings", table="settings").json}
    assert table["politeness.delay"]["from"] == "periplus.toml"
    assert table["politeness.delay"]["value"] == "0.0"
    assert table["scope.kind"]["from"] == "default"
    shown = server.get("/api/collection/settings").json["tables"][0]["rows"]
    assert all(row["from"] == "periplus.toml" for row in shown)


def test_settings_hide_passwords(tmp_path: Path) -> None:
    """A viewer sees the proxy of a collection, not its password."""
    planned(
        tmp_path / "c", typed=["http://a.test/"], options={"wire.proxy": "http://me:s3cret@proxy.test:3128/"}
    ).save()
    with running(Served((tmp_path / "c",), ServeSettings(port=0, timeout=PATIENCE))) as url:
        site = Site(url)
        page = site.get("/collection/settings")
        assert "proxy.test:3128" in page.text
        assert "s3cret" not in page.text + site.get("/api/collection/settings?table=settings").text
        assert [site.get(f"/collection{spec.path}").status for spec in PAGES if "{" not in spec.path] == [200] * 14


def test_runs_are_listed(server: Site, lab: Path) -> None:
    listed = server.get("/api/collection/runs", table="runs").json
    assert len(listed) == 1
    assert listed[0]["requests"] == rows(lab, "select count(*) as n from fetches where outcome <> 'excluded'")[0]["n"]


def test_api_describes_every_page(server: Site) -> None:
    described = server.get("/api/openapi.json").json["paths"]
    assert {f"/api/collection{spec.path}" for spec in PAGES} <= described.keys()


@pytest.mark.parametrize("most", [MOST_LINKS // 20, pytest.param(MOST_LINKS, marks=pytest.mark.slow)])
def test_our_links_lead_somewhere(server: Site, most: int) -> None:
    """Crawl our own pages: every internal link answers 200, of each kind of page some."""
    waiting, seen = deque(["/collection"]), {"/collection", "/collection/report.html"}
    kinds: dict[str, int] = {}
    followed = 0
    while waiting and followed < most:
        target = waiting.popleft()
        kind = _kind(target)
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] > MOST_OF_A_KIND:
            continue
        followed += 1
        page = server.get(target)
        assert page.status == 200, (target, page.text[:500])
        if not page.headers["content-type"].startswith("text/html"):
            continue
        for link in elements(page.text, "//a[@href]"):
            address = link.get("href")
            if address.startswith(("http:", "https:")):
                assert link.get("rel") == "noopener nofollow noreferrer", address
                continue
            path = urljoin(target, address).partition("#")[0]
            if path not in seen:
                seen.add(path)
                waiting.append(path)
    assert followed >= min(most, 60)


def _kind(target: str) -> str:
    """Links to the same page with other values are of one kind, and so are those to one table in several formats."""
    parts = urlsplit(target)
    path = re.sub(r"/(sites|tables)/[^/]+", r"/\1/*", parts.path)
    values = dict(parse_qsl(parts.query))
    return f"{path}?{','.join(sorted(values.keys() - {'format'}))}&table={values.get('table')}"


@pytest.mark.proof
def test_the_grid_is_filtered_sorted_and_paged_by_the_server(server: Site, lab: Path) -> None:
    """The same rows as `periplus audit --grid` writes, and only those that are asked for."""
    site = str(largest(lab))
    expected = periplus.open(lab).grid(site=site)
    path, all_rows = "/api/collection/pages", {row["url"]: row for row in expected}
    shown = server.get(path, site=site, table="pages").json
    assert [row["url"] for row in shown] == [row["url"] for row in expected]
    for sort, column, is_down in (("-inlinks", "inlinks", True), ("url", "url", False)):
        found = server.get(path, site=site, table="pages", sort=sort).json
        values = [row[column] for row in found]
        assert values == sorted(values, reverse=is_down)
        assert {row["url"] for row in found} == set(all_rows)
    word = str(expected[1]["title"]).split()[0].lower()
    filtered = server.get(path, site=site, table="pages", q=word, state="indexable", status="2").json
    texts = {url: " ".join(str(row[name] or "") for name in TEXT_COLUMNS).lower() for url, row in all_rows.items()}
    assert {row["url"] for row in filtered} == {
        url
        for url, row in all_rows.items()
        if word in texts[url] and row["state"] == "indexable" and row["status"] == 200
    }
    text = server.get(path, site=site, table="pages", format="csv", columns="url,depth").text
    assert next(csv.reader(io.StringIO(text))) == ["url", "depth"]
    page = server.get("/collection/pages", site=site, sort="-words", columns="url,words")
    assert [each.text_content().strip() for each in elements(page.text, "//thead//th")] == ["URL", "words"]
    assert [each.get("aria-sort") for each in elements(page.text, "//thead//th")] == [None, "descending"]
    assert not [each for each in elements(page.text, "//form[@class='ask']//select") if not each.get("aria-label")]
    for wrong in ({"sort": "no"}, {"columns": "url,no"}, {"state": "no"}, {"status": "9"}):
        assert server.get(path, **wrong).status == 400
    assert server.get(path, site="none.test").status == 404
