"""The keys of all JSON that programs get: of every `--json`, of exports in JSON, and of the API of `periplus serve`.

One small web is crawled, changed, crawled again and asked everything. Of each answer all keys are recorded, as dotted
paths; `[]` stands for the elements of a list and `*` for keys that are data, such as reasons and names of sites.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner
from tests.apps.serve.asking import Site
from tests.lab.scripted_web import ScriptedWeb, urlset
from tests.record.surface import TERMINAL

from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.bridges.agents.rest import AgentRoutes
from periplus.cli.app import app

HOME: Final = "http://a.test/"
SETTINGS: Final = """
[politeness]
slow_factor = 0.0
[retries]
backoff = 0.02
[churn]
instant = 0.0
[crawl]
workers = 1
[engine]
checkpoint_interval = 0.1
[forms]
interval = 0.0
requests_per_day = 3
"""
"""Two visits a moment apart are compared like others: a test does not wait between them."""
_DATA_KEY: Final = re.compile(r"^\d|[-./:]")
DATA: Final = {
    "allowed", "durations", "errors", "excluded", "found_again", "nodes_by_reason", "outcomes", "problems", "refused",
    "sources", "examples", "lost", "saved", "rebuilt", "signals",
}  # fmt: skip
"""Objects whose keys are data, by their names."""


def keys(value: object, path: str = "") -> set[str]:
    """The paths of all values in some JSON."""
    match value:
        case dict():
            *_, outer, own = ["", *path.split(".")]
            is_data = own in DATA and outer != "parts"
            found: set[str] = set()
            for key, inner in value.items():
                name = "*" if is_data or (_DATA_KEY.search(key) and " " not in key) else key
                found |= keys(inner, f"{path}.{name}".lstrip("."))
            return found or {path}
        case list():
            return {each for inner in value for each in keys(inner, f"{path}[]")} or {path}
        case _:
            return {path}


# the web


def _page(title: str, *links: str, more: str = "") -> str:
    text = " ".join(f"{title} tells story {number} of the harbour and its lighthouse." for number in range(30))
    anchors = "".join(f'<p><a href="{link}">about {link.strip("/") or "home"}</a></p>' for link in links)
    feed = '<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
    return (
        f"<!doctype html><html lang=en><head><title>{title}</title>{feed}</head>"
        f"<body><main><h1>{title}</h1><p>{text}</p>{anchors}{more}</main></body></html>"
    )


class _Said(dict[str, str | bytes]):
    """Pages by their URLs; a search finds the same two pages whatever is searched for."""

    def get(self, url: str, default: Any = None) -> Any:
        """A page, or the results of a search."""
        if url.startswith(f"{HOME}find?q="):
            return _page("Results", "/found/1", "/found/2", more=f"<p>{len(url)} results</p>")
        return super().get(url, default)


def _web() -> _Said:
    form = '<form action="/find" role=search><input type=search name=q><input type=submit value=Search></form>'
    pages: dict[str, str | bytes] = {
        HOME: _page("Pilot book", "/one", "/two", "/gone", "/moved", "/private/x", "http://b.test/", more=form),
        f"{HOME}one": _page("One", "/", "/two", "/one?sid=0123456789abcdef", more='<img src="/one.png">'),
        f"{HOME}two": _page("Two", "/"),
        f"{HOME}copy": _page("Two", "/"),
        f"{HOME}leaves": _page("Leaves", "/"),
        f"{HOME}only-listed": _page("Only listed"),
        f"{HOME}robots.txt": f"User-agent: *\nDisallow: /private/\nSitemap: {HOME}sitemap.xml\n",
        f"{HOME}sitemap.xml": urlset(
            f"{HOME}one 2026-01-02", f"{HOME}only-listed", f"{HOME}copy", f"{HOME}leaves", f"{HOME}leaves2"
        ),
        f"{HOME}feed.xml": f'<?xml version="1.0"?><rss version="2.0"><channel><title>F</title><item><title>One</title>'
        f"<link>{HOME}one</link></item></channel></rss>",
        f"{HOME}one.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x20\x00\x00\x00\x20\x08\x02\x00\x00\x00",
        f"{HOME}found/1": _page("Found one"),
        f"{HOME}found/2": _page("Found two"),
        "http://b.test/": _page("Neighbour", HOME),
    }
    return _Said(pages)


def _change(said: dict[str, str | bytes]) -> None:
    said[f"{HOME}one"] = _page("One again", "/", "/two", "/new").replace("story 7", "nothing of")
    said[f"{HOME}new"] = _page("New", "/")
    del said[f"{HOME}leaves"]


# the program


class Asked:
    """The answers so far, by what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: dict[str, set[str]] = {}

    def add(self, name: str, values: Iterable[object]) -> None:
        """Remember the keys of some JSON."""
        found = self.found.setdefault(name, set())
        for value in values:
            found |= keys(value)

    def typed(self, name: str, *words: str, codes: tuple[int, ...] = (0,)) -> list[Any]:
        """The JSON lines that a command prints; their keys are remembered by its name."""
        values = [json.loads(line) for line in self.printed(*words, codes=codes).splitlines()]
        self.add(f"periplus {name}", values)
        return values

    def printed(self, *words: str, codes: tuple[int, ...] = (0,)) -> str:
        """What a command prints on standard output."""
        done = CliRunner().invoke(app, list(words), prog_name="periplus", env=TERMINAL)
        assert done.exit_code in codes, (words, done.exit_code, done.output, done.exception)
        return done.stdout

    def text(self) -> str:
        """All of it, in lines; a list or object that was empty once and had something another time counts as full."""
        lines = []
        for name, found in sorted(self.found.items()):
            full = {path[:place] for path in found for place, sign in enumerate(path) if sign in ".["}
            lines += [name, *(f"    {path}" for path in sorted(found - full))]
        return "\n".join(lines) + "\n"


