"""Sites that publish their files oddly: twins, redirects, apologies, lists that come and go. Nothing is lost by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.crawling import crawl, make_files_due, rows
from tests.lab.scripted_web import MovedTo, ScriptedWeb, page, sitemap_index, urlset

from periplus.engine.sitemaps.store import SitemapStore
from periplus.engine.sitemaps.trees import SitemapNode
from periplus.model import Site
from periplus.store import DiskState
from periplus.store.layout import Layout

HOME = "http://a.test/"
X = "http://a.test/x"


def site(**said: str | bytes) -> dict[str, str | bytes]:
    """A site with a home page, a page that only a file lists, and whatever else."""
    return {HOME: page("home"), X: page("x")} | {
        f"{HOME}{name.replace('__', '.').replace('_', '/')}": what for name, what in said.items()
    }


def nodes(folder: Path) -> dict[str, SitemapNode]:
    state = DiskState.read_only(Layout(folder).shard(0))
    found: dict[str, SitemapNode] = {node.url: node for node in SitemapStore(state).of_site(Site("a.test"))}
    state.close()
    return found


TWINS = {
    "only the packed twin of a usual place is there": {f"{HOME}sitemap.xml.gz": urlset(X)},
    "a usual place leads to its packed twin": {
        f"{HOME}sitemap.xml": MovedTo("/sitemap.xml.gz"),
        f"{HOME}sitemap.xml.gz": urlset(X),
    },
    "an index names the twin of what was not found": {
        f"{HOME}sitemap_index.xml": sitemap_index(f"{HOME}sitemap.xml.gz"),
        f"{HOME}sitemap.xml.gz": urlset(X),
    },
    "an apology where a sitemap should be": {
        f"{HOME}sitemap.xml": page("we are sorry"),
        f"{HOME}sitemap_index.xml": urlset(X),
    },
}


@pytest.mark.parametrize("said", TWINS.values(), ids=TWINS.keys())
def test_the_file_is_found(tmp_path: Path, said: dict[str, str | bytes]) -> None:
    """By whichever name, and what it lists is fetched."""
    with ScriptedWeb(site() | said) as web:
        crawl(tmp_path, [HOME], web.settings)
    assert web.asked.count(X) == 1


def test_a_guess_that_leads_to_a_page_takes_nothing_from_it(tmp_path: Path) -> None:
    """Every unknown path leads to the home page: that is a page, whatever it was also taken for."""
    web_says = site(deep=page("deep", "/home"), home=page("front", "/y"), y=page("y"))
    web_says[f"{HOME}sitemap.xml"] = MovedTo("/home")
    with ScriptedWeb(web_says) as web:
        crawl(tmp_path, [f"{HOME}deep"], web.settings)
    pages = {row["url"] for row in rows(tmp_path, "select url from pages")}
    assert pages == {f"{HOME}deep", f"{HOME}home", f"{HOME}y"}
    told = rows(tmp_path, "select source from discoveries where url = 'http://a.test/home'")
    assert [row["source"] for row in told] == ["link"]


@pytest.mark.parametrize("ordering", ["breadth_first", "opic"])
def test_what_is_a_page_may_be_a_file_as_well(tmp_path: Path, ordering: str) -> None:
    """Fetched as both, and each knows only its own answers."""
    said = site(list__txt=X, robots__txt=f"Sitemap: {HOME}index.xml\n", index__xml=sitemap_index(f"{HOME}list.txt"))
    said[HOME] = page("home", "/list.txt")
    with ScriptedWeb(said) as web:
        crawl(tmp_path, [HOME], web.settings | {"crawl.ordering": ordering})
    assert web.asked.count(f"{HOME}list.txt") == 2
    assert web.asked.count(X) == 1
    assert nodes(tmp_path)[f"{HOME}list.txt"].entries == 1


def test_sitemaps_can_be_switched_on_later(tmp_path: Path) -> None:
    """A file that was a page until then is read."""
    said = site(robots__txt=f"Sitemap: {HOME}list.txt\n", list__txt=X)
    said[HOME] = page("home", "/list.txt")
    with ScriptedWeb(said) as web:
        crawl(tmp_path, [HOME], web.settings | {"sitemaps.follow": False})
        assert X not in web.asked
        state = DiskState(Layout(tmp_path).shard(0))
        [known] = state.sites.get([Site("a.test")])
        assert known is not None
        known.robots_expire_at = 0.0
        state.sites.put([known])
        state.commit()
        state.close()
        said[f"{HOME}new"] = page("new")
        crawl(tmp_path, [HOME, f"{HOME}new"], web.settings)
    assert web.asked.count(X) == 1


def test_a_file_that_is_listed_again_is_read_again(tmp_path: Path) -> None:
    """Its index had forgotten it once."""
    a, b = f"{HOME}a.xml", f"{HOME}b.xml"
    said = site(robots__txt=f"Sitemap: {HOME}i.xml\n", i__xml=sitemap_index(a, b), a__xml=urlset(X), b__xml=urlset())
    with ScriptedWeb(said) as web:
        crawl(tmp_path, [HOME], web.settings)
        said[f"{HOME}i.xml"] = sitemap_index(a)
        make_files_due(tmp_path)
        crawl(tmp_path, [HOME], web.settings)
        assert nodes(tmp_path)[b].retired == "unlisted"
        said |= {f"{HOME}i.xml": sitemap_index(a, b), b: urlset(f"{HOME}late"), f"{HOME}late": page("late")}
        make_files_due(tmp_path)
        crawl(tmp_path, [HOME], web.settings)
    assert f"{HOME}late" in web.asked
    assert not nodes(tmp_path)[b].retired


@pytest.mark.proof
def test_what_is_refused_does_not_hold_up_what_is_not(tmp_path: Path) -> None:
    """The first five hundred of a list are forbidden, and another site has much to do."""
    forbidden = [f"{HOME}private/{number}" for number in range(500)]
    allowed = [f"{HOME}open/{number}" for number in range(5)]
    said = site(robots__txt=f"User-agent: *\nDisallow: /private\nSitemap: {HOME}s.xml\n")
    said[f"{HOME}s.xml"] = urlset(*forbidden, *allowed)
    said |= {url: page(url) for url in allowed}
    other = [f"http://b.test/{number}" for number in range(300)]
    said |= {url: page(url) for url in other}
    with ScriptedWeb(said) as web:
        crawl(tmp_path, [HOME, *other], web.settings)
    last = max(web.asked.index(url) for url in allowed)
    assert sum(url.startswith("http://b.test/") for url in web.asked[:last]) < 150


def test_feeds_that_pages_name_are_read(tmp_path: Path) -> None:
    """Those of the page's own host, and not too many of them."""
    feed = '<?xml version="1.0"?><rss version="2.0"><channel><item><link>http://a.test/x</link></item></channel></rss>'
    link = '<link rel="alternate" type="application/rss+xml" href="{}">'
    said = site(feed__xml=feed, robots__txt="")
    heads = "".join(link.format(f"/comments/{number}.xml") for number in range(30))
    said[HOME] = link.format("/feed.xml") + link.format("http://b.test/feed.xml") + heads + page("home")
    with ScriptedWeb(said) as web:
        crawl(tmp_path, [HOME], web.settings)
    assert web.asked.count(X) == 1
    assert "http://b.test/feed.xml" not in web.asked
    assert sum("/comments/" in url for url in web.asked) < 10
    [row] = rows(tmp_path, "select source from discoveries where url = 'http://a.test/x'")
    assert row["source"] == "feed"


