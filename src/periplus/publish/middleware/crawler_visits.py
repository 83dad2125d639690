"""Counts visits of crawlers by minute: which crawler, whether it is genuine, and what it was sent in vain.

The crawlers are those of `periplus logs`, and so is the check of their addresses: published ranges beside the ledger,
and what DNS said of an address when `periplus logs --refresh` asked. Nothing is looked up while a request waits. What
is needless is judged when a minute is written, from the visits before: so it holds across processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from periplus.publish.ledger import Ledger
from periplus.publish.logs.agents import Crawler, known_agents
from periplus.publish.logs.dns_lookups import LedgerAnswers
from periplus.publish.logs.identity import Verdict, read_ranges, verdict
from periplus.urls import canonical

MOST_COUNTED: Final = 10_000
"""Different visits that are counted in a minute; more are not."""
MOST_ADDRESSES: Final = 10_000
"""Addresses whose verdicts are remembered; the largest crawlers use a few thousand."""
VISITS_KEPT: Final = 30 * 1_440
"""Minutes for which counted visits are kept."""
LONGEST_PATH: Final = 512
"""Letters of a path that are kept."""
_VERIFIED: Final = {Verdict.VERIFIED: 1, Verdict.UNKNOWN: 0, Verdict.FALSE: -1}
_Key = tuple[int, str, str, int, int]
"""Minute, crawler, path, status, and whether it is verified (1), a false claim (-1) or cannot be checked (0)."""


class CrawlerVisits:
    """The visits of one process since they were last written. `ledger` is read while requests are answered."""

    def __init__(self, ledger: Ledger, origin: str, clock: Callable[[], float]) -> None:
        self._origin = origin
        self._clock = clock
        self._crawler_of = known_agents().crawler_of
        self._ranges = read_ranges(ledger.path.parent / "ranges")[0]
        self._answers = LedgerAnswers(ledger, clock=clock)
        self._verdicts: dict[tuple[str, str], int] = {}
        self._counts: dict[_Key, list[int]] = {}

    def count(self, agent: str, address: str, path: str, status: int, size: int) -> None:
        """Count an answer, if it went to a crawler."""
        crawler = self._crawler_of(agent)
        if crawler is None:
            return
        verified = self._verified(crawler, address) if crawler.suffixes or crawler.ranges else 0
        key = (int(self._clock() // 60), crawler.name, path[:LONGEST_PATH], status, verified)
        found = self._counts.get(key)
        if found is not None:
            found[0] += 1
            found[1] += size
        elif len(self._counts) < MOST_COUNTED:
            self._counts[key] = [1, size]

    def _verified(self, crawler: Crawler, address: str) -> int:
        key = (crawler.name, address)
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) >= MOST_ADDRESSES:
                self._verdicts.clear()
            answer = self._answers.answers([address]).get(address)
            found = self._verdicts[key] = _VERIFIED[verdict(crawler, address, self._ranges, answer)]
        return found

    def write(self, ledger: Ledger) -> None:
        """Write what was counted, in the thread that writes; verdicts are made again after that."""
        counts, self._counts = self._counts, {}
        self._verdicts = {}
        self._ranges = read_ranges(ledger.path.parent / "ranges")[0]
        if not counts:
            return
        with ledger.writing() as db:
            for key, (hits, size) in sorted(counts.items()):
                needless = self._needless(ledger, key, hits) if key[3] == 200 else 0
                db.execute(
                    "insert into visits values(?,?,?,?,?,?,?,?) on conflict do update set hits = hits + excluded.hits,"
                    " bytes = bytes + excluded.bytes, needless = needless + excluded.needless",
                    (*key, hits, size, needless),
                )
            db.execute("delete from visits where minute < ?", (int(self._clock() // 60) - VISITS_KEPT,))

    def _needless(self, ledger: Ledger, key: _Key, hits: int) -> int:
        """How often a page was sent in a minute that had not changed since the last visit of the same crawler.

        What comes from addresses that are not the crawler's is not its visit.
        """
        minute, crawler, path, _, verified = key
        sql = "select coalesce(lastmod, first_seen) from resources where url = ? and gone is null"
        found = ledger.db.execute(sql, (canonical(self._origin + path),)).fetchone()
        if found is None or len(path) >= LONGEST_PATH:
            return 0
        sql = (
            "select max(minute) from visits where agent = ? and path = ? and minute <= ? and verified = ?"
            " and status in (200, 304)"
        )
        (before,) = ledger.db.execute(sql, (crawler, path, minute, verified)).fetchone()
        is_again = before is not None and before * 60 >= found[0]
        return hits if is_again else hits - 1
