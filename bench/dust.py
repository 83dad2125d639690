"""Duplicate URLs: what learnt rules spare, what they cost, and what a peer spares in the same run.

    python -m bench.dust [NAME ...]                  # the lab's sites that are made for it, about a minute
    python -m bench.dust --peer PYTHON               # beside MaybeDont, which that interpreter has installed
    python -m bench.dust --docs FOLDER [--limit N]   # real sites: each folder of FOLDER that holds HTML files

Each site is crawled in virtual time, without rules and with them. A page counts once by whatever URL it came: the world
knows (`periplus_lab.spam_web.dust`). Requests are counted, so figures carry over to any machine. Of the duplicate
URLs that were left when a tenth of the pages had been read, `spared` is the share that was never fetched; `wrong` is
the share of renamed URLs whose new name shows another page.

A real site has no truth: what is counted is each text that a crawl without rules and probes reads, and one with them
does not (`-` if the limit ended it); and every page that was judged to be an error.
"""

from __future__ import annotations

import argparse
import html
import itertools
import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from tests.verdicts.world_crawl import WorldCrawl, hurried

from periplus.model import FetchEnded, Refused, SubjectJudged, Url
from periplus_lab import Answer, Request, World
from periplus_lab.randomness import at, key_of
from periplus_lab.spam_web import Dust, HostileWorld
from periplus_lab.spam_web.dust import HOSTS, page_of

PEER = Path(__file__).parent / "crawl" / "peers" / "maybedont_crawl.py"
LIMIT = 6000
"""Requests of the peer after which it gets no more links: more than any site has URLs."""
PERMUTED = "permuted.lab.test"
_PARAMETERS = "abcdefg"
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_HREF = re.compile(rb'href="([^"]*)"')
_TEXT = re.compile(r"<(?:script|style).*?</(?:script|style)>|<[^>]*>", re.DOTALL)
_FEWEST = 100
"""HTML files of a folder that is crawled as a site."""


class Found(NamedTuple):
    """What a crawl of a site cost and found: requests, pages, and of the duplicates left the share never fetched."""

    requests: int
    pages: int
    spared: float


class Permuted(HostileWorld):
    """One text, under seven parameters in any order: 5,040 URLs."""

    def answer(self, request: Request) -> Answer:
        """The same for every order; and links to twelve others."""
        own = key_of(self.seed, request.target)
        orders = [itertools.islice(itertools.permutations(_PARAMETERS), at(own, place) % 5040, None)
                  for place in range(12)]  # fmt: skip
        links = ["?" + "&amp;".join(f"{name}=1" for name in next(order)) for order in orders]
        body = "".join(f'<a href="/{link}">more</a> ' for link in links)
        words = " ".join(f"word{place}" for place in range(80))
        return Answer(200, _HTML, f"<html><body><main><p>{words}</p></main>{body}</body></html>".encode())


def measured(fetched: Iterable[str], urls: set[str], shown: Callable[[str], object]) -> Found:
    """What was fetched, in order, of a site with these URLs."""
    pages = {shown(url) for url in urls}
    seen: set[object] = set()
    early = late = requests = 0
    for url in fetched:
        requests += 1
        page = shown(url)
        if page in seen and len(seen) > len(pages) / 10:
            late += 1
        elif page in seen:
            early += 1
        seen.add(page)
    left = len(urls) - len(pages) - early
    return Found(requests, len(seen & pages), 1.0 - late / left if left > 0 else 1.0)


def linked(world: World, home: str) -> set[str]:
    """Every URL of a site that its pages link to."""
    host = home.split("/")[2]
    known, waiting = {home}, deque([home])
    while waiting:
        for link in _links(world, host, waiting.popleft()):
            if link not in known:
                known.add(link)
                waiting.append(link)
    return known


def _links(world: World, host: str, url: str) -> list[str]:
    body = _body(world, host, url)
    return [f"http://{host}{html.unescape(each.decode())}" for each in _HREF.findall(body)]


def _body(world: World, host: str, url: str) -> bytes:
    answer = world.answer(Request("GET", host, url[len(f"http://{host}") :], (), world.epoch))
    return answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)


