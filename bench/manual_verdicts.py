"""What the verdicts of a crawl keep from it on real pages: the manuals of the crawl bench, with the scope `any`.

    python -m bench.defences --manuals        manuals of at most 600 pages
    python -m bench.defences --manuals --all  all of them

Every page that links lead to from the seed is either fetched, or missing for a reason. Each missing page is read from
the disk, with every page that was fetched, and counted as right if one of these has the same words: nine in ten of all
runs of five words are in both.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import quote
from zlib import crc32

from lxml import etree

from bench.crawl import nginx
from bench.crawl.contestants import periplus_settings
from bench.crawl.reachable import Page, file_of, served
from bench.crawl.sites import PORT
from bench.crawl.web import SEED, Web, prepare
from periplus.insight.views import Views

_MOST_PAGES = 600
"""Pages of the largest manual, unless all are crawled."""
_SAME = 0.9
_RUN = 5
_LOOKED_AT = 20
"""Pages of the same name, and pages of the nearest sizes, that one is compared with."""


def manual_verdicts(*, has_all: bool = False) -> None:
    """Crawl half of the pages, judge mirrors and parked domains, crawl on, and print a table of what is missing."""
    web = prepare()
    sizes = Counter(authority for authority, _ in web.pages)
    left_out = [authority for authority, size in sizes.items() if size > _MOST_PAGES and not has_all]
    web = replace(web, pages=frozenset(page for page in web.pages if page[0] not in left_out))
    with tempfile.TemporaryDirectory() as folder:
        crawl = Path(folder) / "c"
        settings = Path(folder) / "manuals.toml"
        settings.write_text(periplus_settings(parallel=8) + "[cloaking]\nenabled = true\n")
        begin = ["crawl", SEED, "--config", str(settings), "--no-sitemaps", "-o", str(crawl)]
        begin += [word for authority in left_out for word in ("--exclude", f"re:^http://{re.escape(authority)}/")]
        with nginx.serving(web.folder, web.hosts, Path(folder) / "nginx", None):
            for command in ([*begin, "--limit", str(len(web.pages) // 2)], ["judge", str(crawl)], begin):
                subprocess.run([sys.executable, "-m", "periplus", *command], check=True, stdout=subprocess.DEVNULL)
        with Views(crawl) as views:
            read = views.rows(
                "select distinct url from fetches where outcome = 'fetched' and status = 200 and purpose = 'page'"
            )
            asked = views.rows(
                "select count(*) as requests from fetches where outcome <> 'excluded' and purpose = 'page'"
            )
            refused = views.rows(
                """select url, refused as reason from discoveries where refused is not null
                union all select url, reason from fetches where outcome = 'excluded'"""
            )
    print(table(web, (row["url"] for row in read), ((row["url"], row["reason"]) for row in refused)))
    print(f"\n{asked[0]['requests']:,} requests for pages")


def table(web: Web, read: Iterable[str], refused: Iterable[tuple[str, str]]) -> str:
    """The reachable pages by what became of them."""
    roots = {f"{host}:{PORT}": web.folder / host for host in web.hosts}
    fetched = {page for url in read if (page := _page(url, roots)) is not None}
    missing = sorted(web.pages - fetched)
    reasons: dict[Page, str] = {}
    for url, reason in refused:
        page = _page(url, roots)
        if page is not None:
            reasons.setdefault(page, reason)
    found = Duplicates(fetched & web.pages, roots) if missing else None
    right: Counter[str] = Counter()
    wrong: dict[str, list[Page]] = defaultdict(list)
    for page in missing:
        reason = reasons.get(page, "never found")
        if found is not None and found.has(page):
            right[reason] += 1
        else:
            wrong[reason].append(page)
    rows = [f"| fetched | {len(fetched & web.pages):,} | | |"]
    for reason in sorted({*right, *wrong}):
        example = "".join(f"http://{host}{quote(path)}" for host, path in wrong[reason][:1])
        rows.append(f"| {reason} | {right[reason] + len(wrong[reason])} | {len(wrong[reason])} | {example} |")
    head = "| what became of it | reachable pages | whose words no fetched page has | such as |\n|---|---|---|---|\n"
    return f"{head}{chr(10).join(rows)}\n| in all | {len(web.pages):,} | {sum(map(len, wrong.values()))} | |"


def _page(url: str, roots: dict[str, Path]) -> Page | None:
    wanted = file_of(url)
    return None if wanted is None else served(roots, *wanted)


class Duplicates:
    """Fetched pages, to find those with the same words: they have the same name, or nearly the same size."""

    def __init__(self, pages: Iterable[Page], roots: dict[str, Path]) -> None:
        self._roots = roots
        self._sizes = {page: (roots[page[0]] / page[1].lstrip("/")).stat().st_size for page in pages}
        self._runs_of = cache(self._read_runs)

    def has(self, page: Page) -> bool:
        """Whether another page has the same words."""
        runs, (authority, path) = self._runs_of(page), page
        size, name = (self._roots[authority] / path.lstrip("/")).stat().st_size, path.rpartition("/")[2]
        apart = {other: abs(own - size) for other, own in self._sizes.items()}
        alike = sorted(apart, key=lambda other: (not other[1].endswith(f"/{name}"), apart[other]))[:_LOOKED_AT]
        alike += sorted(apart, key=apart.__getitem__)[:_LOOKED_AT]
        return any(len(runs & self._runs_of(other)) >= _SAME * len(runs | self._runs_of(other)) for other in alike)

    def _read_runs(self, page: Page) -> frozenset[int]:
        authority, path = page
        body = (self._roots[authority] / path.lstrip("/")).read_bytes()
        tree = etree.fromstring(body, etree.HTMLParser(huge_tree=True)) if body.strip() else None
        if tree is None:
            return frozenset({0})
        etree.strip_elements(tree, "script", "style", with_tail=False)
        words = " ".join(map(str, tree.itertext("*"))).lower().split()
        last = max(len(words) - _RUN + 1, 1)
        return frozenset(crc32(" ".join(words[start : start + _RUN]).encode()) for start in range(last))