def small_collection(folder: Path) -> Asked:
    """Crawl the web into `folder / "small"`, with everything that is answered on the way."""
    asked = Asked(folder)
    small = str(folder / "small")
    settings = folder / "quick.toml"
    settings.write_text(SETTINGS)
    with ScriptedWeb(_web()) as web:
        way = ("--proxy", web.base, "--delay", "0s", "--config", str(settings))
        asked.typed("crawl --dry-run", "crawl", HOME, "-o", small, *way, "--dry-run", "--json")
        asked.typed("crawl", "crawl", HOME, "-o", small, *way, "--forms", "--topic", "harbour", "--sitemaps", "--json")
        nowhere = ("--proxy", "http://127.0.0.1:9/", *way[2:])
        asked.typed("crawl", "crawl", HOME, "-o", str(folder / "nothing"), *nowhere, "--json", codes=(1,))
        asked.typed("map", "map", HOME, *way, "--json")
        _change(web.said)
        asked.typed("refresh", "refresh", small, "--json")
        _of_sites(asked, folder, way)
        _watch(asked, folder)
    _of_collection(asked, folder)
    _of_files(asked, folder)
    _of_experiments(asked, folder)
    _of_lab(asked)
    _of_server(asked, folder)
    return asked


def _of_sites(asked: Asked, folder: Path, way: tuple[str, ...]) -> None:
    """Commands that send requests."""
    media = ("crawl", HOME, "-o", str(folder / "media"), *way, "--media", "image/*", "--max-bytes", "1MB", "--json")
    asked.typed("crawl --dry-run", *media, "--dry-run")
    asked.typed("crawl", *media)
    domains = folder / "domains.txt"
    domains.write_text("a.test\nb.test\nc.test\n")
    asked.typed("survey", "survey", str(domains), "-o", str(folder / "survey"), *way, "--json")
    asked.typed("ulinks", "ulinks", HOME, *way[:4], "--json")
    asked.typed("audit", "audit", HOME, *way[:4], "-o", str(folder / "audited"), "--json")


def _watch(asked: Asked, folder: Path) -> None:
    """A watch of a copy, and what it answers while it runs; it is stopped as soon as all is known."""
    watched = folder / "watched"
    shutil.copytree(folder / "small", watched)
    with serving(watched) as site:
        looking = threading.Thread(target=_look, args=(asked, site))
        looking.start()
        asked.typed("watch", "watch", str(watched), "--for", "1m", "--budget", "100000", "--json", codes=(0, 130))
        looking.join()


