"""A small web crawled and indexed once, and servers on loopback that serve the collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.apps.serve.asking import PATIENCE, Site
from tests.apps.serve.manual import MANUAL, PLAIN, Embedded, change_settings, manual_web, plain_host
from tests.lab.chromium_page import Chromium, NoChromium
from tests.library.small_web import SEED, attentive, quick, shop

import periplus
from periplus.apps.search.indexing import open_index
from periplus.apps.search.static_index import write_static_index
from periplus.apps.serve import browse_settings, browse_state, browse_tables, live_feed
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.collection.collection import existing

EVIL = "http://evil.test/"
TITLE = "&lt;script&gt;document.title='owned'&lt;/script&gt; marigold"
TEXT = "&quot;&gt;&lt;img src=x onerror=document.title='owned'&gt; marigold &lt;/mark&gt;&lt;b&gt;bold&lt;/b&gt;"
LONG = "The lighthouse keeper wrote a long letter about the weather, the ships and the sea. " * 12


def _web() -> Any:
    """The shop, and a site whose texts try to be markup."""
    web = shop(14)
    web.said[SEED] = str(web.said[SEED]) + (
        "<a href='/big'>big</a><a href='/hidden'>hidden</a><a href='/secret'>secret</a><a href='/letter'>letter</a>"
        f"<a href='{EVIL}'>other</a>"
    )
    web.said[f"{SEED}hidden"] = "<title>Hidden</title><meta name=robots content=noindex><p>Unlisted parts."
    web.said[f"{SEED}secret"] = "<title>Private tulips</title><meta name=robots content=noarchive><p>Tulips and parts."
    web.said[f"{SEED}big"] = "<title>Big</title><meta name=robots content=noindex>" + "<!-- sixteen char -->" * 300_000
    web.said[f"{SEED}letter"] = f"<!doctype html><html lang=en><title>A letter</title><p>{LONG}</p>"
    web.said[EVIL] = (
        f"<!doctype html><html lang=en><title>{TITLE}</title><p>{TEXT}</p>"
        f"<script>document.title='owned'</script><meta http-equiv=refresh content='0;url={EVIL}gone'>"
        f"<img src='{EVIL}pixel.png'><form action='{EVIL}take' method=post><input name=a></form>"
        f"<a href='{EVIL}?a=%22%3E%3Cscript%3Ealert(1)%3C/script%3E'>more</a>"
    )
    web.said[f"{EVIL}?a=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"] = "<title>Query</title><p>Snapdragon in a query."
    web.said[f"{EVIL}robots.txt"] = "User-agent: *\nAllow: /\n"
    return web


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with an index."""
    home = tmp_path_factory.mktemp("web")
    with _web() as web:
        periplus.crawl([SEED, EVIL], out=home / "small", config=attentive(home), **quick(web)).run()
    done = periplus.open(home / "small").index()
    assert done.total > 15
    return home / "small"


Serving = Callable[..., Site]


@pytest.fixture
def serving(folder: Path) -> Iterator[Serving]:
    """Starts servers, each with settings of its own, on any free port; they stop with the test."""
    with ExitStack() as stack:

        def start(*folders: Path, **settings: Any) -> Site:
            served = Served(folders or (folder,), ServeSettings(port=0, **{"timeout": PATIENCE} | settings))
            url = stack.enter_context(running(served))
            return Site(f"http://127.0.0.1:{served.settings.port}/" if served.settings.public_url else url)

        yield start


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    """A server on loopback without a token."""
    with running(Served((folder,), ServeSettings(port=0, timeout=PATIENCE))) as url:
        yield Site(url)


@pytest.fixture(scope="module")
def manual_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual, crawled and indexed."""
    folder = tmp_path_factory.mktemp("manual") / "manual"
    with manual_web() as web:
        periplus.crawl([MANUAL], out=folder, **quick(web)).run()
    assert periplus.open(folder).index().total == 6
    return folder


@pytest.fixture(scope="module")
def static_site(manual_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of plain files with the index in /search/."""
    folder = tmp_path_factory.mktemp("site")
    with open_index(existing(manual_folder)) as index:
        write_static_index(index, folder / "search")
    (folder / "index.html").write_text(
        PLAIN.format(script='<script src="/search/search.js" data-index defer></script>')
    )
    return folder


@pytest.fixture(scope="module")
def manual_server(manual_folder: Path) -> Iterator[Site]:
    with running(Served((manual_folder,), ServeSettings(port=0, timeout=PATIENCE))) as url:
        yield Site(url)


@pytest.fixture(params=["server", "static"])
def embedded(
    request: pytest.FixtureRequest, manual_folder: Path, static_site: Path, manual_server: Site, tmp_path: Path
) -> Iterator[Embedded]:
    """The same page of another origin with each kind of search."""
    if request.param == "static":
        with plain_host(static_site) as (origin, sent):
            yield Embedded("static", f"{origin}/", sent)
        return
    (tmp_path / "index.html").write_text(
        PLAIN.format(script=f'<script src="{manual_server.url}search.js" defer></script>')
    )
    with plain_host(tmp_path) as (origin, sent):
        change_settings(manual_folder, serve__origins=(origin,))
        yield Embedded("server", f"{origin}/", sent)
        change_settings(manual_folder, serve__origins=())


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    try:
        opened = Chromium(tmp_path_factory.mktemp("chromium"))
    except NoChromium as error:
        pytest.skip(str(error))
    with opened:
        yield opened


@pytest.fixture(autouse=True, scope="session")
def patience() -> Iterator[None]:
    """Queries and reports of our own pages take longer on a busy machine than the server would wait for them.

    Live pages are sent what changed several times a second, so that a test waits less for it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(browse_tables, "MAX_SECONDS", PATIENCE)
        for module in (browse_settings, browse_state, browse_tables):
            patch.setattr(module, "_PATIENCE", PATIENCE)
        patch.setattr(live_feed, "_CLIENT_TIMEOUT", PATIENCE)
        patch.setattr(live_feed, "EVERY", 0.2)
        yield
