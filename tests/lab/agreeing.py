"""Publisher and crawler agree: what `publish` reports of a site, `watch` visits first, and nothing else moves.

A generated site is served by a plain web server, published and crawled. Then it is built again three times. Every build
writes all files. The first adds a banner of text to all pages, the second replaces it with one that has links, the
third rewords that; each edits four pages, from one sentence to a section, and the last deletes three pages and adds
three. Every build is scanned, and after the last one `watch` is started. All of these are commands of the product, in
processes of their own.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import NamedTuple
from urllib.parse import unquote

from msgspec import Struct

from periplus.insight.views import Views

FIRST = 24
"""Visits of `watch` among which all reported pages have to be."""
SAMPLED = 2
"""Pages that nobody reported and that may be visited before the last reported one: 3 % of visits are random."""
EDITS, ADDED, DELETED = 12, 3, 3
BUDGET = 400_000
"""Visits a day: about five a second."""
TIMEOUT = 60.0
"""Seconds in which the first visits have to be made."""
SOON = ("refresh.shortest=1", "revisit.shortest=1", "revisit.longest=4", "politeness.slow_factor=0")
"""Settings that let hours pass in seconds."""
_PERIPLUS = (sys.executable, "-m", "periplus")
_TEXT = """the default value is now checked before every call and an error is raised if it is missing because callers
relied on a side effect which was never documented and has been removed from this release use the second form"""
_WORDS = tuple(_TEXT.split())
_PARAGRAPH = re.compile(rb"<p>([^<]{60,2000})</p>")
"""A paragraph of the text: those of menus have links or classes."""


class Agreed(Struct, frozen=True):
    """What came of one way of reporting."""

    way: str
    pages: int
    moved_by_banners: int
    """Dates that moved in three builds on pages that were not edited."""
    undated: tuple[str, ...]
    """Edited pages whose date did not move."""
    told: int
    """Reported pages: the edited and the added; by push the deleted, too, which a sitemap cannot report."""
    missed: tuple[str, ...]
    before: int
    """Pages that nobody reported, and that were visited before the last reported page: the random sample."""
    after: int
    """Pages that nobody reported, and that were visited afterwards: the budget was not spent, and they were due."""
    seconds: float
    levels: dict[str, int]
    """How much the pages that were visited had changed."""

    @property
    def is_met(self) -> bool:
        """Whether the bars are met: at most 2 of 500 dates moved by banners, all edits dated, and all told first."""
        is_quiet = self.moved_by_banners <= 2 * self.pages / 500
        return is_quiet and not self.undated and not self.missed and self.before <= SAMPLED


class _Visit(NamedTuple):
    path: str
    status: int


class Site:
    """A folder on a plain web server that dates files by their modification time, and a list of its visits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.visits: list[_Visit] = []
        site = self

        class Handler(SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_request(self, code: object = "-", size: object = "-") -> None:
                site.visits.append(_Visit(self.path, int(getattr(code, "value", code) or 0)))  # type: ignore[call-overload]

            def log_message(self, *_: object) -> None:
                """Visits are kept."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.base = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()

    def pages(self) -> list[str]:
        """The paths of its pages."""
        return sorted(f"/{path.relative_to(self.folder)}" for path in self.folder.rglob("*.html"))

    def dates(self) -> dict[str, str]:
        """What its sitemap says: the date of each page, or nothing."""
        text = (self.folder / "sitemap.xml").read_text()
        found = re.findall(r"<loc>([^<]+)</loc>(?:\s*<lastmod>([^<]+)</lastmod>)?", text)
        return {_file(loc.removeprefix(self.base.rstrip("/"))): date for loc, date in found}

    def visited_pages(self, since: int) -> list[str]:
        """The pages that were asked for, in order, each once."""
        paths = [_file(each.path) for each in self.visits[since:]]
        return list(dict.fromkeys(path for path in paths if path.endswith(".html")))


def _file(path: str) -> str:
    return unquote(path) + ("index.html" if path.endswith("/") else "")


class Build:
    """Writes all files of a site again, with a banner and some edits."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site = site
        self.random = Random(seed)
        self.sources = {path: (site.folder / path[1:]).read_bytes() for path in site.pages()}
        listed = site.dates()
        long = [path for path, body in self.sources.items() if path in listed and len(_PARAGRAPH.findall(body)) >= 3]
        self.edited = self.random.sample(long, EDITS)
        rest = [path for path in long if path not in self.edited and "index" not in path]
        self.deleted = self.random.sample(rest, DELETED)
        self.added: list[str] = []
        self._done = 0

    def write(self, banner: str) -> None:
        """Write every page with this banner, and touch every other file."""
        for path, body in self.sources.items():
            target = self.site.folder / path[1:]
            target.write_bytes(body.replace(b"</body>", banner.encode() + b"</body>"))
        for file in self.site.folder.rglob("*"):
            if file.is_file() and not file.name.startswith("."):
                os.utime(file)

    def edit(self, count: int) -> None:
        """Edit the next pages: a sentence more, another sentence, a section more, in turns."""
        for path in self.edited[self._done : self._done + count]:
            self.sources[path] = self._edited(self.sources[path], self._done % 3)
            self._done += 1

    def _edited(self, body: bytes, kind: int) -> bytes:
        paragraph = self.random.choice(list(_PARAGRAPH.finditer(body)))
        at = paragraph.end(1)
        if kind == 0:
            return body[:at] + b" " + self._sentence(9).encode() + body[at:]
        if kind == 1:
            return body[: paragraph.start(1)] + self._sentence(14).encode() + body[at:]
        at = paragraph.end()
        section = f"<h2>{self._sentence(3)}</h2><p>{' '.join(self._sentence(12) for _ in range(6))}</p>"
        return body[:at] + section.encode() + body[at:]

    def _sentence(self, words: int) -> str:
        return " ".join(self.random.choices(_WORDS, k=words)).capitalize() + "."

    def add_and_delete(self) -> None:
        """Add three pages, which another page links to, and delete three."""
        model = self.edited[0]
        for number in range(ADDED):
            path = f"{model.rpartition('/')[0]}/added-{number}.html"
            text = "".join(f"<p>{self._sentence(25)}</p>" for _ in range(8))
            head = f"<title>Added {number}</title>"
            self.sources[path] = f"<html><head>{head}</head><body><h1>{number}</h1>{text}</body></html>".encode()
            self.added.append(path)
        for path in self.deleted:
            del self.sources[path]
            (self.site.folder / path[1:]).unlink()


BANNERS = (
    "<div><p>Our annual conference takes place in Lisbon this spring; tickets are on sale now.</p></div>",
    "<div><p>News: <a href='https://one.example.net/'>the conference</a> and <a href='/index.html'>more</a>.</p></div>",
    "<div><p>The conference is over. <a href='https://two.example.net/talks'>See all talks</a>.</p></div>",
)


def agree(way: str, pages: int, *, seed: int = 1) -> Agreed:
    """Try one way of reporting (`sitemaps`, `indexnow` or `websub`) on a generated site."""
    with ExitStack() as stack:
        room = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=_memory())))
        folder = room / "site"
        folder.mkdir()
        _write_night(folder, pages, 0)
        site = Site(folder)
        stack.callback(site.close)
        hub_port, receiver_port = _free_port(), _free_port()
        scan = _scan_of(site, folder, room)
        _run(*scan, "--robots")
        _configure(room / "ledger" / "publish.toml", way, hub_port, receiver_port)
        _run(*scan)
        settings = [f"--set={each}" for each in SOON] if way == "sitemaps" else [f"--set={SOON[0]}", f"--set={SOON[3]}"]
        hub = ("--set=receivers.websub=true", "--allow-private", f"127.0.0.1:{hub_port}")
        feed = ("--sitemap", f"{site.base}changes.atom", *hub) if way == "websub" else ()
        _run("crawl", site.base, "-o", f"{room}/crawl", "--delay", "0s", *feed, *settings)
        if way == "websub":
            stack.enter_context(
                _process(sys.executable, "-m", "tests.lab.websub_hub", str(hub_port), log=room / "hub.log")
            )
        if way != "sitemaps":
            _start_receiver(stack, room, receiver_port, is_websub=way == "websub")
        build, moved = Build(site, seed), 0
        first = dates = site.dates()
        for number, banner in enumerate(BANNERS):
            time.sleep(1.1)  # dates have seconds
            build.edit(EDITS // len(BANNERS))
            if number == len(BANNERS) - 1:
                build.add_and_delete()
            build.write(banner)
            _run(*scan)
            now = site.dates()
            moved += sum(now[path] != date for path, date in dates.items() if path in now and path not in build.edited)
            dates = now
        told = {*build.edited, *build.added, *(build.deleted if way != "sitemaps" else ())}
        undated = tuple(path for path in build.edited if dates[path] == first[path])
        if way != "sitemaps":
            _run("publish", "push", "--now", "-o", str(folder), "--ledger", f"{room}/ledger")
        start, began = len(site.visits), time.monotonic()
        watch = ("watch", f"{room}/crawl", "--budget", str(BUDGET), "--for", f"{TIMEOUT:.0f}s", *settings)
        with _process(*_PERIPLUS, *watch, log=room / "watch.log") as watching:
            while time.monotonic() - began < TIMEOUT and watching.poll() is None:
                if len(site.visited_pages(start)) >= FIRST:
                    break
                time.sleep(0.2)
        seconds = time.monotonic() - began
        visits = site.visited_pages(start)[:FIRST]
        levels = _levels(room / "crawl")
        missed = tuple(sorted(told.difference(visits)))
        last = max((place for place, path in enumerate(visits) if path in told), default=0)
        before, after = (sum(path not in told for path in some) for some in (visits[:last], visits[last:]))
        return Agreed(way, len(first), moved, undated, len(told), missed, before, after, seconds, levels)


def nightly(pages: int, nights: int, *, visits: int) -> list[tuple[int, dict[str, int]]]:
    """Build a site every night with its date and new assets; dates that moved, and levels of the night's visits."""
    with ExitStack() as stack:
        room = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=_memory())))
        folder = room / "site"
        folder.mkdir()
        site = Site(folder)
        stack.callback(site.close)
        scan = _scan_of(site, folder, room)
        settings = [f"--set={each}" for each in SOON]
        found, before, counted = [], dict[str, str](), dict[str, int]()
        for night in range(nights):
            _write_night(folder, pages, night)
            _run(*scan, "--robots")
            after = site.dates()
            moved = sum(after[path] != date for path, date in before.items())
            before = after
            start = len(site.visits)
            if not night:
                _run("crawl", site.base, "-o", f"{room}/crawl", "--delay", "0s", *settings)
            else:
                watch = ("watch", f"{room}/crawl", "--budget", str(BUDGET), "--for", f"{TIMEOUT:.0f}s", *settings)
                with _process(*_PERIPLUS, *watch, log=room / "watch.log"):
                    _until(lambda start=start: len(site.visited_pages(start)) >= visits, TIMEOUT)  # type: ignore[misc]
                levels = _levels(room / "crawl")
                found.append((moved, {level: count - counted.get(level, 0) for level, count in levels.items()}))
                counted = levels
            time.sleep(1.1)
        return found