def _look(asked: Asked, site: Site) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        reply = site.ask("GET", "/api/live", {"Accept": "application/json"})
        if reply.status == 200 and reply.json["progress"]["next_visits"] and reply.json["progress"]["freshness"]:
            status = reply.json | {"sites": [], "rates": []}  # what they have depends on the moment
            asked.add("GET /api/live, periplus info --live", [status])
            break
        time.sleep(0.02)
    for control in ({"verb": "exclude", "pattern": "*/one", "preview": True}, {"verb": "pause"}, {"verb": "stop"}):
        reply = site.ask(
            "POST", "/api/live/control", {"Content-Type": "application/json"}, json.dumps(control).encode()
        )
        asked.add(f"POST /api/live/control {control['verb']}, {reply.status}", [reply.json])


def _of_collection(asked: Asked, folder: Path) -> None:
    """Commands that read what was crawled."""
    small = str(folder / "small")
    asked.typed("changes", "changes", small, "--since", "1d", "--json")
    asked.typed("changes URL", "changes", small, f"{HOME}one", "--json")
    asked.typed("info", "info", small, "--json")
    asked.typed("info SITE", "info", small, "a.test", "--json")
    for url in ("one", "leaves", "private/x", "copy", "unknown"):
        asked.typed("info URL", "info", small, f"{HOME}{url}", "--json")
    for url in ("one", "two", "only-listed"):  # when they are visited again
        asked.typed("info URL", "info", str(folder / "watched"), f"{HOME}{url}", "--json")
    asked.typed("forms", "forms", small, "--json")
    asked.typed("judge", "judge", small, "--json")
    asked.typed("index", "index", small, "--json")
    asked.typed("search", "search", small, "lighthouse", "--json")
    asked.typed("search eval", "search", "eval", small, "--json")
    asked.typed("query", "query", small, "select url, status from fetches limit 1", "--json")
    asked.typed("report", "report", small, "--json")
    asked.typed("ulinks", "ulinks", small, "--json")
    asked.typed("audit", "audit", str(folder / "audited"), "--json")  # is compared with the one before
    asked.typed("repair", "repair", small, "--dry-run", "--json")
    asked.typed("spam judge", "spam", "judge", small, "--json")
    asked.typed("spam explain", "spam", "explain", small, "a.test", "--json")
    for kind in ("jsonl", "chunks", "bulk"):
        asked.typed(f"export -f {kind}", "export", small, "-f", kind, *(["--markdown"] if kind == "jsonl" else []))
    header = next(csv.reader(asked.printed("export", small, "-f", "csv", "--markdown").splitlines()))
    asked.add("periplus export -f csv", [dict.fromkeys(header)])
    copied = folder / "resized"
    shutil.copytree(small, copied)
    asked.typed("cluster resize", "cluster", "resize", str(copied), "2", "--json")
    warc = str(folder / "all.warc.gz")
    asked.printed("export", small, "-f", "warc", "-o", warc)
    asked.typed("import", "import", warc, "-o", str(folder / "imported"), "--json")


def _of_files(asked: Asked, folder: Path) -> None:
    """Commands that read files."""
    web = _web()
    line = '192.0.2.1 - - [01/Mar/2026:08:00:{:02d} +0000] "GET {} HTTP/1.1" 200 12 "-" "Googlebot/2.1"'
    log = "\n".join(line.format(number, f"/{number % 3}" if number else "/robots.txt") for number in range(30)) + "\n"
    files: dict[str, str | bytes] = {"log": log, "robots": web[f"{HOME}robots.txt"]}
    files |= {"sitemap": web[f"{HOME}sitemap.xml"], "feed": web[f"{HOME}feed.xml"], "page": web[HOME]}
    for kind, content in files.items():
        path = folder / f"read.{kind}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        asked.typed(f"read --as {kind}", "read", str(path), "--as", kind, "--url", HOME, "--json")
    asked.typed("read --as warc", "read", str(folder / "all.warc.gz"), "--as", "warc", "--json")
    asked.typed("logs", "logs", str(folder / "read.log"), "--json")
    (folder / "public").mkdir()
    (folder / "public" / "index.html").write_text(str(web[HOME]))
    out = ("-o", str(folder / "public"))
    address = ("--base-url", "https://www.example.org/", "--robots")
    asked.typed("publish scan", "publish", "scan", str(folder / "public"), *address, *out, "--json")
    asked.typed("publish status", "publish", "status", *out, "--json")


