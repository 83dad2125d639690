"""Faults of life. Without a fault the small crawler writes nothing down, and begins anew each time."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from lab.tests.conformance_faults.small_crawler import Response, SmallCrawler


class KeepsWhatItSaw(SmallCrawler):
    """Writes down which URLs it has seen, but not which of them it has yet to fetch."""

    delay = 0.2  # a kill comes while it crawls, on a fast machine as well

    def __init__(self, seed: str, folder: Path, limit: int) -> None:
        super().__init__(seed, folder, limit)
        self.notes = folder / "seen"
        self.notes.touch()
        self.old = set(self.notes.read_text().split())

    def take(self, url: str) -> None:
        """What was seen before is taken for done."""
        if url not in self.old:
            with self.notes.open("a") as notes:
                notes.write(f"{url}\n")
            super().take(url)


class BelievesItIsDone(SmallCrawler):
    """Takes its own folder for that of a finished crawl."""

    delay = 0.2

    def crawl(self) -> None:
        """Only once."""
        mark = self.folder / "begun"
        if mark.exists():
            return
        mark.touch()
        super().crawl()


class WillNotEnd(SmallCrawler):
    """Ignores signals, and waits for more."""

    def crawl(self) -> None:
        """On and on."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().crawl()
        time.sleep(45)


class ExitsWithOne(SmallCrawler):
    """Ends with an error when all went well, and writes where it stands."""

    def crawl(self) -> None:
        """To the end."""
        super().crawl()
        litter = Path.cwd() / "small-crawler.out"
        litter.touch()
        sys.exit(1)


class EndsQuietly(KeepsWhatItSaw):
    """Writes pages, and ends as if all was well when that fails."""

    def __init__(self, seed: str, folder: Path, limit: int) -> None:
        try:
            super().__init__(seed, folder, limit)
        except OSError:
            sys.exit(0)

    def links(self, response: Response) -> list[str]:
        """Each page is a file."""
        try:
            (self.folder / response.url.replace("/", "_")).write_bytes(response.body)
        except OSError:
            sys.exit(0)
        return super().links(response)


class LivesByTheClock(SmallCrawler):
    """Waits until a time of day, but not for ever, and ends at one."""

    def visit(self, url: str) -> None:
        """At its time."""
        super().visit(url)
        self.until = getattr(self, "until", time.time() + 3600)
        if time.time() > self.until:
            self.queue.clear()
        due = time.time() + 0.3
        time.sleep(0.2)
        for _ in range(500):
            if time.time() >= due:
                return
            time.sleep(0.02)
        self.queue.clear()


FAULTS = {
    "keeps-what-it-saw": KeepsWhatItSaw,
    "believes-it-is-done": BelievesItIsDone,
    "will-not-end": WillNotEnd,
    "exits-with-one": ExitsWithOne,
    "ends-quietly": EndsQuietly,
    "lives-by-the-clock": LivesByTheClock,
}
_BY_FAULT = {
    "-": (
        "little-repeated", "little-repeated-after-several-kills", "finished-stays-finished",
        "unreachable-seed-is-an-error",
    ),
    "keeps-what-it-saw": ("nothing-lost", "killed-often", "goes-on-after-being-interrupted",
        "goes-on-after-being-terminated"),
    "believes-it-is-done": ("killed-at-the-first-request", "names-away", "network-away", "host-away", "server-away"),
    "will-not-end": ("ends-when-interrupted", "ends-when-terminated"),
    "exits-with-one": ("exit-code-of-a-good-crawl", "files-in-its-folder"),
    "ends-quietly": ("full-disk-is-said", "goes-on-when-there-is-room", "read-only-folder-is-said"),
    "lives-by-the-clock": ("clock-jumps-forwards", "clock-jumps-backwards"),
}  # fmt: skip
FAILS = {case: fault for fault, cases in _BY_FAULT.items() for case in cases}
SLOW = ("interrupted", "terminated")
"""Trials of which the crawler with a fault takes a minute and more."""
