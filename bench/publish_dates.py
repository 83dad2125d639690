"""Dates that can be believed: a site of the lab, published every day, compared with what really changed.

Every day a generator writes all files, as most do, so that modification times say nothing. On one day the template
changes, on another nothing but the modification times does. Beside it, what a sitemap by modification times claims.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote, urlsplit

from msgspec import Struct

from periplus.model import ChangeLevel
from periplus_lab.sites import Profile
from periplus_lab.world import World
from periplus_site.publish import FolderInventory, Publisher, settings_for

DAY = 86_400.0


class Dates(Struct, frozen=True):
    """What was claimed against what happened: pages that changed much, dates that moved, and both."""

    changed: int
    moved: int
    both: int
    justified: int
    """Dates that moved on pages that changed at all."""
    baits: int
    """Dates that moved without any change on the day of the new template and of the needless build."""
    by_times: int
    """Dates that modification times would have moved."""

    @property
    def precision(self) -> float:
        """Share of moved dates that a change justifies."""
        return self.justified / max(self.moved, 1)

    @property
    def recall(self) -> float:
        """Share of large changes that moved a date."""
        return self.both / max(self.changed, 1)


def measure(pages: int, days: int, seed: int = 7) -> Dates:
    """Publish a site for some days, and compare."""
    world = World(seed, 1, pages=pages, profiles=(Profile.NONE,))
    host = world.sites()[0].host
    template_day, build_day = days // 3, 2 * days // 3
    counts = dict.fromkeys(("changed", "moved", "both", "justified", "baits", "by_times"), 0)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        root, out = Path(folder) / "site", Path(folder) / "out"
        content_at = world.epoch
        paths: dict[str, Path] = {}
        for day in range(days):
            now = world.epoch + day * DAY
            before, content_at = content_at, content_at if day == build_day else now  # that build changes nothing
            now_urls = [url for url in world.urls(host, content_at) if _is_page(world.content(url, content_at))]
            for url in now_urls:
                path = root / _file(url)
                paths.setdefault(f"https://www.example.org/{quote(_file(url))}", path)
                path.parent.mkdir(parents=True, exist_ok=True)
                body = world.content(url, content_at)
                if day >= template_day:
                    body = body.replace(
                        b"</body>", b"<footer class='new'><p>A new footer</p><a href='/new'>new</a></footer></body>"
                    )
                path.write_bytes(body)
                os.utime(path, (now, now))
            with Publisher(out, settings_for("https://www.example.org/"), clock=lambda: now) as publisher:  # noqa: B023
                known = dict(publisher.ledger.db.execute("select url, lastmod from resources where gone is null"))
                publisher.scan([FolderInventory(root, publisher.base_url, exclude=())], allows_removals=True)
                after = dict(publisher.ledger.db.execute("select url, lastmod from resources where gone is null"))
            if day:
                _count(
                    counts, world, now_urls, known, after, before, content_at, is_bait=day in (template_day, build_day)
                )
    return Dates(**counts)


def _count(
    counts: dict[str, int],
    world: World,
    urls: list[str],
    known: dict[str, float | None],
    after: dict[str, float | None],
    before: float,
    now: float,
    *,
    is_bait: bool,
) -> None:
    for url in urls:
        published = f"https://www.example.org/{quote(_file(url))}"
        if published not in known or published not in after or not world.exists(url, before):
            continue
        level = world.change_level(url, before, now) if now > before else ChangeLevel.SAME
        has_moved = known[published] != after[published]
        counts["by_times"] += 1
        counts["moved"] += has_moved
        counts["changed"] += level is ChangeLevel.MAJOR
        counts["both"] += has_moved and level is ChangeLevel.MAJOR
        counts["justified"] += has_moved and level >= ChangeLevel.MINOR
        counts["baits"] += is_bait and has_moved and level < ChangeLevel.MINOR


def _is_page(body: bytes) -> bool:
    return b"<html" in body[:500].lower() or b"<!doctype html" in body[:500].lower()


def _file(url: str) -> str:
    parts = urlsplit(url)
    name = (parts.path + (f"_{parts.query}" if parts.query else "")).strip("/").replace("/", "_") or "home"
    return f"{name}.page.html"


def main(pages: int = 5_000, days: int = 60) -> None:
    """Print the figures."""
    found = measure(pages, days)
    print(f"{pages:,} pages, {days} days: {found.changed:,} changes, {found.moved:,} dates moved")
    print(f"precision {found.precision:.4f}, recall {found.recall:.4f}, moved on the two bait days {found.baits}")
    share = found.changed / found.by_times
    print(f"by modification times {found.by_times:,} dates would have moved: precision {share:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