EXPERIMENTS: Final = {
    "ordering": ("--pages", "60", "--sites", "5", "--policy", "opic", "--budget", "0.5", "--workers", "1"),
    "speedup": ("--pages", "60", "--sites", "5", "--connections", "1,2", "--workers", "1"),
    "batch": ("--pages", "60", "--sites", "5"),
    "freshness": ("--pages", "60", "--sites", "5", "--days", "10", "--policy", "uniform"),
    "signals": (
        "--pages",
        "20",
        "--sites",
        "2",
        "--days",
        "5",
        "--policy",
        "uniform",
        "--quality",
        "good",
        "--workers",
        "1",
    ),
    "balance": (
        "--pages",
        "60",
    ),
    "reputation": (),
    "scaling": ("--pages", "1000", "--sites", "20", "--shards", "1"),
}


def _of_lab(asked: Asked) -> None:
    """The lab, which serves until it is stopped."""

    def stop() -> None:
        until = time.monotonic() + 60
        while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    stopping = threading.Thread(target=stop)
    stopping.start()
    asked.typed("lab", "lab", "--sites", "1", "--pages", "10", "--port", "0", "--json")
    stopping.join()


def _of_experiments(asked: Asked, folder: Path) -> None:
    for name, options in EXPERIMENTS.items():
        asked.typed(f"simulate {name}", "simulate", name, *options, "--json")
    focused = ("--collection", str(folder / "small"), "--topic", "lighthouse", "--policy", "focused")
    asked.typed("simulate focused", "simulate", "focused", *focused, "--json")


# the server


@contextmanager
def serving(folder: Path) -> Iterator[Site]:
    """A server on loopback."""
    with running(Served((folder,), ServeSettings(port=0, timeout=300.0), (AgentRoutes(allows_sql=True),))) as url:
        yield Site(url)


API: Final = (
    "/api/search?q=lighthouse&explain=1",
    "/api/search?q=nowhere",
    "/api/ulinks?site=a.test",
    "/api/sites/a.test",
    "/api/collection",
    "/api/collection/sites",
    "/api/collection/sites/a.test",
    f"/api/collection/url?url={HOME}one",
    "/api/collection/sitemaps",
    "/api/collection/freshness",
    "/api/collection/forms",
    "/api/collection/excluded",
    "/api/collection/runs",
    "/api/collection/settings",
    "/api/collection/report",
    "/api/collection/tables",
    "/api/collection/tables/fetches",
    "/api/collection/sql?q=select+1+as+one",
    "/api/collection/sites?table=sites",
    f"/api/read?url={HOME}one",
    "/api/changes?since=2d",
    "/api/query?sql=select+1",
    "/api/crawl_status?id=none",
    "/api/live",
    "/api/nothing",
    "/readyz",
    f"/cdx?url={HOME}one&output=json",
)
"""What is asked of the server with GET."""


def _of_server(asked: Asked, folder: Path) -> None:
    """Every answer of the API that needs no crawl."""
    with serving(folder / "small") as site:
        for target in API:
            reply = site.ask("GET", target, {"Accept": "application/json"})
            path = target.partition("?")[0] + ("?table=" if "table=" in target else "")
            name = path.replace("a.test", "{site}").replace("fetches", "{name}")
            asked.add(f"GET {name}, {reply.status}", map(json.loads, reply.text.splitlines()))
        body = json.dumps({"url": f"{HOME}one", "max_tokens": 100}).encode()
        reply = site.ask("POST", "/api/read", {"Content-Type": "application/json"}, body)
        asked.add(f"POST /api/read, {reply.status}", [reply.json])
