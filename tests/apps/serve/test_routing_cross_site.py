"""Requests that pages of other sites cause: every route, with what a browser sends in each case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.routing import Mount
from tests.apps.serve.asking import PATIENCE, Reply, Site

from periplus.apps.serve.app import make_app
from periplus.apps.serve.routing import Audience, GuardedRoute, route
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.bridges.agents.rest import AgentRoutes
from periplus.model import InvariantError

PAGES = {
    "/", "/login", "/cached", "/api", "/live", "/live/queue", "/live/urls", "/collection", "/collection/sites",
    "/collection/sites/{site}", "/collection/url", "/collection/sitemaps", "/collection/freshness", "/collection/forms",
    "/collection/pages", "/collection/queries",
    "/collection/excluded", "/collection/runs", "/collection/settings", "/collection/report", "/collection/report.html",
    "/collection/tables", "/collection/tables/{name}", "/collection/sql",
}  # fmt: skip
"""What people read in a browser, and may have a link to."""
FETCHING = {("/api/read", "POST"), ("/api/map", "POST"), ("/api/crawl", "POST"), ("/mcp", "POST")}
"""What sends requests to other servers."""
EVIL = "http://evil.example"
SUBRESOURCE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
FRAME = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
OTHER_PORT = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
JSON = {"Content-Type": "application/json"}


class Asked(NamedTuple):
    path: str
    method: str
    route: GuardedRoute | None

    @property
    def target(self) -> str:
        """A path that the route takes."""
        return self.path.replace("{site}", "shop.test").replace("{name}", "pages").replace("{url:path}", "x")


def all_routes(served: Served) -> list[Asked]:
    """Every route with each of its methods; and a path of the files, which all are in one."""
    found = []
    for each in make_app(served).routes:
        if isinstance(each, Mount):
            found.append(Asked("/static/style.css", "GET", None))
            continue
        assert isinstance(each, GuardedRoute), each  # whatever is added must say who may cause it
        found += [Asked(each.path, method, each) for method in sorted(each.methods or ()) if method != "HEAD"]
    return found


@pytest.fixture(scope="module")
def served(folder: Path) -> Served:
    return Served((folder,), ServeSettings(port=0, timeout=PATIENCE, receive=True), [AgentRoutes(allows_sql=True)])


@pytest.fixture(scope="module")
def server(served: Served) -> Iterator[Site]:
    with running(served) as url:
        yield Site(url)


def ask(server: Site, asked: Asked, headers: dict[str, str]) -> Reply:
    body = b"{}" if asked.method == "POST" else None
    return server.ask(asked.method, asked.target, (JSON if body else {}) | headers, body)


def test_routes_are_what_they_say(served: Served) -> None:
    """Which are pages and which fetch is written down here a second time: a new route must be added knowingly."""
    found = [each for each in all_routes(served) if each.route is not None]
    assert {each.path for each in found if each.route and each.route.guarded.is_page} == PAGES
    assert {(each.path, each.method) for each in found if each.route and each.route.guarded.fetches} == FETCHING


@pytest.mark.parametrize("methods", [("GET",), ("POST", "GET"), ("HEAD",)])
def test_what_fetches_cannot_be_for_get(methods: tuple[str, ...]) -> None:
    with pytest.raises(InvariantError, match="must be for POST"):
        route("/x", lambda request: None, audience=Audience.OPERATOR, methods=methods, fetches=True)  # type: ignore[arg-type,return-value]


@pytest.mark.proof
@pytest.mark.parametrize(
    "headers", [{"Origin": EVIL}, SUBRESOURCE, FRAME, OTHER_PORT, LINK | {"Origin": EVIL}, {"Origin": "null"}]
)
def test_pages_of_other_sites_cause_nothing(server: Site, served: Served, headers: dict[str, str]) -> None:
    """Neither scripts, images, frames nor forms of theirs, at any route."""
    for asked in all_routes(served):
        if asked.method != "GET" and headers == {"Origin": "null"}:
            continue  # a form of ours sends that, too: the next test
        reply = ask(server, asked, headers)
        assert reply.status == 403, (asked, reply)
        assert "another site" in reply.text
    assert server.ask("GET", "/nowhere", headers).status == 403
    assert server.ask("OPTIONS", "/api/crawl", headers | {"Access-Control-Request-Method": "POST"}).status == 403


def test_a_form_without_an_origin_must_be_ours(server: Site, served: Served) -> None:
    """By its field. Receivers take messages of programs, and check them in their own ways."""
    form = {"Origin": "null", "Content-Type": "application/x-www-form-urlencoded"}
    for asked in all_routes(served):
        if asked.method == "POST" and asked.path not in ("/indexnow", "/websub/{token}", "/api/changed"):
            assert server.ask("POST", asked.target, form, b"a=b").status == 403, asked
            assert server.ask("POST", asked.target, form | JSON, b"{}").status == 403, asked


@pytest.mark.proof
def test_links_of_other_sites_lead_to_pages(server: Site, served: Served) -> None:
    """And to nothing else."""
    for asked in all_routes(served):
        reply = ask(server, asked, LINK)
        assert (reply.status != 403) == (asked.path in PAGES and asked.method == "GET"), (asked, reply)


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_pages_and_what_people_type(server: Site, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
    assert server.ask("GET", "/api/collection/sites", headers).status == 200
    assert server.ask("GET", "/static/style.css", headers).status == 200
    own = headers | {"Origin": server.origin, "Content-Type": "application/json"}
    assert server.ask("POST", "/api/map", own, b"{}").status == 400


def test_programs_need_no_origin(server: Site) -> None:
    """Nor a token where the server needs none; but a form may be sent by any page in an old browser."""
    reply = server.ask("POST", "/api/map", JSON, b'{"site": "http://127.0.0.1/"}')
    assert (reply.status, reply.json["reason"]) == (400, "private-address")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert server.ask("POST", "/api/map", {"Content-Type": kind}, b'{"site": "x"}').status == 403


def test_fetching_needs_post(server: Site) -> None:
    assert server.ask("GET", "/api/map?site=http://shop.test", {}).status == 405
    assert server.ask("GET", "/api/crawl?seeds=http://shop.test", {}).status == 405
    reply = server.ask("GET", "/api/read?url=http://shop.test/&fresh=true", {})
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert "fresh needs POST" in reply.json["error"]
    assert server.ask("GET", "/api/read?url=http://shop.test/", {}).status == 200
    assert server.ask("POST", "/api/read", JSON, b'{"url": "http://shop.test/"}').status == 200
    paths = server.ask("GET", "/api/openapi.json", {}).json["paths"]
    assert paths["/api/map"].keys() == {"post"}
    assert paths["/api/read"].keys() == {"get", "post"}
    assert "fresh" not in [each["name"] for each in paths["/api/read"]["get"]["parameters"]]


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"seeds":' + b"[" * 200_000, b"\xff", b"", b"[]", b"1e999"])
@pytest.mark.parametrize("path", ["/api/crawl", "/api/map", "/api/read", "/api/live/control", "/api/changed"])
def test_odd_bodies_are_refused(server: Site, path: str, body: bytes) -> None:
    reply = server.ask("POST", path, JSON, body)
    assert 200 < reply.status < 500 or body == b"[]", reply
    assert reply.json