def _write_night(folder: Path, pages: int, night: int) -> None:
    asset = Random(night).randbytes(4).hex()
    for number in range(pages):
        chosen = Random(number)
        text = "".join(f"<p>{' '.join(chosen.choices(_WORDS, k=40))}.</p>" for _ in range(4))
        links = " ".join(f"<a href='page{(number * 7 + step) % pages}.html'>{step}</a>" for step in range(9))
        (folder / f"page{number}.html").write_text(
            f"<html><head><title>Page {number}</title><script src='/app.{asset}.js'></script></head><body>{links}"
            f"<a href='/print-{asset}.css'>Print</a><main><h1>Page {number}</h1>{text}</main>"
            f"<div class='built'>Built in the night of day {night} of this release</div></body></html>"
        )
    home = "".join(f"<a href='page{number}.html'>{number}</a>" for number in range(pages))
    (folder / "index.html").write_text(f"<html><title>Home</title><body><p>All pages: {home}</p></body></html>")


def _configure(path: Path, way: str, hub_port: int, receiver_port: int) -> None:
    text = path.read_text()
    if way == "indexnow":
        text = re.sub(r"(?m)^# indexnow = .*$", f'indexnow = ["http://127.0.0.1:{receiver_port}/indexnow"]', text)
    if way == "websub":
        text = re.sub(r"(?m)^# hub = .*$", f'hub = "http://127.0.0.1:{hub_port}/"', text)
    path.write_text(text)


