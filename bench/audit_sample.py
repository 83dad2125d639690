"""Draws findings of audits of real pages at random, each with its page, its place and the source there, to be judged by hand.

Manuals of `bench.crawl` are served on loopback, one site each, and audited by `periplus audit`. Pages of other sites
(a folder with `segments.json` and `pages.tar.gz`) are packed into a WARC file under their own URLs, imported, and
audited site by site. Every kind of finding is drawn once before any is drawn twice, so that rare kinds are seen too.

    python -m bench.audit_sample --articles ../shared/corpus/text_segments --seed 7
"""

# ruff: noqa: E501 - printed lines
from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

import periplus
from bench.audit_speed import served
from bench.crawl.sites import SITES, host_of
from bench.peers import HOME

EXCERPT = 500
"""Characters of the source that are shown around a place."""


UNKNOWN = frozenset({"security-headers", "charset-missing"})
"""Findings about headers, which the stored pages of other sites have lost."""


class Drawn(NamedTuple):
    """A finding at a page."""

    name: str
    title: str
    url: str
    note: str
    via: str
    source: bytes


def _findings(audit: dict[str, Any], source_of: Callable[[str], bytes]) -> Iterator[Drawn]:
    for each in audit["findings"]:
        for example in each["examples"] or [{"url": "", "note": each["title"], "at": ""}]:
            page = example["url"] or audit["site"]
            yield Drawn(
                each["name"],
                each["title"],
                page,
                example["note"],
                example["at"],
                source_of(page) or source_of(example["at"]),
            )


def of_manuals(manuals: Path, random: Random, count: int, pages: int) -> Iterator[Drawn]:
    """Findings of some manuals."""
    for number in random.sample(range(len(SITES)), count):
        folder = manuals / host_of(number)

        def source_of(url: str, folder: Path = folder) -> bytes:
            file = folder / unquote(urlsplit(url).path).strip("/")
            file = file / "index.html" if file.is_dir() else file
            return file.read_bytes() if url and file.is_file() else b""

        with served(folder) as origin:
            command = [
                sys.executable, "-m", "periplus", "audit", origin + SITES[number].entries[0], "--json",
                "--examples", "1000", "--limit", str(pages), "--delay", "0",
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.stdout:
            raise RuntimeError(done.stderr[-2000:])
        yield from _findings(json.loads(done.stdout), source_of)


def of_articles(articles: Path) -> Iterator[Drawn]:
    """Findings of pages of other sites, which are kept in an archive under their own URLs."""
    pages: dict[str, bytes] = {}
    with tarfile.open(articles / "pages.tar.gz") as archive:
        for row in json.loads((articles / "segments.json").read_text()):
            member = archive.extractfile(row["page"])
            pages[row["url"]] = member.read() if member else b""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "articles.warc.gz"
        file.write_bytes(b"".join(gzip.compress(_record(*page, number)) for number, page in enumerate(pages.items())))
        subprocess.run(
            [sys.executable, "-m", "periplus", "import", str(file), "-o", f"{name}/collection"],
            check=True, capture_output=True,
        )  # fmt: skip
        collection = periplus.open(f"{name}/collection")
        for (site,) in collection.query("select distinct site from pages order by site").fetchall():
            audit = msgspec.to_builtins(collection.audit(site, examples=1000))
            yield from (each for each in _findings(audit, lambda url: pages.get(url, b"")) if each.name not in UNKNOWN)


def _record(url: str, body: bytes, number: int) -> bytes:
    """A page as its server may have sent it: pages in UTF-8 say so, others leave it to the page."""
    charset = "; charset=utf-8" if _is_utf8(body) else ""
    answer = (
        f"HTTP/1.1 200 OK\r\nContent-Type: text/html{charset}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-05T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012x}>\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(answer)}\r\n\r\n"
    )
    return head.encode() + answer + b"\r\n\r\n"


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def draw(found: list[Drawn], random: Random, count: int) -> list[Drawn]:
    """Some of the findings: of each kind one, then of each kind another one, until there are enough."""
    kinds: dict[str, list[Drawn]] = {}
    for each in random.sample(found, len(found)):
        kinds.setdefault(each.name, []).append(each)
    drawn: list[Drawn] = []
    while len(drawn) < count and any(kinds.values()):
        names = [name for name, rest in kinds.items() if rest]
        drawn += [kinds[name].pop() for name in random.sample(names, min(len(names), count - len(drawn)))]
    return drawn


def excerpt(each: Drawn) -> str:
    """The source at the line of a finding, around the text that the finding quotes; else the beginning of the head."""
    text = each.source.decode("utf-8", "replace")
    line = re.search(r"\bline (\d+)(?:: (.*))?", each.note)
    if line is None:
        start = max(0, text.lower().find("<title"))
        return text[start : start + EXCERPT]
    lines = text.split("\n")
    number = int(line[1])
    place = "\n".join(lines[max(0, number - 2) : number + 2])
    words = re.findall(r"[\w./-]{6,}", line[2] or "")
    at = next((place.find(word) for word in words if word in place), 0)
    return place[max(0, at - EXCERPT // 2) : at + EXCERPT // 2]


def main() -> None:
    """Print the sample."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--sites", type=int, default=10, help="manuals that are audited")
    parser.add_argument("--pages", type=int, default=150, help="pages of each")
    parser.add_argument("--manuals", type=Path, default=HOME / "web")
    parser.add_argument("--articles", type=Path)
    given = parser.parse_args()
    random = Random(given.seed)
    found = list(of_manuals(given.manuals, random, given.sites, given.pages))
    found += of_articles(given.articles) if given.articles else ()
    drawn = draw(found, random, given.count)
    print(f"seed {given.seed}: {len(found)} findings of {len({each.name for each in found})} kinds, {len(drawn)} drawn")
    for number, each in enumerate(drawn, 1):
        print(
            f"\n=== {number}. {each.name}: {each.title}\n{each.url}\n{each.note}{f' (on {each.via})' if each.via else ''}\n---\n{excerpt(each)}"
        )


if __name__ == "__main__":
    main()
