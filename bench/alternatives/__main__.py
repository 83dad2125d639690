"""`python -m bench.alternatives`: six jobs in several tools: lines that a user writes, seconds, and what came of it.

Every script of `jobs` is run as it is, in an empty folder, against sites on loopback, with 0.1 s between requests and
one request at a time where the tool can be told so. Results are checked against what is known of the sites.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from bench.alternatives.site import PRODUCTS, Site, edited, manual, price_of, serving, shop
from bench.peers import BENCH, HOME, Venv, why_absent
from periplus import __version__

JOBS = {
    "archive": "crawl a site politely into an archive, killed half-way and continued",
    "markdown": "Markdown of every page of a manual",
    "changes": "all pages that changed since the last crawl",
    "sitemaps": "all URLs of a site's sitemaps",
    "fields": "title and price of a shop's pages as CSV",
    "search": "search the crawled text",
}
PAGE = BENCH.parent / "docs" / "alternatives.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
_SCRIPTS = Path(__file__).resolve().parent / "jobs"
_LONGEST = 180.0


class AlternativeTool(NamedTuple):
    """A tool, and the jobs that it does not do, with the reason."""

    name: str
    key: str
    peer: Venv | None
    cannot: dict[str, str]

    @property
    def version(self) -> str:
        """Its version."""
        return self.peer.version() if self.peer else __version__


_NO_SEARCH = "no index and no search"
TOOLS = (
    AlternativeTool("Periplus", "periplus", None, {}),
    AlternativeTool("Scrapy", "scrapy", Venv("scrapy", "Scrapy"), {"markdown": "no Markdown", "search": _NO_SEARCH}),
    AlternativeTool(
        "Crawlee", "crawlee", Venv("crawlee", "crawlee"), {"markdown": "no Markdown", "search": _NO_SEARCH}
    ),
    AlternativeTool("crawl4ai", "crawl4ai", Venv("crawl4ai", "Crawl4AI"), {"search": _NO_SEARCH}),
    AlternativeTool(
        "trafilatura",
        "trafilatura",
        Venv("trafilatura", "trafilatura"),
        {
            "archive": "keeps text alone; does not continue",
            "fields": "has no fields of one's own",
            "search": _NO_SEARCH,
        },
    ),
)


class Done(NamedTuple):
    """What a job took."""

    lines: int
    seconds: float
    result: str


def main() -> int:
    """Run what was asked for."""
    ask = argparse.ArgumentParser(prog="python -m bench.alternatives", description="The same jobs in several tools.")
    ask.add_argument("--only", action="append", choices=[tool.key for tool in TOOLS], help="may be given again")
    ask.add_argument("--job", action="append", choices=JOBS, help="may be given again")
    ask.add_argument("--write", action="store_true", help="put the figures into docs/alternatives.md")
    asked = ask.parse_args()
    tools = [tool for tool in TOOLS if not asked.only or tool.key in asked.only]
    cells: dict[tuple[str, str], Done | str] = {}
    for tool in tools:
        for job, found in _run_all(tool, asked.job or list(JOBS)):
            cells[tool.key, job] = found
            print(f"{tool.name}, {job}: {_cell(found)}", flush=True)
    text = _table(tools, asked.job or list(JOBS), cells)
    print(f"\n{text}")
    if asked.write:
        page = PAGE.read_text()
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    return 0


def _table(tools: Sequence[AlternativeTool], jobs: Sequence[str], cells: dict[tuple[str, str], Done | str]) -> str:
    rows = [["job", *(f"{tool.name} {tool.version}" for tool in tools)], ["---"] * (len(tools) + 1)]
    rows += [[f"{JOBS[job]}", *(_cell(cells[tool.key, job]) for tool in tools)] for job in jobs]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(found: Done | str) -> str:
    if isinstance(found, str):
        return f"– ({found})"
    return f"{found.lines} {'line' if found.lines == 1 else 'lines'}, {found.seconds:.1f} s: {found.result}"


def lines_of(script: Path) -> int:
    """The lines of a script that a user writes: no blank ones, no comments, no docstrings."""
    text = script.read_text()
    left_out: set[int] = set()
    if script.suffix == ".py":
        tree = ast.parse(text)
        documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module) and ast.get_docstring(node)]
        for node in documented:
            left_out |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    written = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and not line.startswith("#") for number, line in written if number not in left_out)


def _run_all(tool: AlternativeTool, jobs: Sequence[str]) -> Iterator[tuple[str, Done | str]]:
    """Do the jobs of a tool, in order, on the same sites."""
    home = HOME / "alternatives" / tool.key
    shutil.rmtree(home, ignore_errors=True)
    why = why_absent(tool.peer) if tool.peer else None
    with serving(manual()) as docs, serving(shop()) as store:
        for job in jobs:
            cannot = why or tool.cannot.get(job)
            yield job, cannot or _run(tool, job, home, store if job == "fields" else docs)


def _run(tool: AlternativeTool, job: str, home: Path, site: Site) -> Done:
    """Do a job. Jobs of Periplus share a folder: what it has crawled once is there for the next."""
    folder = home if tool.peer is None else home / job
    folder.mkdir(parents=True, exist_ok=True)
    (script,) = _SCRIPTS.glob(f"{tool.key}_{job}.*")
    start = _Start(tool, script, folder, site)
    site.requested.clear()
    if job == "archive":
        seconds = start.run(kill_after=len(site.pages) // 2) + start.run()
    elif job == "changes":
        start.run()
        changed = edited(site)
        seconds = start.run()
        return Done(lines_of(script), seconds, _changes_found(folder, changed))
    else:
        seconds = start.run()
    return Done(lines_of(script), seconds, _CHECKS[job](start))


class _Start:
    """How a script is started."""

    def __init__(self, tool: AlternativeTool, script: Path, folder: Path, site: Site) -> None:
        self.folder, self.site, self.key = folder, site, tool.key
        places = [HOME / tool.key / "bin"] if tool.peer else [Path(sys.executable).parent]
        self._environment = os.environ | {
            "PATH": os.pathsep.join([*map(str, places), os.environ["PATH"]]),
            "CRAWL4_AI_BASE_DIRECTORY": str(folder),
        }
        self._argv = ["python" if script.suffix == ".py" else "sh", str(script), site.seed]
        if tool.key == "trafilatura":
            self._argv = _named(self._argv, site, folder)

    def archived_paths(self) -> set[str]:
        """The paths of pages that an archive holds."""
        if self.key == "periplus":
            query = ["periplus", "query", "docs", "select distinct url from fetches where status = 200", "--csv"]
            said = subprocess.run(
                query, cwd=self.folder, env=self._environment, check=True, capture_output=True, text=True
            )
            urls = said.stdout.split()
        elif self.key == "crawlee":
            files = (self.folder / "storage" / "datasets" / "default").glob("[0-9]*.json")
            urls = [json.loads(file.read_text())["url"] for file in files]
        else:
            urls = [json.loads(line)["url"] for line in (self.folder / "pages.jsonl").read_text().splitlines()]
        return {urlsplit(url).path for url in urls}

    def run(self, *, kill_after: int = 0) -> float:
        """Run it; kill it after so many pages. How long it took."""
        began = time.monotonic()
        with (self.folder / "output.log").open("ab") as log:
            process = subprocess.Popen(
                self._argv, cwd=self.folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
            while process.poll() is None and time.monotonic() - began < _LONGEST:
                if kill_after and len(self.site.requested) >= kill_after:
                    break
                time.sleep(0.02)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return time.monotonic() - began


def _named(argv: Sequence[str], site: Site, folder: Path) -> list[str]:
    """A command of trafilatura, which reads no sitemaps of a host without a name: with a name for loopback.

    Its settings are its own, but that they allow loopback, and ten requests a second.
    """
    (standard,) = (HOME / "trafilatura").glob("lib/python*/site-packages/trafilatura/settings.cfg")
    settings = standard.read_text().replace("SLEEP_TIME = 5.0", "SLEEP_TIME = 0.1")
    (folder / "settings.cfg").write_text(settings.replace("SSRF_PROTECTION = on", "SSRF_PROTECTION = off"))
    hosts, name = folder / "hosts", "manual.example.org"
    hosts.write_text(f"127.0.0.1 {name}\n")
    site.base = site.place.replace("127.0.0.1", name)
    entered = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"']
    return [*entered, str(hosts), *argv[:-1], site.base]


def _archived(start: _Start) -> str:
    paths = start.archived_paths()
    twice = sum(number - 1 for number in Counter(start.site.requested).values())
    return f"{len(paths & start.site.pages.keys())} of {len(start.site.pages)} pages kept, {twice} fetched twice"


def _converted(start: _Start) -> str:
    files = [path for path in (start.folder / "pages").rglob("*") if path.is_file() and path.stat().st_size]
    return f"{len(files)} files of {len(start.site.pages)} pages"


def _changes_found(folder: Path, changed: set[str]) -> str:
    found = {word for word in _words(folder / "changes.txt") if word.startswith("http")}
    return f"{len(found & changed)} of {len(changed)} pages, {len(found - changed)} wrong"


def _listed(start: _Start) -> str:
    truth = {start.site.url(path) for path in start.site.pages}
    return f"{len(truth & set(_words(start.folder / 'urls.txt')))} of {len(truth)} URLs"


def _extracted(start: _Start) -> str:
    with (start.folder / "items.csv").open(newline="") as file:
        rows = {tuple(row) for row in csv.reader(file)} - {("title", "price")}
    truth = {(f"Lamp {number}", price_of(number)) for number in range(PRODUCTS)}
    return f"{len(rows & truth)} of {len(truth)} products, {len(rows - truth)} wrong"


def _searched(start: _Start) -> str:
    first = next((word for word in _words(start.folder / "found.txt") if word.startswith("http")), "nothing")
    return f"first result {first.removeprefix(start.site.url('/'))}"


def _words(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


_CHECKS: dict[str, Callable[[_Start], str]] = {
    "archive": _archived,
    "markdown": _converted,
    "sitemaps": _listed,
    "fields": _extracted,
    "search": _searched,
}


if __name__ == "__main__":
    sys.exit(main())
