"""Sitemap pings, and reports of the owner's programs, to a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apps.serve.receivers.receiving import TOKEN, Reply, Running, collection, crawled, serving, waiting
from tests.lab.scripted_web import ScriptedWeb, page, urlset

from periplus.apps.serve.receivers import MessageKind, Result
from periplus.collection.collection import CollectionSetup

SITE, SITEMAP = "http://a.test/", "http://a.test/news.xml"
FOREIGN = "http://files.test/a.xml"


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    said: dict[str, str | bytes] = {
        SITE: page("a"),
        "http://a.test/robots.txt": f"User-agent: *\nAllow: /\nSitemap: {FOREIGN}\n",
        FOREIGN: urlset("http://a.test/"),
        SITEMAP: urlset("http://a.test/news"),
        "http://a.test/news": page("news"),
    }
    with ScriptedWeb(said) as scripted:
        yield scripted


@pytest.fixture
def made(tmp_path: Path, web: ScriptedWeb) -> CollectionSetup:
    return collection(tmp_path / "a", [SITE], web.settings)


def report(server: Running, urls: object, token: str = "", kind: str = "application/json") -> Reply:
    fields = {"Authorization": f"Bearer {token}"} if token else {}
    return server.ask("POST", "/api/changed", json.dumps(urls).encode(), Content_Type=kind, **fields)


def test_pinged_sitemap_is_read(made: CollectionSetup, web: ScriptedWeb) -> None:
    """Once an hour at most; and the crawl fetches what it lists."""
    with serving(made.folder) as server:
        assert server.get(f"/ping?sitemap={SITEMAP}").status == 200
        again = server.get(f"/ping?sitemap={SITEMAP}")
        assert again.status == 429
        assert 3500 < int(again.headers["retry-after"]) <= 3600
        assert server.get(f"/ping?sitemap={SITE}other.xml").status == 200
        assert waiting(made) == [SITEMAP, f"{SITE}other.xml"]
        counts = [server.count(MessageKind.SITEMAP_PING, each) for each in (Result.ACCEPTED, Result.LIMITED)]
        assert counts == [2, 1]
    crawled(made)
    assert {SITEMAP, "http://a.test/news"} <= set(web.asked)


def test_sitemaps_elsewhere(made: CollectionSetup, web: ScriptedWeb) -> None:
    """A file on another host is taken if a robots.txt names it, and only then."""
    crawled(made)
    with serving(made.folder) as server:
        assert server.get(f"/ping?sitemap={FOREIGN}").status == 200
        assert server.get("/ping?sitemap=http://files.test/other.xml").status == 422
        assert waiting(made) == [FOREIGN]


@pytest.mark.parametrize("query", ["", "?sitemap=", "?sitemap=nonsense", "?sitemap=file:///etc/passwd", "?sitemap=%ff"])
def test_invalid_pings(made: CollectionSetup, web: ScriptedWeb, query: str) -> None:
    """What is not a URL of the web is refused."""
    with serving(made.folder) as server:
        assert server.get(f"/ping{query}").status == 400
        assert server.count(MessageKind.SITEMAP_PING, Result.INVALID) == 1
    assert waiting(made) == []


def test_reports(made: CollectionSetup, web: ScriptedWeb) -> None:
    """URLs in scope are kept, once each; the answer counts the rest."""
    with serving(made.folder) as server:
        urls = [f"{SITE}news", f"{SITE}news#part", "http://other.test/", "nonsense", "", "mailto:a@b.test"]
        answer = report(server, urls)
        assert (answer.status, json.loads(answer.body)) == (200, {"accepted": 1, "out_of_scope": 1, "invalid": 3})
    assert waiting(made) == [f"{SITE}news"]
    crawled(made)
    assert "http://a.test/news" in web.asked


def test_reports_need_the_token(made: CollectionSetup) -> None:
    """A server with a token takes reports with it only."""
    with serving(made.folder, token=TOKEN, viewer_token="the token of the viewers") as server:
        assert report(server, [SITE]).status == 401
        assert report(server, [SITE], "wrong").status == 401
        assert report(server, [SITE], "the token of the viewers").status == 403
        assert waiting(made) == []
        assert report(server, [SITE], TOKEN).status == 200
        assert waiting(made) == [SITE]
        assert server.get(f"/ping?sitemap={SITEMAP}").status == 200  # others are open


def test_invalid_reports(made: CollectionSetup) -> None:
    """Not JSON, not a list, not declared as JSON (which a page of another site could send), too many."""
    with serving(made.folder) as server:
        assert report(server, {"urls": [SITE]}).status == 400
        assert report(server, [1]).status == 400
        assert server.ask("POST", "/api/changed", b"\xff", Content_Type="application/json").status == 400
        assert report(server, [SITE], kind="text/plain").status == 415
        assert report(server, [SITE] * 10_001).status == 413
    assert waiting(made) == []


def test_full_inbox(tmp_path: Path, web: ScriptedWeb) -> None:
    """A report that does not fit is refused for now, as a whole."""
    made = collection(tmp_path / "b", [SITE], web.settings | {"receivers.max_waiting": 2})
    with serving(made.folder) as server:
        assert report(server, [f"{SITE}{number}" for number in range(3)]).status == 429
        assert report(server, [f"{SITE}{number}" for number in range(2)]).status == 200
        assert server.get(f"/ping?sitemap={SITEMAP}").status == 429
    assert len(waiting(made)) == 2
