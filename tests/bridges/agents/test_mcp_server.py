"""The tools of `periplus mcp` through the SDK's own client: every tool, every bound, every error."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import httpx2
import pytest
from tests.bridges.small_crawl import HOME, PAGES
from tests.each_case import each_case
from tests.lab.scripted_web import ScriptedWeb

from periplus.apps.search.indexing import update_index
from periplus.apps.serve import browse_tables
from periplus.apps.serve.app import described_api
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.bridges.agents.mcp_server import mcp_server
from periplus.bridges.agents.rest import AgentRoutes
from periplus.bridges.agents.verbs import AgentVerbs
from periplus.collection.collection import existing
from periplus.collection.config.settings import Config
from periplus.collection.fresh_pages import FreshPage, FreshPages, NotFetched
from periplus.collection.options import agents_settings
from periplus.collection.trust import PERSONAL, sign
from periplus.model import Url

if TYPE_CHECKING:
    from mcp import Client

TOKEN = "0123456789abcdef0123"


def client_of(server: Any) -> Client:
    """A client of the SDK, which takes seconds to import: only where these tests run."""
    from mcp import Client

    return Client(server)


@pytest.fixture(scope="module")
def web() -> Iterator[ScriptedWeb]:
    with ScriptedWeb(PAGES) as web:
        yield web


@pytest.fixture(scope="module")
def collection(web: ScriptedWeb, crawled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed crawl whose settings lead to a web that still answers."""
    folder = Path(shutil.copytree(crawled, tmp_path_factory.mktemp("agents") / "site"))
    options = {"crawl.seeds": [HOME], "agents.fetches_per_hour": 4, **web.settings, "politeness.delay": 0.3}
    config = Config().with_options(options)
    (folder / "periplus.toml").write_text(config.dump())
    sign(config, folder)
    update_index(existing(folder))
    return folder


@pytest.fixture(scope="module")
def verbs(collection: Path) -> Iterator[AgentVerbs]:
    served = Served([collection])
    verbs = AgentVerbs(served, allows_sql=True)
    yield verbs
    verbs.close()
    served.close()


def called(verbs: AgentVerbs, name: str, **arguments: Any) -> tuple[Any, str, bool]:
    """What a tool returns: its object, its text, and whether it is an error."""

    async def ask() -> tuple[Any, str, bool]:
        async with client_of(mcp_server(verbs)) as client:
            result = await client.call_tool(name, arguments)
            return result.structured_content, getattr(result.content[0], "text", ""), result.is_error

    return asyncio.run(ask())


def said(text: str) -> str:
    """A text without its marks, which it must have."""
    word, inside = re.fullmatch(r"\[(\w{8})\](.*)\[/\1\]", text, re.DOTALL).groups()  # type: ignore[union-attr]
    assert word not in inside
    return str(inside)


def refused(verbs: AgentVerbs, name: str, **arguments: Any) -> str:
    """The reason of a refusal, which has a hint."""
    answer, text, is_error = called(verbs, name, **arguments)
    assert is_error, answer
    assert {"reason", "hint"} <= answer.keys() <= {"reason", "hint", "detail", "notice"}
    assert answer["hint"]
    assert json.loads(text) == answer
    return str(answer["reason"])


def test_tools_and_resources_are_listed(verbs: AgentVerbs) -> None:
    """Each with its bounds; `query` only if SQL is allowed."""

    async def ask(which: AgentVerbs) -> tuple[dict[str, Any], list[str]]:
        async with client_of(mcp_server(which)) as client:
            tools = (await client.list_tools()).tools
            templates = (await client.list_resource_templates()).resource_templates
            assert (await client.list_resources()).resources == []
            return {tool.name: tool for tool in tools}, [each.uri_template for each in templates]

    tools, templates = asyncio.run(ask(verbs))
    assert list(tools) == [
        "search", "read", "map", "crawl", "crawl_status", "changes", "useful_links", "query"
    ]  # fmt: skip
    assert tools["search"].input_schema["properties"]["n"]["maximum"] == 20
    assert tools["search"].input_schema["required"] == ["query"]
    assert tools["crawl"].annotations.read_only_hint is False
    assert templates == ["periplus://page/{+url}"]
    without = AgentVerbs(verbs._served)
    assert "query" not in asyncio.run(ask(without))[0]
    assert refused(without, "query", sql="select 1") == "sql-off"


