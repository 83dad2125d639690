"""Private addresses in whole crawls: what a hostile site leads to is never reached, what the owner opened is.

One server listens on all of 127.0.0.0/8. A hostile site is at 127.0.0.2, which its fixed address opens for it, and the
place that must not be reached is at 127.0.0.3. Names without a fixed address are answered by `names`, in place of the
system's name servers.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
from rich.console import Console
from tests.lab.crawling import crawl, rows

from periplus.cli.crawl.running import run
from periplus.cli.crawl.summary import print_end
from periplus.collection.collection import held, planned
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.urls import canonical, site_of

HOSTILE, INSIDE = "127.0.0.2", "127.0.0.3"
HURRY: dict[str, object] = {
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "politeness.ip_delay": 0.0,
    "retries.max_attempts": 1,
    "retries.backoff": 0.02,
    "scope.kind": "any",
    "sitemaps.follow": True,
    "forest.follows_foreign": True,
}


class Request(NamedTuple):
    """A request as the server saw it: the address that it came in at, the Host field, the path."""

    address: str
    host: str
    path: str


class Web:
    """The server. `pages` are answers by path of the hostile site; everywhere else there is one page."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.pages: dict[str, tuple[int, str]] = {}
        self._server = ThreadingHTTPServer(("0.0.0.0", 0), self._handler())  # 127.0.0.2 and 127.0.0.3
        self.port = self._server.server_port
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def reached(self, address: str) -> set[tuple[str, str]]:
        """Hosts and paths that were asked for at an address."""
        return {(request.host, request.path) for request in self.requests if request.address == address}

    def answer(self, request: Request) -> tuple[int, str]:
        self.requests.append(request)
        if request.address == HOSTILE:
            return self.pages.get(request.path, (404, ""))
        return (404, "") if request.path == "/robots.txt" else (200, "<title>inside</title>")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                address, host = self.connection.getsockname()[0], self.headers["Host"]
                path = self.path.removeprefix(f"http://{host}")  # a proxy is asked for the whole URL
                status, body = web.answer(Request(address, host.partition(":")[0], path))
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", body)
                kind = "application/xml" if path.endswith(".xml") else "text/html"
                self.send_header("Content-Type", "text/plain" if path == "/robots.txt" else kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body.encode())

            do_HEAD = do_GET  # noqa: N815 - as the server calls it

            def log_message(self, *_: object) -> None: ...

        return Handler


@pytest.fixture
def web() -> Iterator[Web]:
    served = Web()
    yield served
    served.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The name servers of the world: a table that a test fills."""
    table: dict[str, str] = {}
    system = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(host, str) and host in table:
            return system(table[host], port, *args, **kwargs)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return table


def doors(port: int) -> list[str]:
    """Ways to write a URL that ends at a private address: a name, an address, a number, in IPv6, this machine."""
    return [
        f"http://inside.example:{port}",
        f"http://rebound.example:{port}",
        f"http://{INSIDE}:{port}",
        f"http://2130706435:{port}",
        f"http://[::ffff:7f00:3]:{port}",
        f"http://[64:ff9b::7f00:3]:{port}",
        f"http://[::1]:{port}",
        f"http://[fd00::1]:{port}",
        f"http://[fe80::1]:{port}",
        f"http://0.0.0.0:{port}",
        f"http://100.64.0.1:{port}",
        f"http://10.0.0.1:{port}",
        f"http://169.254.169.254:{port}",
        f"http://localhost:{port}",
        f"http://app.localhost:{port}",
        "http://localhost:9",
    ]


def hostile_pages(port: int) -> dict[str, tuple[int, str]]:
    """A site that tries every door by a link, a redirect, a Sitemap line, an index and the robots.txt of others."""
    all_doors = doors(port)
    redirects = {f"/go/{number}": (302, f"{door}/by-redirect") for number, door in enumerate(all_doors)}
    links = "".join(f'<a href="{door}/by-link">x</a>' for door in all_doors)
    links += "".join(f'<a href="{path}">x</a>' for path in redirects)
    sitemaps = "".join(f"Sitemap: {door}/by-robots.xml\n" for door in all_doors)
    children = "".join(f"<sitemap><loc>{door}/by-index.xml</loc></sitemap>" for door in all_doors)
    index = f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{children}</sitemapindex>'
    robots = f"User-agent: *\nSitemap: http://hostile.test:{port}/index.xml\n{sitemaps}"
    return {
        "/": (200, f"<title>hostile</title>{links}"),
        "/robots.txt": (200, robots),
        "/index.xml": (200, index),
        **redirects,
    }


def test_no_site_leads_into_a_private_network(web: Web, names: dict[str, str], tmp_path: Path) -> None:
    """Also where a seed has a name that leads there: its own pages are refused, and it opens nothing for others."""
    names |= {"inside.example": INSIDE, "rebound.example": INSIDE, "localhost": INSIDE, "app.localhost": INSIDE}
    web.pages = hostile_pages(web.port)
    seeds = [f"http://hostile.test:{web.port}/", f"http://inside.example:{web.port}/"]
    crawl(tmp_path, seeds, HURRY | {"dns.hosts": {"hostile.test": HOSTILE}})
    assert {address for address, _, _ in web.requests} == {HOSTILE}
    assert {host for _, host, _ in web.requests} == {"hostile.test"}
    asked = {path for _, path in web.reached(HOSTILE)}
    assert {"/", "/robots.txt", "/index.xml", "/go/0", f"/go/{len(doors(0)) - 1}"} <= asked
    refused = {row["site"] for row in rows(tmp_path, "select site from fetches where reason = 'private-address'")}
    state = DiskState.read_only(Layout(tmp_path).shard(0))
    retired = {site.site for site in state.sites if site.retired == "private-address"}
    state.close()
    expected = {site_of(url) for door in doors(web.port) if (url := canonical(f"{door}/")) is not None}
    assert expected <= refused | retired


def test_a_private_seed_is_open_to_itself_alone(web: Web, names: dict[str, str], tmp_path: Path) -> None:
    """An address that was typed as a seed is crawled; the hostile site still reaches none of its neighbours."""
    names |= {"inside.example": INSIDE, "rebound.example": INSIDE}
    web.pages = hostile_pages(web.port)
    seeds = [f"http://hostile.test:{web.port}/", f"http://{INSIDE}:{web.port}/"]
    crawl(tmp_path, seeds, HURRY | {"dns.hosts": {"hostile.test": HOSTILE}})
    assert {address for address, _, _ in web.requests} == {HOSTILE, INSIDE}
    assert {host for host, _ in web.reached(INSIDE)} == {INSIDE}
    assert (INSIDE, "/") in web.reached(INSIDE)


def test_allow_private_opens_the_host_that_it_names(web: Web, names: dict[str, str], tmp_path: Path) -> None:
    """The seed on an intranet is crawled by its name; another name at the same address is refused."""
    names |= {"inside.example": INSIDE, "rebound.example": INSIDE}
    web.pages = hostile_pages(web.port)
    seeds = [f"http://hostile.test:{web.port}/", f"http://inside.example:{web.port}/"]
    options = {"dns.hosts": {"hostile.test": HOSTILE}, "wire.allow_private": ["inside.example"]}
    crawl(tmp_path, seeds, HURRY | options)
    assert {host for host, _ in web.reached(INSIDE)} == {"inside.example"}
    assert {path for _, path in web.reached(INSIDE)} >= {"/", "/by-link", "/by-redirect"}


def test_behind_a_proxy(web: Web, names: dict[str, str], tmp_path: Path) -> None:
    """Names are the proxy's to look up. It is not asked for private addresses, nor for its own localhost."""
    web.pages = hostile_pages(web.port)
    crawl(tmp_path, [f"http://hostile.test:{web.port}/"], HURRY | {"wire.proxy": f"http://{HOSTILE}:{web.port}"})
    assert {"/", "/index.xml", "/go/0"} <= {path for _, path in web.reached(HOSTILE)}
    assert {host for _, host, _ in web.requests} == {"hostile.test", "inside.example", "rebound.example"}


