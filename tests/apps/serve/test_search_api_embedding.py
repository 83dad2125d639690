"""The search box on pages of other origins, in a real browser: by a server, and by an index of plain files."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.apps.serve.asking import PATIENCE, Site
from tests.apps.serve.manual import (
    HOST,
    MANUAL,
    PLAIN,
    Embedded,
    change_settings,
    plain_host,
    press,
    search,
    titles,
    type_text,
    until,
)
from tests.lab.chromium_page import Chromium

import periplus
from periplus.apps.search.widget import SCRIPTS, write_widget
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.cli.app import app

MAX_QUERY = 100_000


@pytest.fixture(autouse=True)
def _nothing_is_wrong(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "browser" in request.fixturenames:
        browser = request.getfixturevalue("browser")
        complaints, browser.complaints[:] = list(browser.complaints), []
        assert [each for each in complaints if "favicon" not in each and "404 (File not found)" not in each] == []


# origins


def test_only_origins_of_the_settings_read_results(manual_folder: Path, manual_server: Site) -> None:
    """Search and suggestions alone, in both methods; every answer of theirs varies with the origin."""
    asked = {"Origin": "https://docs.example.org", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    preflight = asked | {"Access-Control-Request-Method": "GET"}
    paths = ("/api/search?q=lock", "/suggest?q=wo")
    for path in paths:
        reply = manual_server.ask("GET", path, asked)
        assert (reply.status, reply.headers["vary"]) == (403, "Origin")
        assert "access-control-allow-origin" not in reply.headers
        assert manual_server.ask("OPTIONS", path, preflight).status == 403
    change_settings(manual_folder, serve__origins=("https://docs.example.org",))
    for path in paths:
        reply = manual_server.ask("GET", path, asked)
        assert reply.status == 200
        assert reply.headers["access-control-allow-origin"] == asked["Origin"]
        assert reply.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in reply.headers
        assert manual_server.ask("GET", path, {}).headers["vary"] == "Origin"
        allowed = manual_server.ask("OPTIONS", path, preflight)
        assert (allowed.status, allowed.headers["access-control-allow-methods"]) == (204, "GET")
        assert manual_server.ask("POST", path, asked, b"").status == 405
        for other in ("https://docs.example.org:8443", "http://docs.example.org", "https://evil.example", "null"):
            assert manual_server.ask("GET", path, asked | {"Origin": other}).status == 403
    for path in (
        "/",
        "/api/collection",
        "/api",
        "/cached?url=x",
        "/opensearch.xml",
        "/static/style.css",
        "/live/events",
    ):
        reply = manual_server.ask("GET", path, asked)
        assert reply.status == 403
        assert "access-control-allow-origin" not in reply.headers
    change_settings(manual_folder, serve__origins=("*",))
    assert manual_server.ask("GET", paths[0], asked | {"Origin": "https://any.example"}).status == 200
    change_settings(manual_folder, serve__origins=())


def test_another_site_is_a_stranger(manual_folder: Path) -> None:
    """It sees what everyone may see: without a token no parts of scores, with one only if search is public."""
    change_settings(manual_folder, serve__origins=("*",))
    asked = {"Origin": "https://docs.example.org"}
    for settings, status in (({}, 200), ({"token": "t" * 20}, 401), ({"token": "t" * 20, "public_search": True}, 200)):
        with running(Served((manual_folder,), ServeSettings(port=0, timeout=PATIENCE, **settings))) as url:
            assert Site(url).ask("GET", "/api/search?q=lock", asked).status == status
            assert Site(url).ask("GET", "/api/search?q=lock&explain=1", asked).status in (401, 403)
    change_settings(manual_folder, serve__origins=())


def test_the_script_is_for_sites_that_may_search(manual_folder: Path, manual_server: Site) -> None:
    """A page of another site loads it only where one may search; our own may always."""
    loaded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
    assert manual_server.ask("GET", "/search.js", {}).headers["content-type"].startswith("text/javascript")
    assert manual_server.ask("GET", "/search.js", loaded).status == 403
    change_settings(manual_folder, serve__origins=("https://docs.example.org",))
    reply = manual_server.ask("GET", "/search.js", loaded)
    assert (reply.status, reply.headers["cross-origin-resource-policy"]) == (200, "cross-origin")
    assert reply.text == SCRIPTS["/search.js"].read_text()
    change_settings(manual_folder, serve__origins=())


# the box


@pytest.mark.proof
def test_keys_lead_from_the_box_to_a_page(browser: Chromium, embedded: Embedded) -> None:
    """A key opens it, arrows choose, Enter goes there; the first result is chosen already."""
    browser.visit(embedded.url, 1000)
    until(browser, "Boolean(document.querySelector('.periplus-search'))")
    search(browser, "lru_cache")
    assert titles(browser)[0] == "Caching results"
    assert browser.run(f"{HOST}.activeElement.getAttribute('aria-activedescendant')") == "option-0"
    assert browser.run(f"{HOST}.activeElement.getAttribute('aria-expanded')") == "true"
    chosen = f"{HOST}.querySelector('[aria-selected=true]').id"
    number = int(browser.run(f"{HOST}.querySelectorAll('[role=option]').length"))
    press(browser, "ArrowUp")
    assert browser.run(chosen) == f"option-{number - 1}"
    press(browser, "ArrowDown")
    assert browser.run(chosen) == "option-0"
    browser.run(f"{HOST}.addEventListener('click', (event) => {{ event.preventDefault();"
                " window.went = event.target.closest('a').href })")  # fmt: skip
    press(browser, "Enter")
    assert browser.run("window.went").startswith(f"{MANUAL}caching.html")
    assert not browser.run(f"{HOST}.querySelector('dialog').open")


def test_the_focus_stays_inside_and_returns(browser: Chromium, embedded: Embedded) -> None:
    """Tab goes around in the overlay; Escape closes it, and the focus is where it was. A typed slash is a slash."""
    browser.visit(embedded.url, 1000)
    until(browser, "Boolean(document.querySelector('.periplus-search'))")
    browser.run(f"{HOST}.querySelector('.open').focus()")
    press(browser, "k", 2)
    assert browser.run(f"{HOST}.activeElement.tagName") == "INPUT"
    for _ in range(6):
        press(browser, "Tab")
        assert browser.run(
            f"{HOST}.activeElement === null || {HOST}.querySelector('dialog').contains({HOST}.activeElement)"
        )
        assert browser.run("document.activeElement.id") != "name"
    press(browser, "Escape")
    assert not browser.run(f"{HOST}.querySelector('dialog').open")
    assert browser.run(f"{HOST}.activeElement.className") == "open"
    browser.run("document.getElementById('name').focus()")
    press(browser, "/")
    assert not browser.run(f"{HOST}.querySelector('dialog').open")
    assert browser.run("document.getElementById('name').value") == "/"


@pytest.mark.proof
def test_what_is_typed_is_asked_once(browser: Chromium, embedded: Embedded) -> None:
    """Letters in quick succession make one request, and an answer that is late is not shown."""
    browser.visit(embedded.url, 1000)
    until(browser, "Boolean(document.querySelector('.periplus-search'))")
    press(browser, "/")
    browser.requests.clear()
    for letter in "locks":
        type_text(browser, letter)
    until(browser, f"{HOST}.querySelector('.status').textContent")
    assert titles(browser)[0] == "Threads and locks"
    asked = [each for each in browser.requests if "/api/search" in each]
    assert len(asked) == (1 if embedded.kind == "server" else 0)
    browser.run(f"{HOST}.querySelector('input').select()")
    type_text(browser, "caching")
    time.sleep(0.16)
    browser.run(f"{HOST}.querySelector('input').select()")
    type_text(browser, "installing")
    until(browser, f"[...{HOST}.querySelectorAll('.page .title')].some(each => each.textContent === 'Installing')")
    time.sleep(0.5)
    assert titles(browser)[0] == "Installing"


@pytest.mark.proof
def test_typos_and_nothing(browser: Chromium, embedded: Embedded) -> None:
    """The status says for what results are shown, or that there are none; it is read aloud."""
    browser.visit(embedded.url, 1000)
    until(browser, "Boolean(document.querySelector('.periplus-search'))")
    status = f"{HOST}.querySelector('[role=status]').textContent"
    search(browser, "xyzzyplugh")
    assert browser.run(status) == "Nothing found for “xyzzyplugh”."
    assert browser.run(f"{HOST}.querySelector('.list').hidden")
    search(browser, "thraeds")
    assert "Showing results for “threads”" in browser.run(status)
    assert titles(browser)[0] == "Threads and locks"


def test_markup_of_pages_is_text(browser: Chromium, embedded: Embedded) -> None:
    """Titles, headings and snippets."""
    browser.visit(embedded.url, 1000)
    until(browser, "Boolean(document.querySelector('.periplus-search'))")
    search(browser, "snapdragon")
    assert titles(browser)[0] == "Markup <b>"
    assert browser.run(f"{HOST}.querySelectorAll('b, img').length") == 0
    assert "snapdragon" in browser.run(f"{HOST}.querySelector('mark').textContent")


def test_sections_lead_to_their_place(browser: Chromium, embedded: Embedded) -> None:
    """A name leads to the fragment where it is described."""
    browser.visit(embedded.url, 1000)
    until(browser, "Boolean(document.querySelector('.periplus-search'))")
    search(browser, "os.path.join")
    links = browser.run(f"[...{HOST}.querySelectorAll('.section')].map(each => each.href)")
    assert links[0] == f"{MANUAL}paths.html#os.path.join"


# files


def test_a_query_on_files_loads_little(static_site: Path, browser: Chromium) -> None:
    """With the scripts and all."""
    with plain_host(static_site) as (origin, sent):
        browser("Network.setCacheDisabled", cacheDisabled=True)
        browser.visit(f"{origin}/", 1000)
        search(browser, "cached function results")
        assert titles(browser)[0] == "Caching results"
        assert 0 < sum(size for _, size in sent) < MAX_QUERY


def test_the_beginning_of_a_word_is_enough(static_site: Path, browser: Chromium) -> None:
    """While it is typed."""
    with plain_host(static_site) as (origin, _):
        browser.visit(f"{origin}/", 1000)
        search(browser, "intelligen")
        assert titles(browser)[0] == "Working with paths"


# the examples of the docs

_GUIDE = (Path(__file__).parents[3] / "docs" / "embedding.md").read_text()
_SPHINX = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8" /><title>The manual</title>{script}</head><body>'
    '<div class="document"><div class="body" role="main"><h1>The manual</h1></div>'
    '<div class="sphinxsidebar" role="navigation"><div class="sphinxsidebarwrapper"></div></div></div>'
)
_MKDOCS = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Manual</title></head><body class="homepage">'
    '<div class="navbar fixed-top"><div class="container"><div id="navbar-collapse" class="navbar-collapse collapse">'
    '</div></div></div><div class="container"><div role="main"><h1>Manual</h1></div></div>{script}</body></html>'
)


def examples(title: str, language: str) -> list[str]:
    """The blocks of code of a part of the docs."""
    part = _GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", part, re.DOTALL)


def sphinx_page(config: str) -> str:
    """A page as Sphinx writes it with these settings."""
    found: dict[str, Any] = {}
    exec(config, found)
    ((path, attributes),) = found["html_js_files"]
    words = " ".join(f'{name}="{value}"' for name, value in sorted((attributes | {"src": path}).items()))
    return _SPHINX.format(script=f"<script {words}></script>")


def mkdocs_page(block: str) -> str:
    """A page as MkDocs writes it with this script in its template."""
    (script,) = re.findall(r"<script .*</script>", block)
    return _MKDOCS.format(script=script)


EXAMPLES = {
    "sphinx": lambda: sphinx_page(examples("Sphinx", "python")[0]),
    "sphinx static": lambda: sphinx_page(examples("Sphinx", "python")[1]),
    "mkdocs": lambda: mkdocs_page(examples("MkDocs", "html")[0]),
    "mkdocs static": lambda: mkdocs_page(re.findall(r"`(<script [^`]*data-index[^`]*)`", _GUIDE)[-1]),
    "plain": lambda: PLAIN.format(script=examples("Plain HTML", "html")[0]),
    "plain static": lambda: PLAIN.format(script=examples("Without a server", "html")[0]),
}


@pytest.mark.proof
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_docs(
    name: str, manual_folder: Path, static_site: Path, manual_server: Site, tmp_path: Path, browser: Chromium
) -> None:
    """Each makes a box on a page as its tool writes it, which finds a page."""
    made = EXAMPLES[name]()
    assert ("data-index" in made) == ("static" in name)
    (tmp_path / "index.html").write_text(made.replace("https://search.example.org/", manual_server.url))
    folder = "search-index" if name == "mkdocs static" else "search"
    shutil.copytree(static_site / "search", tmp_path / folder)
    with plain_host(tmp_path) as (origin, _):
        change_settings(manual_folder, serve__origins=(origin,))
        browser.visit(f"{origin}/", 1000)
        until(browser, "Boolean(document.querySelector('.periplus-search'))")
        search(browser, "lru_cache")
        assert titles(browser)[0] == "Caching results"
        parent = browser.run("document.querySelector('.periplus-search').parentElement.outerHTML.slice(0, 80)")
        place = {"sphinx": "sphinxsidebarwrapper", "mkdocs": "navbar-collapse", "plain": "<"}[name.split()[0]]
        assert place in parent
        change_settings(manual_folder, serve__origins=())


# commands


def test_commands_write_the_box_and_the_files(manual_folder: Path, tmp_path: Path) -> None:
    """`search export-widget` and `index --static`."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, words, prog_name="periplus")

    assert sorted(path.name for path in write_widget(tmp_path / "w")) == ["search.js", "static.js"]
    copied = shutil.copytree(manual_folder, tmp_path / "copy")
    done = run("index", str(copied), "--static", str(tmp_path / "files"))
    assert done.exit_code == 0
    assert 'src="/files/search.js" data-index' in done.output
    assert (tmp_path / "files" / "index.json").is_file()
    done = run("search", "export-widget", str(tmp_path / "box"))
    assert done.exit_code == 0
    assert (tmp_path / "box" / "search.js").read_bytes() == SCRIPTS["/search.js"].read_bytes()
    refused = run("index", str(copied), "--static", str(tmp_path / "files"), "--follow")
    assert isinstance(refused.exception, periplus.UsageError)