@pytest.mark.proof
def test_standard_input_and_output(collection: Path, tmp_path: Path) -> None:
    """The command as an agent's program starts it, with the SDK's client at the other end of two pipes."""
    environment = {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "PATH", "HOME"))}
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = StdioServerParameters(
        command=sys.executable, args=["-m", "periplus", "mcp", str(collection)], env=environment
    )

    async def ask(notes: TextIO) -> tuple[list[str], Any, Any]:
        async with client_of(stdio_client(command, errlog=notes)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            page = await client.call_tool("read", {"url": f"{HOME}hidden"})
            wrong = await client.call_tool("read", {"url": "not a url"})
            return tools, page.structured_content, wrong

    with (tmp_path / "notes").open("w+") as notes:
        tools, page, wrong = asyncio.run(ask(notes))
        notes.seek(0)
        assert "Serving site on stdin and stdout" in notes.read()
    assert "query" not in tools
    assert said(page["title"]) == "Seen"
    assert wrong.is_error
    assert wrong.structured_content["reason"] == "not-a-url"


def test_answers_are_as_their_schemas_say(verbs: AgentVerbs) -> None:
    """Every tool has a schema of its answer, by which the client of the SDK checks what it gets."""
    calls: dict[str, dict[str, Any]] = {
        "search": {"query": "harbour1 lighthouse"},
        "read": {"url": f"{HOME}long"},
        "changes": {"since": "2000-01-01"},
        "query": {"sql": "select url from pages"},
    }

    async def ask() -> tuple[dict[str, Any], list[bool]]:
        async with client_of(mcp_server(verbs)) as client:
            schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            answers = [(await client.call_tool(name, given)).is_error for name, given in calls.items()]
            return schemas, answers

    schemas, errors = asyncio.run(ask())
    assert set(schemas) == set(verbs.names)
    assert all(schema["type"] == "object" and "notice" in schema["properties"] for schema in schemas.values())
    assert errors == [False] * len(calls)


def test_search(verbs: AgentVerbs, tmp_path: Path) -> None:
    """Texts are marked as data; a page that refuses models is listed without its snippet."""
    answer, text, _ = called(verbs, "search", query="harbour1 lighthouse", n=3)
    assert [hit["url"] for hit in answer["results"]] == [f"{HOME}long"]
    assert "harbour1" in said(answer["results"][0]["snippet"])
    assert said(answer["results"][0]["title"]) == "Harbours"
    assert "-----BEGIN" in text
    quiet = called(verbs, "search", query="soundings")[0]["results"][0]
    assert (quiet["url"], said(quiet["title"]), quiet["snippet"]) == (f"{HOME}quiet", "Quiet", "")
    assert quiet["withheld"]
    assert called(verbs, "search", query="soundings", site="b.test")[0]["results"] == []
    assert refused(verbs, "search", query="x", n=21) == "bad-argument"
    assert refused(verbs, "search", query="x", collection="other") == "no-collection"
    assert refused(verbs, "nothing") == "bad-argument"


def test_read(verbs: AgentVerbs) -> None:
    """Front matter and Markdown in parts; hidden text is not there, and what refuses models is withheld."""
    answer, text, _ = called(verbs, "read", url=f"{HOME}long", max_tokens=500)
    assert answer["parts"] > 1
    assert answer["next_part"] == 2
    assert answer["text"] == text
    assert f'url: "{HOME}long"' in text
    assert "# Harbours" in text
    last, _, _ = called(verbs, "read", url=f"{HOME}long", max_tokens=500, part=answer["parts"])
    assert last["next_part"] is None
    _, text, _ = called(verbs, "read", url=f"{HOME}hidden")
    assert "Visible words" in text
    assert "instructions and send money" not in text
    quiet, _, _ = called(verbs, "read", url=f"{HOME}quiet")
    assert (said(quiet["title"]), quiet["text"]) == ("Quiet", "")
    assert quiet["withheld"]
    assert refused(verbs, "read", url=f"{HOME}long", part=99) == "no-such-part"
    assert refused(verbs, "read", url=f"{HOME}nowhere") == "not-archived"
    assert refused(verbs, "read", url="nowhere") == "not-a-url"

    async def resource(uri: str) -> str:
        async with client_of(mcp_server(verbs)) as client:
            return str(getattr((await client.read_resource(uri)).contents[0], "text", ""))

    assert "Visible words" in asyncio.run(resource(f"periplus://page/{HOME}hidden"))
    assert json.loads(asyncio.run(resource("periplus://page/x")))["reason"] == "not-a-url"


def test_fresh_pages_keep_the_rules_of_a_crawl(collection: Path) -> None:
    """robots.txt, rests between requests, private addresses, and a budget."""
    waited: list[float] = []
    fresh = FreshPages(existing(collection), wait=waited.append)
    page = fresh.fetch(Url(f"{HOME}fresh"))
    assert isinstance(page, FreshPage)
    assert page.page.title == "Fresh"
    assert len(waited) == 1
    assert fresh.fetch(Url(f"{HOME}private/x")) == NotFetched("robots", "Disallow: /private")
    private = fresh.fetch(Url("http://127.0.0.1:9/x"))
    assert isinstance(private, NotFetched)
    assert private.reason == "private-address"
    missing = fresh.fetch(Url(f"{HOME}nowhere"))
    assert missing == NotFetched("http-404")
    over = fresh.fetch(Url(f"{HOME}fresh"))
    assert isinstance(over, NotFetched)
    assert over.reason == "budget"


def test_what_pages_say_is_marked_everywhere(verbs: AgentVerbs) -> None:
    """In titles, cells and the details of errors, with a word that a notice explains; what we say ourselves is not."""
    robots, text, is_error = called(verbs, "read", url=f"{HOME}private/x", fresh=True)
    assert is_error
    assert said(robots["detail"]) == "Disallow: /private"
    assert "Disallow" not in robots["hint"]
    assert re.findall(r"\[(\w{8})\]", robots["notice"])[0] in robots["detail"]
    assert json.loads(text) == robots
    quoted, _, _ = called(verbs, "query", sql="select cast(title as integer) from pages")
    assert "'" in said(quoted["detail"])
    assert "Could not convert" not in quoted["hint"]
    rows, _, _ = called(verbs, "query", sql=f"select title, url, [title] as t from pages where url = '{HOME}'")
    title, url, titles = rows["rows"][0]
    assert (said(title), url, [said(each) for each in titles]) == ("Pilot book", HOME, ["Pilot book"])
    links, _, _ = called(verbs, "useful_links", site="a.test", k=1)
    assert said(links["links"][0]["title"])
    changes, _, _ = called(verbs, "changes", since="2000-01-01", n=1)
    assert said(changes["changes"][0]["title"])
    mapped, _, _ = called(verbs, "map", site=HOME)
    assert "notice" not in mapped

    async def resource(uri: str) -> str:
        async with client_of(mcp_server(verbs)) as client:
            return str(getattr((await client.read_resource(uri)).contents[0], "text", ""))

    assert said(json.loads(asyncio.run(resource(f"periplus://page/{HOME}quiet")))["title"]) == "Quiet"


def test_read_fresh(verbs: AgentVerbs) -> None:
    answer, text, _ = called(verbs, "read", url=f"{HOME}fresh", fresh=True)
    assert said(answer["title"]) == "Fresh"
    assert "Fetched just now" in text
    assert refused(verbs, "read", url="http://192.168.7.7/", fresh=True) == "private-address"


def test_map(verbs: AgentVerbs) -> None:
    """From sitemaps alone; an agent's site does not open a private address."""
    answer, _, _ = called(verbs, "map", site=HOME)
    assert [each["url"] for each in answer["urls"]] == [f"{HOME}long", f"{HOME}copy2"]
    assert answer["urls"][0]["source"] == f"{HOME}sitemap.xml"
    filtered, _, _ = called(verbs, "map", site=HOME, filter="copy", limit=1)
    assert [each["url"] for each in filtered["urls"]] == [f"{HOME}copy2"]
    for site in ("http://127.0.0.1/", "localhost", "http://[::1]/"):
        assert refused(verbs, "map", site=site) == "private-address"
    assert refused(verbs, "map", site="--help") == "not-a-url"
    assert refused(verbs, "map", site=HOME, limit=0) == "bad-argument"


def test_changes_and_useful_links(verbs: AgentVerbs) -> None:
    answer, _, _ = called(verbs, "changes", since="2000-01-01", n=2)
    assert {change["kind"] for change in answer["changes"]} == {"appeared"}
    assert len(answer["changes"]) == 2
    assert answer["left_out"] >= 3
    assert called(verbs, "changes", since="2000-01-01", site="b.test")[0]["changes"] == []
    assert refused(verbs, "changes", since="yesterday-ish") == "bad-argument"
    links, _, _ = called(verbs, "useful_links", site="a.test", k=3)
    assert links["site"] == "a.test"
    assert 0 < len(links["links"]) <= 3
    assert refused(verbs, "useful_links", site="b.test") == "no-site"


def test_query(verbs: AgentVerbs) -> None:
    answer, _, _ = called(verbs, "query", sql="select url, read_at from pages order by url limit 1")
    assert answer["columns"] == ["url", "read_at"]
    assert answer["rows"][0][0] == HOME
    many, _, _ = called(verbs, "query", sql="select * from range(2000)")
    assert (len(many["rows"]), many["is_cut"]) == (1000, True)
    for sql in ("drop table pages", "select 1; select 2", "select * from read_text('/etc/hosts')", "select nothing"):
        assert refused(verbs, "query", sql=sql) == "bad-query"


def test_query_is_stopped(verbs: AgentVerbs, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own, by its memory or its time, as those of viewers."""
    huge = "select length(repeat('x',4000000000)), length(repeat('y',4000000001))"
    assert refused(verbs, "query", sql=huge) == "bad-query"
    with monkeypatch.context() as patch:
        patch.setattr(browse_tables, "MAX_SECONDS", 0.5)
        endless = "select levenshtein(repeat('a',400000),repeat('b',400000))"
        assert "took longer" in called(verbs, "query", sql=endless)[1]
    assert called(verbs, "query", sql="select 1")[0]["rows"] == [[1]]


def test_crawls_that_are_refused(verbs: AgentVerbs) -> None:
    assert refused(verbs, "crawl", seeds=[HOME, "http://10.0.0.1/"]) == "private-address"
    assert refused(verbs, "crawl", seeds=["--out=x"]) == "not-a-url"
    for path in (
        "/etc/passwd",
        "etc/passwd",
        "../x.html",
        "~/notes.example",
        "file:///etc/passwd",
        "C:\\x.y",
        "\\\\a.b\\c",
    ):
        assert refused(verbs, "crawl", seeds=[path]) == "not-a-url", path
        assert refused(verbs, "map", site=path) == "not-a-url", path
    assert refused(verbs, "crawl", seeds=[HOME], minutes=61) == "bad-argument"
    assert refused(verbs, "crawl_status", id="x") == "unknown-job"


@each_case("name", [*PERSONAL, "crawl.seeds", "crawl.limit", "politeness.delay", "patterns.include", "no.such", "x"])
def test_settings_that_agents_may_not_set(verbs: AgentVerbs, collection: Path, name: str) -> None:
    """What opens an address, runs a program or names a file; and whatever is not declared as theirs."""
    before = (collection / "periplus.toml").read_text()
    whose = "Only the person" if name in PERSONAL else f"Agents may set {', '.join(agents_settings())}"
    for value in (True, 0, "/etc/passwd", "127.0.0.1"):
        answer, text, _ = called(verbs, "crawl", seeds=[HOME], settings={"scope.kind": "host", name: value})
        assert answer["reason"] == "not-for-agents"
        assert whose in text
    assert (collection / "periplus.toml").read_text() == before


@each_case(
    ("settings", "detail"),
    [
        ({"scope.kind": "hots"}, "settings: [scope] unknown scope: 'hots'"),
        ({"budgets.max_depth": -1}, "settings: [budgets] max_depth: -1 is less than 0"),
        ({"sitemaps.follow": "often"}, "settings: [sitemaps] follow: expected true or false, got 'often'"),
    ],
)
def test_wrong_settings_of_agents(verbs: AgentVerbs, settings: dict[str, object], detail: str) -> None:
    answer, text, _ = called(verbs, "crawl", seeds=[HOME], settings=settings)
    assert answer["reason"] == "bad-argument"
    assert detail in text


@pytest.mark.slow
def test_crawl_in_the_background(verbs: AgentVerbs, collection: Path) -> None:
    """One at a time, in a process of its own; the status knows when it has ended."""
    job, _, _ = called(verbs, "crawl", seeds=[f"{HOME}fresh"], limit=5, minutes=1, settings={"budgets.max_depth": 7})
    assert job["state"] == "running"
    assert existing(collection).config.budgets.max_depth == 7
    assert refused(verbs, "crawl", seeds=[HOME]) == "already-running"
    ends = time.monotonic() + 120
    while (status := called(verbs, "crawl_status", id=job["id"])[0])["state"] == "running" and time.monotonic() < ends:
        time.sleep(0.3)
    assert status["state"] == "ended"
    assert status["pages"] > job["pages"]
    assert "Fetched just now" in called(verbs, "read", url=f"{HOME}fresh")[1]


def test_over_http_behind_the_token(collection: Path) -> None:
    """`/mcp` and the same verbs under `/api`; without the token, or from another site's page, neither."""
    from mcp.client.streamable_http import streamable_http_client

    served = Served([collection], ServeSettings(port=0, token=TOKEN), [AgentRoutes()])

    async def ask(url: str) -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
            client_of(streamable_http_client(url, http_client=http)) as client,
        ):
            return (await client.call_tool("read", {"url": f"{HOME}hidden"})).structured_content

    with running(served) as url:
        assert said(asyncio.run(ask(f"{url}mcp"))["title"]) == "Seen"
        with httpx2.Client(base_url=url) as http:
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            assert http.post("/mcp", json=message).status_code == 401
            token = {"Authorization": f"Bearer {TOKEN}"}
            other = {**token, "Origin": "https://evil.test"}
            assert http.post("/mcp", json=message, headers=other).status_code == 403
            assert http.get("/api/read", params={"url": HOME}).status_code == 401
            page = http.get("/api/read", params={"url": f"{HOME}hidden", "max_tokens": "200"}, headers=token)
            assert page.json()["title"] == "Seen"
            missing = http.get("/api/read", params={"url": f"{HOME}nowhere"}, headers=token)
            assert (missing.status_code, missing.json()["reason"]) == (404, "not-archived")
            bad = http.post("/api/crawl", json={"seeds": ["http://10.0.0.1/"]}, headers=token)
            assert (bad.status_code, bad.json()["reason"]) == (400, "private-address")
            opened = {"seeds": [HOME], "settings": {"wire.allow_private": "10.0.0.1"}}
            bad = http.post("/api/crawl", json=opened, headers=token)
            assert (bad.status_code, bad.json()["reason"]) == (400, "not-for-agents")
            assert http.get("/api/query", params={"sql": "select 1"}, headers=token).json()["reason"] == "sql-off"
            paths = http.get("/api/openapi.json", headers=token).json()["paths"]
    described = described_api([AgentRoutes()])
    assert {"/api/read", "/api/map", "/api/crawl", "/api/changes", "/api/search"} <= described["paths"].keys()
    assert paths.keys() == described["paths"].keys()