@pytest.mark.parametrize("others", [(), ("hostile.test",)])
def test_the_reason_names_the_option(
    web: Web, names: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], others: tuple[str, ...]
) -> None:
    """A person whose seed is refused learns how to allow it, whether other seeds were crawled or not."""
    names["inside.example"] = INSIDE
    web.pages = {"/": (200, "<title>x</title>")}
    seeds = [f"http://{host}:{web.port}/" for host in ("inside.example", *others)]
    options = HURRY | {"dns.hosts": {"hostile.test": HOSTILE}, "crawl.workers": 1}
    collection = planned(tmp_path, typed=seeds, options=options)
    with held(tmp_path):
        collection.save()
        summary = run(collection, Console(stderr=True))
    assert summary.pages == len(others)
    print_end(summary, is_json=False)
    said = capsys.readouterr().out
    assert "private-address" in said
    assert "--allow-private HOST" in said


def test_a_robots_txt_that_leads_inside(web: Web, names: dict[str, str], tmp_path: Path) -> None:
    """The redirect of a robots.txt is fetched for one site from another: the address is checked for the other."""
    names["inside.example"] = INSIDE
    web.pages = {"/": (200, "<title>x</title>"), "/robots.txt": (302, f"http://inside.example:{web.port}/robots.txt")}
    seeds = [f"http://hostile.test:{web.port}/"]
    crawl(tmp_path, seeds, HURRY | {"dns.hosts": {"hostile.test": HOSTILE}})
    assert {address for address, _, _ in web.requests} == {HOSTILE}


def test_a_name_that_leads_inside_after_a_while(web: Web, names: dict[str, str], tmp_path: Path) -> None:
    """Rebinding: a crawl that is continued looks the name up again, and does not follow it."""
    web.pages = {"/": (200, '<title>x</title><a href="/more">more</a>'), "/more": (200, "<title>more</title>")}
    seeds = [f"http://hostile.test:{web.port}/"]
    crawl(tmp_path, seeds, HURRY | {"dns.hosts": {"hostile.test": HOSTILE}, "crawl.limit": 1, "dns.lifetime": 0.01})
    assert web.reached(HOSTILE)
    names["hostile.test"] = INSIDE
    state = DiskState(Layout(tmp_path).shard(0), shard=0)
    for site in list(state.sites):
        site.ip_expires_at = 0.0
        state.sites.put([site])
    state.commit()
    state.close()
    crawl(tmp_path, seeds, HURRY | {"dns.lifetime": 0.01})
    assert {address for address, _, _ in web.requests} == {HOSTILE}
