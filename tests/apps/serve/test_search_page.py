"""What people and programs find: pages, JSON, suggestions, stored copies, facts of sites."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.apps.serve.asking import Site
from tests.apps.serve.conftest import EVIL, Serving
from tests.library.small_web import SEED

import periplus
from periplus.apps.search.indexing import update_index
from periplus.apps.serve.app import make_app
from periplus.apps.serve.routing import GuardedRoute
from periplus.apps.serve.search_page import trail
from periplus.apps.serve.served import Served, ServeSettings
from periplus.collection.collection import existing
from periplus.collection.config.settings import Config


def test_front_page_has_a_form(site: Site) -> None:
    """Without words nothing is searched."""
    reply = site.get("/")
    assert reply.status == 200
    assert 'name="q"' in reply.text
    assert 'class="results"' not in reply.text


def test_results_show_title_address_and_marked_words(site: Site) -> None:
    """As the library finds them."""
    reply = site.get("/", q="long time")
    assert reply.status == 200
    assert f'href="{SEED}about"' in reply.text
    assert "for a <mark>long</mark> <mark>time</mark>" in reply.text


def test_a_misspelt_word_is_suggested(site: Site) -> None:
    """With a link to the right query."""
    assert "/?q=product" in site.get("/", q="prodict").text
    assert site.get("/api/search", q="prodict").json["suggestion"] == "product"


def test_results_come_in_pages(site: Site) -> None:
    """Each result once; links lead forth and back."""
    seen: list[str] = []
    for number in ("1", "2", "3", "4", "5"):
        found = site.get("/api/search", q="product", n="4", page=number).json
        seen += [one["url"] for one in found["results"]]
        if not found["has_next"]:
            break
    assert len(seen) == len(set(seen)) == found["total"] == 15
    second = site.get("/", q="product", n="4", page="2").text
    assert 'rel="prev"' in second
    assert "page=3" in second


def test_a_result_that_lacks_a_word_says_which(site: Site) -> None:
    """In JSON and on the page."""
    lacking = {tuple(one["missing"]) for one in site.get("/api/search", q="long product").json["results"]}
    assert lacking == {("long",), ("product",)}
    assert "without <s>product</s>" in site.get("/", q="long product").text


def test_results_of_a_site_are_grouped(site: Site) -> None:
    """The last result of a site says how many more there are, and links to them."""
    found = site.get("/api/search", q="product", n="2").json
    assert [one["more_from_site"] for one in found["results"]] == [0, 13]
    assert "13 more from shop.test" in site.get("/", q="product", n="2").text


def test_filters(site: Site) -> None:
    """A site, a language, an order."""
    everywhere = {one["site"] for one in site.get("/api/search", q="marigold OR product", n="50").json["results"]}
    assert everywhere == {"shop.test", "evil.test"}
    here = site.get("/api/search", q="marigold OR product", n="50", site="evil.test").json["results"]
    assert {one["site"] for one in here} == {"evil.test"}
    assert not site.get("/api/search", q="marigold", lang="de").json["results"]
    newest = site.get("/api/search", q="product", sort="newest", n="50").json["results"]
    times = [one["fetched_at"] for one in newest]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    "parameters",
    [{"n": "0"}, {"n": "51"}, {"n": "x"}, {"page": "9999999999"}, {"page": "50"}, {"sort": "worst"}, {"site": "a\nb"}],
)
def test_parameters_out_of_range_are_refused(site: Site, parameters: dict[str, str]) -> None:
    """With a sentence, on the page and for programs."""
    assert site.get("/", q="product", **parameters).status == 400
    assert "must" in site.get("/api/search", q="product", **parameters).json["error"]


@pytest.mark.parametrize(
    "query", ['"', "-", "site:", "a" * 5000, "\x00", "after:never", "🦊", "((((", "*:*", "a AND OR"]
)
def test_every_text_is_a_query(site: Site, query: str) -> None:
    """None breaks the page."""
    assert site.get("/", q=query).status == 200


def test_only_operators_see_how_scores_are_made(serving: Serving) -> None:
    """Others are refused; a page leaves it out."""
    token, viewer = "o" * 20, "v" * 20
    site = serving(token=token, viewer_token=viewer, public_search=True)
    asked = {"q": "product", "explain": "1"}
    explained = site.get("/api/search", {"Authorization": f"Bearer {token}"}, **asked).json["results"][0]
    assert sum(explained["parts"].values()) == pytest.approx(explained["score"], abs=0.01)
    assert site.get("/api/search", {"Authorization": f"Bearer {viewer}"}, **asked).status == 403
    assert site.get("/api/search", **asked).status == 403
    assert site.get("/api/search", q="product").json["results"][0]["parts"] == {}
    assert "score" not in site.get("/", **asked).text


def test_strangers_see_the_search_alone(serving: Serving) -> None:
    """Without the bar of operators, the time of a fetch, or how long it took; operators see all of that."""
    token = "o" * 20
    site = serving(token=token, public_search=True)
    for path in ("/", "/?q=product"):
        public = site.get(path).text
        assert 'class="bar"' not in public
        assert "/collection" not in public
        assert " ms<" not in public
        assert not re.search(r"\d{4}-\d\d-\d\d", public)
        assert 'href="/login"' in public
    own = site.get("/?q=product", {"Authorization": f"Bearer {token}"}).text
    assert 'class="bar"' in own
    assert "/collection" in own
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", own)


def test_browsers_can_add_the_search(site: Site) -> None:
    """The description names this server; suggestions are as OpenSearch has them."""
    reply = site.get("/opensearch.xml")
    space = {"": "http://a9.com/-/spec/opensearch/1.1/"}
    templates = {
        url.get("type"): url.get("template") for url in ElementTree.fromstring(reply.text).findall("Url", space)
    }
    assert templates["text/html"] == f"{site.url}?q={{searchTerms}}"
    assert "opensearch.xml" in site.get("/").text
    typed, found = site.get("/suggest", q="Product 1").json
    assert typed == "Product 1"
    assert "product 1" in found
    assert site.get("/suggest").json == ["", []]


def test_the_stored_copy(site: Site) -> None:
    """As it was fetched, with a banner, in a sandbox."""
    reply = site.get("/cached", url=f"{SEED}about")
    assert reply.status == 200
    assert "We sell things, and have done so" in reply.text
    assert "This is a copy of" in reply.text
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script-src" not in policy
    assert "allow-scripts" not in policy


@pytest.mark.parametrize(
    "url", [f"{SEED}secret", f"{SEED}none", "", "javascript:alert(1)", "file:///etc/passwd", "x" * 9000]
)
def test_no_copy(site: Site, url: str) -> None:
    """Of a page that forbids it, one that is not there, and what is not a page."""
    assert site.get("/cached", url=url).status == 404


def test_a_page_that_forbids_copies_is_found_without_a_link_to_one(site: Site) -> None:
    """It is searchable."""
    found = site.get("/api/search", q="tulips").json["results"]
    assert [(one["url"], one["has_copy"]) for one in found] == [(f"{SEED}secret", False)]
    assert "/cached" not in site.get("/", q="tulips").text


def test_the_public_sees_copies_of_what_a_search_finds(serving: Serving) -> None:
    """A page that asks not to be indexed is for viewers."""
    site = serving(token="t" * 16, public_search=True)
    assert site.get("/cached", url=f"{SEED}about").status == 200
    assert site.get("/cached", url=f"{SEED}hidden").status == 404
    assert site.get("/cached", {"Authorization": f"Bearer {'t' * 16}"}, url=f"{SEED}hidden").status == 200


@pytest.fixture
def bare(tmp_path: Path, folder: Path) -> Path:
    """A collection without an index, which shows no copies."""
    place = tmp_path / "bare"
    place.mkdir()
    for part in ("state", "tables", "warc"):
        shutil.copytree(folder / part, place / part)
    config = Config.load(folder / "periplus.toml").with_options({"search.cached": False})
    (place / "periplus.toml").write_text(config.dump())
    return place


def test_without_an_index_the_page_says_what_to_do(serving: Serving, bare: Path) -> None:
    """And programs get an error; copies can be turned off."""
    site = serving(bare)
    assert f"periplus index {bare}" in site.get("/", q="product").text
    assert site.get("/api/search", q="product").status == 503
    assert site.get("/cached", url=f"{SEED}about").status == 404


def test_several_collections(serving: Serving, folder: Path, bare: Path) -> None:
    """By name; the first is meant where none is named."""
    site = serving(folder, bare)
    assert site.get("/api/search", q="product").json["total"] == 15
    assert site.get("/api/search", q="product", collection="bare").status == 503
    assert site.get("/api/search", q="product", collection="other").status == 404
    assert "collection=bare" in site.get("/", collection="bare").text


def test_useful_links_and_facts_of_a_site(site: Site, folder: Path) -> None:
    """As the command line has them."""
    links = site.get("/api/ulinks", site="shop.test").json
    assert links["urls"] > 10
    assert any("product" in link["url"] for link in links["ulinks"])
    facts = site.get("/api/sites/shop.test").json
    pages = periplus.open(folder).query("select count(distinct url) from pages where site = 'shop.test'").fetchall()
    assert facts["pages"] == pages[0][0]
    assert facts["noindex"] == 2
    assert facts["languages"]["en"] >= 15
    assert facts["hubs"][0]["url"] == SEED
    assert facts["robots"]["access"] == "rules"
    for path in ("/api/ulinks?site=none.test", "/api/sites/none.test"):
        assert site.get(path).status == 404
    assert site.get("/api/ulinks?site=").status == 400


def test_the_description_of_the_api_covers_every_route(site: Site, folder: Path) -> None:
    """Every path below /api, with types that are described, and a page for people."""
    described = site.get("/api/openapi.json").json
    app = make_app(Served((folder,), ServeSettings()))
    routes = {each.path for each in app.routes if isinstance(each, GuardedRoute) and each.path.startswith("/api/")}
    assert routes <= set(described["paths"])
    assert {"/api/search", "/api/ulinks", "/api/sites/{site}"} <= set(described["paths"])
    names = set(described["components"]["schemas"])
    assert all(reference.removeprefix("#/components/schemas/") in names for reference in _references(described))
    shown = site.get("/api").text
    assert all(path in shown for path in described["paths"])
    answer = described["components"]["schemas"]["Answer"]["properties"]
    assert set(site.get("/api/search", q="product").json) == set(answer)


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [each for part in value.values() for each in _references(part)]
    return [each for part in value for each in _references(part)] if isinstance(value, list) else []


def test_titles_from_pages_are_text(site: Site) -> None:
    """The page of the other site is found by a word of its title."""
    found = site.get("/api/search", q="marigold").json["results"][0]
    assert found["url"] == EVIL
    assert found["title"].startswith("<script>")


def test_useful_pages_of_the_site_that_was_looked_for(site: Site) -> None:
    """Below its home page, and only on the first page of results."""
    found = site.get("/api/search", q="shop").json
    assert found["results"][0]["url"] == SEED
    assert f"{SEED}about" in [link["url"] for link in found["sitelinks"]]
    assert 'class="sitelinks"' in site.get("/", q="shop").text
    assert site.get("/api/search", q="shop", n="1", page="2").json["sitelinks"] == []
    assert site.get("/api/search", q="product").json["sitelinks"] == []


def test_an_index_that_is_made_again_is_noticed(serving: Serving, folder: Path, tmp_path: Path) -> None:
    """Requests before, during and after a rebuild are answered."""
    place = shutil.copytree(folder, tmp_path / "again", ignore=shutil.ignore_patterns("insight"))
    site = serving(place)
    before = site.get("/api/search", q="product").json
    done = update_index(existing(place), rebuild=True)
    assert done.added > 15
    after = site.get("/api/search", q="product").json
    assert [one["url"] for one in after["results"]] == [one["url"] for one in before["results"]]
    shutil.rmtree(place / "search" / "g0001")
    assert site.get("/api/search", q="product").json["total"] == before["total"]


def test_many_readers_at_once(site: Site) -> None:
    """Searches, copies and facts of sites, which all open files of the collection."""
    paths = ["/?q=product", "/api/search?q=letter", f"/cached?url={SEED}about", "/api/sites/shop.test", "/suggest?q=p"]
    with ThreadPoolExecutor(16) as threads:
        replies = list(threads.map(site.get, paths * 16))
    assert {reply.status for reply in replies} == {200}


def test_where_a_result_is() -> None:
    """By the names that the page gives, or by its address."""
    assert trail("https://www.a.test/x%20y/z?q=1") == "a.test \u203a x y \u203a z?q=1"
    assert trail("https://www.a.test/x", ("Boats", "Sails")) == "a.test \u203a Boats \u203a Sails"
