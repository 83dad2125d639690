"""Sites that try to be markup: titles, URLs, anchors, languages and robots.txt stay text on every page about them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apps.serve.asking import PATIENCE, Site
from tests.apps.serve.browsed import collect
from tests.lab.scripted_web import ScriptedWeb
from tests.markup import elements

from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings

HOME = "http://evil.test/"
SCRIPT = "<script>document.title='owned'</script>"
ESCAPED = SCRIPT.replace("<", "&lt;").replace(">", "&gt;")
TRICK = f"{HOME}page?a=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&b='onmouseover=x"
TOKEN = "a token of enough bytes"
WEB: dict[str, str | bytes] = {
    HOME: (
        f"<html lang='\"><img src=x>'><title>{ESCAPED} \" onload=x</title><h1>home</h1>"
        f'<a href="{TRICK.replace("&", "&amp;")}">&lt;b&gt;anchor&lt;/b&gt; {ESCAPED}</a>'
        "<a href='/secret'>secret</a><a href='javascript:alert(1)'>no</a><a href='/{{ 7 * 7 }}'>{{ 7 * 7 }}</a>"
        f"<form action='/take' method=post><input name='{ESCAPED}'></form><p>{'words and words ' * 40}"
    ),
    TRICK: f"<title>{{{{ 7 * 7 }}}} {ESCAPED}</title><p>{'other text of this page ' * 20}",
    f"{HOME}robots.txt": f"# {SCRIPT}</pre>\nUser-agent: *\nDisallow: /secret\n# \u202e{SCRIPT}\n",
}
PATHS = [
    "/collection",
    "/collection/sites",
    "/collection/sites/evil.test",
    "/collection/forms",
    "/collection/excluded",
    "/collection/excluded?reason=%3Cscript%3Ealert(1)%3C/script%3E",
    "/collection/sitemaps?q=%22%3E%3Cscript%3E",
    "/collection/sites?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    "/collection/tables/pages",
    "/collection/tables/links",
    "/collection/tables/discoveries?site=%27%3B--%3Cscript%3E",
    "/collection/tables/fetches",
    "/collection/sql?q=select+title%2C+url+from+pages",
    "/collection/sql?q=select+%27%3Cscript%3Ealert(1)%3C/script%3E%27+as+%22%3Cscript%3E%22",
    "/collection/sql?q=%3C/textarea%3E%3Cscript%3Ealert(1)%3C/script%3E",
    "/collection/url?url=http://evil.test/",
    "/collection/url?url=http://evil.test/%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    "/collection/url?url=javascript:alert(1)",
    "/collection/settings?only=all",
    "/collection/pages",
    "/collection/pages?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&columns=title,url,language",
    "/collection/pages?site=%3Cscript%3Ealert(1)%3C/script%3E",
]


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with ScriptedWeb(dict(WEB)) as web:
        return collect(tmp_path_factory.mktemp("evil") / "<b>evil", [HOME], web.settings | {"crawl.workers": 1})


@pytest.fixture(scope="module")
def server(evil: Path) -> Iterator[Site]:
    with running(Served((evil,), ServeSettings(port=0, timeout=PATIENCE))) as url:
        yield Site(url)


@pytest.mark.proof
@pytest.mark.parametrize("path", PATHS)
def test_nothing_of_a_page_becomes_markup(server: Site, path: str) -> None:
    page = server.get(path)
    assert page.status in (200, 404)
    assert not elements(page.text, "//script | //img | //iframe | //object | //base | //main//meta")
    assert not elements(page.text, "//main//b | //@*[starts-with(name(), 'on')] | //@style")
    assert not [each for each in elements(page.text, "//@href") if each.lower().startswith(("javascript:", "data:"))]
    assert "49" not in [each.text_content().strip() for each in elements(page.text, "//td | //dd | //h1")]
    for link in elements(page.text, "//a[starts-with(@href, 'http')]"):
        assert link.get("rel") == "noopener nofollow noreferrer"
    assert "'unsafe-inline'" not in page.headers["content-security-policy"]


def test_hostile_texts_are_shown_as_text(server: Site) -> None:
    """What is escaped is still there to be read."""
    robots = elements(server.get("/collection/sites/evil.test").text, "//pre")[-1].text_content()
    assert f"# {SCRIPT}</pre>\nUser-agent: *" in robots
    assert f"# \ufffd{SCRIPT}" in robots  # a mark that changes the direction of text
    titles = {row["title"] for row in server.get("/api/collection/tables/pages", table="rows").json}
    assert f'{SCRIPT} " onload=x' in titles
    shown = [each.text_content() for each in elements(server.get("/collection/tables/pages").text, "//td")]
    assert f'{SCRIPT} " onload=x' in shown
    page = server.get("/collection/url", url=TRICK)
    assert page.status == 200
    assert elements(page.text, "//h1")[0].text_content() == TRICK.replace("'", "%27")
    assert elements(page.text, "//input[@name='url']/@value") == [TRICK]


def test_quotation_marks_do_not_end_our_sql(server: Site) -> None:
    tables = server.get("/api/collection/url", url="http://evil.test/' or 1=1 --").json["tables"]
    assert all(not each["problem"] for each in tables)
    assert all(not each["rows"] for each in tables)


@pytest.mark.proof
def test_report_has_a_policy_of_its_own(server: Site) -> None:
    page = server.get("/collection/report.html")
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    own = elements(page.text, '//meta[@http-equiv="Content-Security-Policy"]/@content')[0]
    assert policy.startswith(own)
    assert "unsafe-inline" not in server.get("/collection").headers["content-security-policy"]


def test_viewers_only(evil: Path) -> None:
    """Without the token nothing about a collection is seen, also where search is public."""
    settings = ServeSettings(port=0, timeout=PATIENCE, token=TOKEN, public_search=True)
    with running(Served((evil,), settings)) as url:
        site = Site(url)
        for path in ("/collection", "/collection/sql?q=select+1", "/collection/report.html", "/collection/sites"):
            assert site.get(path).status == 303
            assert site.get(f"/api{path}").status in (401, 404)
            if "report" not in path:  # made in the test before
                assert site.get(path, {"Authorization": f"Bearer {TOKEN}"}).status == 200


@pytest.mark.proof
def test_several_collections_keep_apart(evil: Path, tmp_path: Path) -> None:
    """Links of a page stay in its collection."""
    with ScriptedWeb({"http://good.test/": "<title>good</title><p>good words of a good page"}) as web:
        good = collect(tmp_path / "good", ["http://good.test/"], web.settings | {"crawl.workers": 1})
    with running(Served((evil, good), ServeSettings(port=0, timeout=PATIENCE))) as url:
        site = Site(url)
        page = site.get("/collection", collection="good")
        assert "good.test" in page.text
        assert "evil.test" not in page.text
        links = [each for each in elements(page.text, "//main//a/@href") if each.startswith("/collection/")]
        assert links
        assert all(re.search(r"[?&]collection=good(&|$)", each) for each in links)
        assert site.get("/collection/sites/good.test").status == 404
        assert site.get("/collection/sites/good.test", collection="good").status == 200
