"""Sitemap trees of surveyed domains: what each file is meant to say, its bytes, and the truth about it.

Whatever is put into a file is counted in the same breath, so that the truth comes from the plan and from no reader.
"""

from __future__ import annotations

import gzip
from collections import Counter
from random import Random

from msgspec import Struct, field

XML = "application/xml"
_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
_STYLES = ((1.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.6, 0.1, 0.6), (1.0, 1.0, 1.0), (0.5, 0.0, 0.0))
"""How likely an entry has a lastmod, a changefreq, a priority."""
_DIRT = ("bad-lastmod", "bad-changefreq", "bad-priority", "missing-loc")


class Said(Struct, frozen=True):
    """What a server says. `trouble`: `silent` never answers, `closes` closes before a word."""

    status: int = 200
    content_type: str = "text/plain"
    body: bytes = b""
    location: str = ""
    trouble: str = ""


class PlannedFile(Struct):
    """A file, where it stands, and what is true of it."""

    url: str
    domain: str
    tree: str
    parent: str | None = None
    depth: int = 0
    kind: str = ""
    is_gzipped: bool = False
    outcome: str = "read"
    entries: int = 0
    children: int = 0
    size: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    with_lastmod: int = 0
    with_changefreq: int = 0
    with_priority: int = 0


class Grove:
    """The trees of one domain. `files` is the truth, `answers` what the servers say."""

    def __init__(self, domain: str, host: str, other_host: str, chance: Random, most_entries: int) -> None:
        self.files: list[PlannedFile] = []
        self.answers: dict[str, Said] = {}
        self._domain = domain
        self._host = host
        self._other_host = other_host
        self._chance = chance
        self._most_entries = most_entries
        self._number = 0

    def plant(self) -> str:
        """A new tree; says where its root is."""
        root = PlannedFile(self._new_url(), self._domain, "")
        root.tree = root.url
        self._fill(root, self._weighted(_ROOTS))
        return root.url

    def _fill(self, file: PlannedFile, sort: str) -> None:
        """Decide what a file is, write it, and go on with its children."""
        self.files.append(file)
        if sort == "index":
            self._write_index(file)
        elif sort in ("urlset", "truncated", "dirty"):
            self._write_urlset(file, sort)
        elif sort in ("text", "rss", "atom"):
            self._write_list(file, sort)
        elif sort == "moved":
            self._move(file)
        else:
            self._spoil(file, sort)

    # files with entries

    def _write_urlset(self, file: PlannedFile, sort: str) -> None:
        file.kind = "urlset"
        records = [self._record(file, number) for number in range(self._count())]
        if sort == "dirty":
            records += [self._dirty_record(file) for _ in range(self._chance.randint(1, 3))]
        body = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{_NS}">\n{"".join(records)}</urlset>\n'
        if sort == "truncated":
            file.problems["truncated"] += 1
            body = body.removesuffix("</urlset>\n") + "<url><loc>http://cut"
        self._publish(file, body.encode(), XML, self._chance.random() < 0.25)

    def _record(self, file: PlannedFile, number: int) -> str:
        file.entries += 1
        parts = [f"<loc>{self._page(file, number)}</loc>"]
        if self._chance.random() < self._style[0]:
            file.with_lastmod += 1
            parts.append(f"<lastmod>2008-{self._chance.randint(1, 12):02d}-03</lastmod>")
        if self._chance.random() < self._style[1]:
            file.with_changefreq += 1
            parts.append("<changefreq>weekly</changefreq>")
        if self._chance.random() < self._style[2]:
            file.with_priority += 1
            parts.append("<priority>0.5</priority>")
        return f"<url>{''.join(parts)}</url>\n"

    def _dirty_record(self, file: PlannedFile) -> str:
        reason = self._chance.choice(_DIRT)
        file.problems[reason] += 1
        if reason == "missing-loc":
            return "<url><lastmod>2008-01-01</lastmod></url>\n"
        file.entries += 1
        wrong = {"bad-lastmod": "lastmod", "bad-changefreq": "changefreq", "bad-priority": "priority"}[reason]
        return f"<url><loc>{self._page(file, 9_000 + file.entries)}</loc><{wrong}>whenever</{wrong}></url>\n"

    def _write_list(self, file: PlannedFile, sort: str) -> None:
        file.kind = sort
        pages = [self._page(file, number) for number in range(max(1, self._count()))]
        file.entries = len(pages)
        if sort == "text":
            self._publish(file, "".join(f"{page}\n" for page in pages).encode(), "text/plain", is_gzipped=False)
            return
        items = [self._item(file, sort, page) for page in pages]
        around = {
            "rss": ('<rss version="2.0"><channel><title>News</title>', "</channel></rss>"),
            "atom": ('<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>', "</feed>"),
        }[sort]
        body = f'<?xml version="1.0"?>\n{around[0]}\n{"".join(items)}{around[1]}\n'
        self._publish(file, body.encode(), f"application/{sort}+xml", is_gzipped=False)

    def _item(self, file: PlannedFile, sort: str, page: str) -> str:
        is_dated = self._chance.random() < 0.7
        file.with_lastmod += is_dated
        if sort == "rss":
            date = "<pubDate>Mon, 03 Mar 2008 10:00:00 GMT</pubDate>" if is_dated else ""
            return f"<item><title>T</title><link>{page}</link>{date}</item>\n"
        date = "<updated>2008-03-03T10:00:00Z</updated>" if is_dated else ""
        return f'<entry><title>T</title><link href="{page}"/>{date}</entry>\n'

    def _publish(self, file: PlannedFile, body: bytes, content_type: str, is_gzipped: bool) -> None:
        """Some are packed, of those some lack their last bytes; and some have a twin, packed or not."""
        if is_gzipped:
            body = gzip.compress(body, mtime=0)
            content_type = "application/gzip"
            file.is_gzipped = True
            if self._chance.random() < 0.1 and not file.problems["truncated"]:
                body = body[:-4]
                file.problems["gzip-truncated"] += 1
        file.size = len(body)
        self.answers[file.url] = Said(200, content_type, body)

    # files with files

    def _write_index(self, file: PlannedFile, loops: float = 0.15) -> None:
        """Children of every sort; some indexes name themselves, or what is above them, or a child twice."""
        file.kind = "index"
        children = [
            PlannedFile(self._new_url(), file.domain, file.tree, file.url, file.depth + 1)
            for _ in range(self._chance.randint(1, 7))
        ]
        named = [child.url for child in children]
        if self._chance.random() < loops:
            named.append(self._chance.choice([file.url, file.tree]))
        if self._chance.random() < 0.15:
            named.append(named[0])
        self._chance.shuffle(named)
        file.children = len(named)
        records = "".join(f"<sitemap><loc>{url}</loc></sitemap>\n" for url in named)
        body = f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="{_NS}">\n{records}</sitemapindex>\n'
        self._publish(file, body.encode(), XML, self._chance.random() < 0.1)
        for child in children:
            is_index = file.depth < 4 and self._chance.random() < 0.2
            self._fill(child, "index" if is_index else self._weighted(_LEAVES))

    def _move(self, file: PlannedFile) -> None:
        """It lies somewhere else, under a name that is not listed; its children are those of the name that is known."""
        url, target = file.url, self._new_url()
        file.url = target
        if file.depth < 3 and self._chance.random() < 0.3:
            self._write_index(file, loops=0.0)
        else:
            self._write_urlset(file, "urlset")
        file.url = url
        for other in self.files:
            other.parent = url if other.parent == target else other.parent
        self.answers[url] = Said(301, "text/html", b"", target)

    # files that are none

    def _spoil(self, file: PlannedFile, sort: str) -> None:
        if sort in ("silent", "closes"):
            file.outcome = {"silent": "timeout", "closes": "closed-early"}[sort]
            self.answers[file.url] = Said(trouble=sort)
        elif sort.isdigit():
            file.outcome = f"http-{sort}"
            self.answers[file.url] = Said(int(sort), "text/html", b"<html><title>No</title></html>")
        else:
            file.outcome = "html-instead" if sort == "html" else "not-a-sitemap"
            file.kind = "html" if sort == "html" else "unknown"
            file.problems[{"html": "html", "words": "not-a-sitemap", "empty": "empty"}[sort]] += 1
            body = {"html": b"<!doctype html><html><p>Hello</html>", "words": b"Nothing to see here\n", "empty": b""}
            file.size = len(body[sort])
            self.answers[file.url] = Said(200, "text/html", body[sort])

    def _new_url(self) -> str:
        """Mostly at home, sometimes at a host that serves files for many."""
        self._number += 1
        self._style = self._chance.choice(_STYLES)
        host = self._other_host if self._chance.random() < 0.04 else self._host
        return f"http://{host}/sm/{self._domain.partition(':')[0]}-{self._number}.xml"

    def _page(self, file: PlannedFile, number: int) -> str:
        return f"http://{self._host}/p/{file.url.rpartition('-')[2]}/{number}"

    def _count(self) -> int:
        """Few or none in most files, many in some."""
        return min(self._most_entries, int(3 * self._chance.paretovariate(0.8)) - 3)

    def _weighted(self, sorts: dict[str, float]) -> str:
        return self._chance.choices(list(sorts), list(sorts.values()))[0]


_LEAVES = {
    "urlset": 60, "dirty": 5, "truncated": 2, "text": 5, "rss": 3, "atom": 3, "moved": 2, "html": 3, "words": 1,
    "empty": 1, "404": 8, "403": 2, "410": 1, "500": 1, "silent": 0.3, "closes": 0.7,
}  # fmt: skip
_ROOTS = _LEAVES | {"index": 25}