def test_the_first_time_of_a_source_is_the_earliest(tmp_path: Path) -> None:
    """However late the list is queued that was read first."""
    low = f"<urlset><url><loc>{X}</loc><priority>0.1</priority></url></urlset>"
    high = f"<urlset><url><loc>{X}</loc><priority>0.9</priority></url></urlset>"
    others = [f"<url><loc>{HOME}o/{number}</loc><priority>{number % 10 / 10}</priority></url>" for number in range(60)]
    padding = "".join(others)
    said = site(robots__txt=f"Sitemap: {HOME}a.xml\nSitemap: {HOME}b.xml\n")
    said[f"{HOME}a.xml"] = '<?xml version="1.0"?>' + low.replace("<urlset>", f"<urlset>{padding}")
    said[f"{HOME}b.xml"] = '<?xml version="1.0"?>' + high.replace("<urlset>", f"<urlset>{padding}")
    with ScriptedWeb(said) as web:
        crawl(tmp_path, [HOME], web.settings)
    [listed] = rows(tmp_path, f"select epoch(min(read_at)) t from sitemap_entries where url = '{X}'")
    [found] = rows(tmp_path, f"select epoch(min(found_at)) t from discoveries where url = '{X}' and source = 'sitemap'")
    assert found["t"] == listed["t"]