def peer_fetches(python: str, world: World, home: str) -> list[str]:
    """The URLs that the peer's crawl of a site fetches, in order. It asks us for pages, and we are the web."""
    host, fetched = home.split("/")[2], []
    with subprocess.Popen([python, str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        if peer.stdin is None or peer.stdout is None:
            raise RuntimeError("the peer has no pipes")
        print(json.dumps(home), file=peer.stdin, flush=True)
        for line in peer.stdout:
            url = json.loads(line)
            fetched.append(url)
            text = _TEXT.sub(" ", _body(world, host, url).decode("utf-8", "replace"))
            links = [] if len(fetched) >= LIMIT else _links(world, host, url)
            print(json.dumps({"text": text, "links": links}), file=peer.stdin, flush=True)
    if peer.returncode:
        raise RuntimeError(f"{python} {PEER} ended with {peer.returncode}: is maybedont installed there?")
    return fetched


def lab_sites(names: Sequence[str], peer: str) -> None:
    """Print a row for each site of the lab."""
    world = HostileWorld(7, 2, pages=20, parts=(Dust,))
    sites: list[tuple[str, World, str, Callable[[str], object]]] = [
        (host.partition("-")[0], world, f"http://{host}/", page_of) for host in HOSTS
    ]
    sites.append(("permuted", Permuted(7, 2, pages=20, parts=()), f"http://{PERMUTED}/", lambda url: "?" in url))
    print("site           URLs  pages | without: requests pages | rules: requests pages spared wrong | peer")
    for name, web, home, shown in sites:
        if not names or name in names:
            print(f"{name:12} {row(web, home, shown, peer)}", flush=True)


def row(world: World, home: str, shown: Callable[[str], object], peer: str) -> str:
    """The figures of a site, and the rules that were learnt."""
    urls = linked(world, home)
    plain, learnt = (
        WorldCrawl(world, [home], hurried(scope__kind="host", dust__enabled=is_on)).run() for is_on in (False, True)
    )
    before, after = (measured((url for url, _ in each.fetched), urls, shown) for each in (plain, learnt))
    renames = learnt.renamed()
    wrong = sum(shown(old) != shown(new) for old, new in renames) / max(len(renames), 1)
    rules = [f"{each.verdict} {each.evidence[0]}" for each in _verdicts(learnt) if each.judge == "dust"]
    cells = [
        f"{len(urls):6,} {len({shown(url) for url in urls}):6,} | {before.requests:17,} {before.pages:5,}",
        f"{after.requests:15,} {after.pages:5,} {after.spared:6.1%} {wrong:5.1%}",
    ]
    if peer:
        other = measured(peer_fetches(peer, world, home), urls, shown)
        cells.append(f"{other.requests:6,} {other.pages:5,} {other.spared:6.1%}")
    return " | ".join([*cells, "; ".join(rules)])


def _verdicts(crawl: WorldCrawl) -> Iterator[SubjectJudged]:
    return (each for each in crawl.events if isinstance(each, SubjectJudged))


# real sites


class Folder(World):
    """A folder of HTML files as a site."""

    def __init__(self, folder: Path) -> None:
        super().__init__(7, 1, pages=10)
        self._folder = folder.resolve()

    def answer(self, request: Request) -> Answer:
        """The file of a path."""
        place = (self._folder / unquote(request.target.partition("?")[0]).lstrip("/")).resolve()
        if place.is_dir():
            place = place / "index.html"
        if not place.is_relative_to(self._folder) or place.suffix not in (".html", ".htm") or not place.is_file():
            return Answer(404, _HTML, b"<!doctype html><title>Not found</title><p>There is no such file.</p>")
        return Answer(200, _HTML, place.read_bytes())


def real_sites(folder: Path, limit: int) -> None:
    """Print a row for each folder of a folder: texts that were lost, and what was refused or accused."""
    print(f"{'site':24} {'requests':>8} {'texts':>6} | {'requests':>8} {'texts':>6} {'lost':>5}  judged and refused")
    for place in sorted(each for each in folder.iterdir() if each.is_dir()):
        pages = sorted(place.rglob("*.html"), key=lambda path: (len(path.parts), path.name != "index.html", path))
        if len(pages) >= _FEWEST:
            seeds = [f"http://{place.name}.docs.test/{page.relative_to(place)}" for page in pages[:3]]
            print(f"{place.name:24} {real_row(Folder(place), seeds, limit)}", flush=True)


def real_row(world: Folder, seeds: Sequence[str], limit: int) -> str:
    """A crawl without rules and probes, and one with them."""
    plain, learnt = (
        WorldCrawl(
            world, seeds, hurried(scope__kind="host", dust__enabled=is_on, absence__enabled=is_on), limit=limit
        ).run()
        for is_on in (False, True)
    )
    before, after = (_texts(world, each) for each in (plain, learnt))
    lost = str(len(before.keys() - after.keys())) if len(plain.fetched) < limit else "-"
    judged: dict[str, int] = {}
    for each in _verdicts(learnt):
        judged[each.verdict] = judged.get(each.verdict, 0) + 1
    for refusal in learnt.events:
        if isinstance(refusal, Refused) and refusal.reason not in ("out-of-scope", "extension"):
            judged[refusal.reason] = judged.get(refusal.reason, 0) + 1
        elif isinstance(refusal, FetchEnded) and getattr(refusal.outcome, "reason", "") in ("low-yield", "calendar"):
            judged["low-yield"] = judged.get("low-yield", 0) + 1
    return f"{len(plain.fetched):8,} {len(before):6,} | {len(learnt.fetched):8,} {len(after):6,} {lost:>5}  {judged}"


def _texts(world: Folder, crawl: WorldCrawl) -> dict[bytes, Url]:
    """The different texts that a crawl read, each with a URL."""
    texts: dict[bytes, Url] = {}
    for url, status in crawl.fetched:
        if status == 200:
            texts.setdefault(sha256(_body(world, url.split("/")[2], url)).digest(), url)
    return texts


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.dust", description="Measure rules for duplicate URLs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="sites of the lab; by default all")
    parser.add_argument("--peer", default="", metavar="PYTHON", help="an interpreter that has MaybeDont installed")
    parser.add_argument("--docs", type=Path, metavar="FOLDER", help="real sites instead: folders of HTML files")
    parser.add_argument("--limit", type=int, default=3000, help="requests of each real site (%(default)s)")
    asked = parser.parse_args(arguments)
    if asked.docs is not None:
        real_sites(asked.docs, asked.limit)
    else:
        lab_sites(asked.names, asked.peer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