def _start_receiver(stack: ExitStack, room: Path, port: int, *, is_websub: bool) -> None:
    public = ("--public-url", f"http://127.0.0.1:{port}", "--token-file", f"{room}/token")
    websub = public if is_websub else ()
    command = (*_PERIPLUS, "serve", f"{room}/crawl", "--port", str(port), "--receive", *websub)
    stack.enter_context(_process(*command, log=room / "serve.log"))
    _until(lambda: _answers(port), TIMEOUT)
    if is_websub:
        _until(lambda: "verified" in (room / "hub.log").read_text(), TIMEOUT)
        if "verified" not in (room / "hub.log").read_text():
            raise RuntimeError(f"the hub verified no subscription: {(room / 'serve.log').read_text()}")


def _levels(collection: Path) -> dict[str, int]:
    with Views(collection) as views:
        views.prepare("select * from changes")
        return dict(views.database.execute("select level, count(*) from changes group by 1 order by 1").fetchall())


def _until(is_done: Callable[[], bool], timeout: float) -> None:
    ends = time.monotonic() + timeout
    while not is_done() and time.monotonic() < ends:
        time.sleep(0.1)


def _answers(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _scan_of(site: Site, folder: Path, room: Path) -> tuple[str, ...]:
    return "publish", "scan", str(folder), "--base-url", site.base, "-o", str(folder), "--ledger", f"{room}/ledger"


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _run(*arguments: str) -> str:
    done = subprocess.run([*_PERIPLUS, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"periplus {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def _process(*command: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process beside this one, which is interrupted at the end."""
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
