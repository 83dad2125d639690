"""Plants bugs in a copy of the sources, one at a time, and runs the tests that must find each.

    python -m tests.faults.planted               # all of them
    python -m tests.faults.planted "lock"        # those whose names contain this

A test suite is worth what it finds. Each bug here is one that a tired person could write: a sync left out, two lines
swapped, a bound off by one. The exit code is 1 if a bug is missed, or cannot be planted since the line has changed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).resolve().parents[2]
LIMIT: Final = 300.0
"""Seconds after which the tests of one bug count as hanging, which is a way to find it."""

FAULTS: Final = "tests/faults/test_faulty_crawls.py"
LINES: Final = "tests/faults/test_planted_lines.py"
DURABLE: Final = "tests/faults/test_durable_files.py"
REPLAY: Final = "tests/properties/test_replay.py"
POLITENESS: Final = "tests/properties/test_politeness.py"
REACH: Final = "tests/engine/frontier/test_reach.py"
ROBOTS: Final = "tests/engine/frontier/test_robots_requests.py"
EXCHANGE: Final = "tests/conformance/test_exchange.py"
SET_BACK: Final = "tests/engine/test_clock_set_back.py"
LOST: Final = "tests/faults/test_lost_machines.py"
LMDB: Final = "tests/faults/test_lmdb_faults.py"
WARC: Final = "tests/store/warc/test_archive_durability.py"
DOWN: Final = "tests/engine/frontier/test_outages.py"
OUTAGES: Final = "tests/outages/test_outages.py"
ADDRESSES: Final = "tests/engine/frontier/test_addresses.py"
SETBACKS: Final = "tests/engine/frontier/test_frontier_setbacks.py"
SITEMAPS: Final = "tests/engine/sitemaps/test_scheduler.py"


class Bug(Struct, frozen=True):
    """In the file `path` below `src/periplus`, `old` becomes `new`; one of `tests` must fail."""

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]


BUGS: Final = (
    Bug(
        "the archive is not synced before a commit", "engine/engine.py",
        "        self._archive.sync()\n", "", (DURABLE,),
    ),
    Bug(
        "the state is committed before the archive is synced", "engine/engine.py",
        "        self._archive.sync()\n"
        "        tables = self._tables.settle() if is_last else self._tables.checkpoint()\n"
        "        meta = self._machine.flush()\n        self._commits += 1\n"
        "        meta.commits, meta.archive, meta.tables = self._commits, self._archive.end, tables\n"
        "        self._state.put_meta(meta)\n        self._state.commit()\n",
        "        tables = self._tables.settle() if is_last else self._tables.checkpoint()\n"
        "        meta = self._machine.flush()\n        self._commits += 1\n"
        "        meta.commits, meta.archive, meta.tables = self._commits, self._archive.end, tables\n"
        "        self._state.put_meta(meta)\n        self._state.commit()\n        self._archive.sync()\n",
        (DURABLE,),
    ),
    Bug(
        "the sync of a WARC file does nothing", "store/warc/archive.py",
        "            os.fsync(self._fd)\n", "            pass\n", (DURABLE,),
    ),
    Bug(
        "rows of tables are not synced", "store/tables/spool.py",
        "            _sync(self._file.fileno())\n", "", (DURABLE,),
    ),
    Bug(
        "the log is written after an input is applied", "engine/engine.py",
        "        self._log.append(inputs)\n        for each in inputs:\n"
        "            effects = self._machine.apply(each)\n",
        "        for each in inputs:\n"
        "            effects = self._machine.apply(each)\n            self._log.append([each])\n",
        (REPLAY,),
    ),
    Bug(
        "checksums of logged inputs are ignored", "engine/log.py",
        "if len(body) != length or xxh3_64_intdigest(body) != checksum:", "if len(body) != length:",
        ("tests/engine/test_log.py",),
    ),
    Bug(
        "a log may point beyond the archive", "engine/log.py",
        "                if not _is_whole(self._archive, end, logged.end):\n                    break\n", "",
        ("tests/engine/test_log.py", FAULTS),
    ),
    Bug(
        "the rest of a short write is dropped", "store/warc/archive.py",
        "while written < len(data):", "while written < 0:", (WARC, FAULTS),
    ),
    Bug(
        "a failed write leaves half a record", "store/warc/archive.py",
        "            os.ftruncate(self._fd, self.length)\n            raise CollectionError(\n"
        '                f"{self.path} cannot be written',
        '            raise CollectionError(\n                f"{self.path} cannot be written',
        (WARC,),
    ),
    Bug(
        "a file is not synced before it gets its name", "store/durable.py",
        '    with draft.open("rb") as file:\n        os.fsync(file.fileno())\n', "", (DURABLE,),
    ),
    Bug(
        "the name of a file that was replaced is not synced", "store/durable.py",
        "    draft.replace(path)\n    sync_folder(path.parent)\n", "    draft.replace(path)\n", (DURABLE,),
    ),
    Bug(
        "a spool is removed before its Parquet file is committed", "store/tables/table.py",
        "        self._spent.append(self._spool.path)\n", "        self._spool.path.unlink()\n",
        (DURABLE, "tests/properties/test_tables_exactly_once.py"),
    ),
    Bug(
        "the seal of a state is not broken by a writer", "store/state/environment.py",
        "                break_seal(self._folder / DATA)\n", "                pass\n", (LINES,),
    ),
    Bug(
        "the lock of a state is released early", "store/state/files.py",
        "        return FolderLock(folder, _OWNER)\n",
        "        lock = FolderLock(folder, _OWNER)\n        lock.close()\n        return lock\n",
        ("tests/store/state/test_disk.py",),
    ),
    Bug(
        "a lease is counted twice", "engine/frontier/frontier.py",
        "        self._pages_out += lease.is_of_page\n", "        self._pages_out += 2 * lease.is_of_page\n",
        (POLITENESS,),
    ),
    Bug(
        "requests under way are forgotten by a restart", "engine/frontier/leases.py",
        "        leases = list(self._leases.values())\n        self._leases.clear()\n",
        "        leases = []\n        self._leases.clear()\n", ("tests/engine/frontier/test_frontier_restart.py",),
    ),
    Bug(
        "a checkpoint forgets where seeds have moved to", "engine/machine.py",
        "            moved=self.router.moved,\n", "",
        ("tests/engine/test_machine_restart.py", "tests/properties/test_shards_exactly_once.py"),
    ),
    Bug(
        "a checkpoint forgets what is read of sitemaps", "engine/sitemaps/scheduler.py",
        "SitemapState(unread, ", "SitemapState([], ", (REPLAY,),
    ),
    Bug(
        "the delay of a site begins with the request, not with its end", "engine/frontier/reports.py",
        'ended_at = getattr(outcome, "started_at", now) + active.record.last_duration',
        'ended_at = getattr(outcome, "started_at", now)', (POLITENESS,),
    ),
    Bug(
        "sites do not rest again after a restart", "engine/frontier/schedule.py",
        "max(at, now + max(self._delay_of(active.record), self.addresses.longest_pause))", "at",
        ("tests/engine/frontier/test_schedule.py",),
    ),
    Bug(
        "robots.txt with status 429 allows everything", "engine/frontier/robots.py",
        "if 400 <= status < 500 and status != 429:", "if 400 <= status < 500:", (LINES,),
    ),
    Bug(
        "robots.txt with status 503 allows everything", "engine/frontier/robots.py",
        'return RobotsFile(site, "none", b"", now, now + LEAST_FRESH, status, reason)',
        'return RobotsFile(site, "all", b"", now, now + LEAST_FRESH, status, reason)', (ROBOTS,),
    ),
    Bug(
        "one redirect of robots.txt too many is followed", "engine/frontier/robots.py",
        "task.redirects < MAX_ROBOTS_REDIRECTS:", "task.redirects <= MAX_ROBOTS_REDIRECTS:", (ROBOTS,),
    ),
    Bug(
        "redirects in a row are not counted", "engine/pipeline.py",
        "        redirects=task.redirects + 1,\n", "        redirects=task.redirects,\n",
        (LINES,),
    ),
    Bug(
        "the bound of decompression is ignored", "content/decode.py",
        "            if size > limit:\n", "            if size > limit << 10:\n",
        ("tests/content/test_decode.py", "tests/content/test_html_bounds.py"),
    ),
    Bug(
        "what sites were charged while no server could be reached is not taken back", "engine/frontier/frontier.py",
        "                self._take_back(now)\n", "                pass\n", (REACH,),
    ),
    Bug(
        "sites are charged while no server can be reached", "engine/frontier/frontier.py",
        "return outcome if reach.cut_off is None else", "return outcome if reach is not None else", (REACH,),
    ),
    Bug(
        "only sites that failed are asked whether any server can be reached", "engine/frontier/reach.py",
        "sites = failed + sites if self.is_of_lookups else sites + failed", "sites = failed", (REACH,),
    ),
    Bug(
        "a batch of another shard is taken twice", "store/state/exchange.py",
        "if batch.number != self.taken(batch.sender) + 1:", "if batch.number > self.taken(batch.sender) + 1:",
        (EXCHANGE,),
    ),
    Bug(
        "batches leave before they are committed", "store/state/exchange.py",
        "min(first + limit, self._committed.get(receiver, 0) + 1)", "min(first + limit, self.sent(receiver) + 1)",
        (LINES,),
    ),
    Bug(
        "a URL is tried once too often", "engine/frontier/politeness.py",
        "failures < settings.max_attempts", "failures <= settings.max_attempts", (POLITENESS,),
    ),
    Bug(
        "pushed URLs are removed before they are committed", "engine/sharding/crawl.py",
        "            if not future.done():\n                return\n            self._taken = None\n"
        "            if future.exception() is None:\n",
        "            self._taken = None\n            if not future.cancelled():\n",
        ("tests/faults/test_pushed_urls.py",),
    ),
    Bug(
        "the clock follows the machine's", "engine/clock.py",
        "        real = self._offset + self._monotonic()\n", "        real = time.time()\n",
        ("tests/engine/test_clock.py",),
    ),
    Bug(
        "revisits are not brought back with the clock", "engine/revisit/revisits.py",
        "        if is_set_back:\n", "        if not is_set_back and not now:\n", (SET_BACK,),
    ),
    Bug(
        "a visit of a time to come is kept", "engine/revisit/freshness.py",
        "if page.visited_at > now else record", "if page.visited_at < 0 else record", (SET_BACK,),
    ),
    Bug(
        "a checkpoint forgets when requests were last granted", "engine/revisit/revisits.py",
        "            latest_at=self._latest_at,\n", "", (SET_BACK,),
    ),
    Bug(
        "a change is taken for noise after the clock was set back", "engine/comparison.py",
        "            seen_at = min(seen_at, self._revisits.visited_at(record))\n", "            pass\n",
        (SET_BACK,),
    ),
    Bug(
        "a commit of LMDB that cannot be written is called damage", "store/state/files.py",
        "if is_commit and code in (errno.EIO, errno.EFBIG):", "if is_commit and code == errno.EFBIG:", (LMDB,),
    ),
    Bug(
        "a revisit that failed is queued as a discovery", "engine/frontier/scores.py",
        "if ticket.entry.lane in _SCORED]", "if ticket.entry.lane not in (Lane.FILES, Lane.PROBES)]",
        ("tests/engine/frontier/test_scores_revisits.py",),
    ),
    Bug(
        "the copy of a commit is not synced", "store/state/redo.py",
        "                view = view[os.write(descriptor, view) :]\n        os.fsync(descriptor)\n",
        "                view = view[os.write(descriptor, view) :]\n", (LOST,),
    ),
    Bug(
        "the name of the copy of a commit is not synced", "store/state/redo.py",
        "            _sync_names(self.folder)\n", "", (LOST,),
    ),
    Bug(
        "a commit is made on a machine without its copy", "store/state/environment.py",
        "            if self._log is not None and changed:\n",
        "            if self._log is not None and not changed:\n", (LOST,),
    ),
    Bug(
        "a state whose commit failed is used on", "store/state/environment.py",
        "        self._abort()\n        self._is_broken = True\n        return translated",
        "        self._abort()\n        return translated", (LMDB,),
    ),
    Bug(
        "a lost page counts before another has answered", "engine/frontier/outages.py",
        "            answers.drawn += self._ask(others, 1)\n        return True\n",
        "            answers.drawn += self._ask(others, 1)\n        return False\n", (DOWN,),
    ),
    Bug(
        "pages are not asked again after an outage that was none", "engine/frontier/outages.py",
        "        self._ask(found, len(found))\n", "", (DOWN,),
    ),
    Bug(
        "one page that is there ends an outage", "engine/frontier/outages.py",
        "_BACK: Final = 2\n", "_BACK: Final = 1\n", (DOWN,),
    ),
    Bug(
        "an outage is never believed", "engine/frontier/outages.py",
        "            if now - row.since > BELIEVED_AFTER:\n", "            if now < row.since:\n", (DOWN,),
    ),
    Bug(
        "what a site answers while it is down is stored as its page", "engine/frontier/reports.py",
        "put_off(as_kept(record, after), now)", "put_off(after, now)", (OUTAGES,),
    ),
    Bug(
        "pages of a site that is given up get no next visit", "engine/frontier/selection.py",
        "                self._state.records.put([self._revisits.put_off(self.record_of(ticket.entry), now)])\n",
        "", (OUTAGES,),
    ),
    Bug(
        "the place to which a lost page redirects is fetched", "engine/frontier/frontier.py",
        "if self.outages.is_doubted(outcome.task) else outcome\n", "if False else outcome\n", (OUTAGES,),
    ),
    Bug(
        "readers see visits to lost pages before another has answered", "engine/frontier/outages.py",
        "        self._events.record([OutageSeen(site, now - _INSTANT, now + _INSTANT, NOT_DOWN, now)])\n", "", (DOWN,),
    ),
    Bug(
        "a challenge in the place of robots.txt has no rules", "engine/frontier/robots.py",
        "    return challenge_in(outcome.status, Headers(outcome.headers), body) != \"\"\n",
        "    return False\n", (ROBOTS,),
    ),
    Bug(
        "failures at an address say nothing about how much it bears", "engine/frontier/addresses.py",
        "            self.window = max(self.window / 2, 1.0)\n", "", (ADDRESSES,),
    ),
    Bug(
        "an address is kept after a failed connection", "engine/frontier/frontier.py",
        "            active.record.ip_expires_at = 0.0\n", "            pass\n", (SETBACKS,),
    ),
    Bug(
        "a site has any number of sitemaps that wait to be read", "engine/sitemaps/discovery.py",
        "            room = 0 if site in self.held else self._room(site, is_new=is_new)\n",
        "            room = len(urls)\n", (SITEMAPS,),
    ),
    Bug(
        "readers see what was shown in an outage", "store/tables/reader.py",
        "    if table in TIMES and (", "    if table in () and (", (OUTAGES,),
    ),
)  # fmt: skip


@contextmanager
def planted(bug: Bug, sources: Path) -> Iterator[None]:
    """Change the copy of the sources meanwhile."""
    path = sources / "periplus" / bug.path
    text = path.read_text()
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.name}: the line is {text.count(bug.old)} times in {bug.path}")
    path.write_text(text.replace(bug.old, bug.new))
    try:
        yield
    finally:
        path.write_text(text)


def caught(bug: Bug, sources: Path) -> str:
    """The test that fails; empty: none does."""
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--tb=no", *bug.tests,
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(sources), "HYPOTHESIS_PROFILE": "unshrunk"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return "the tests hang"
    if done.returncode not in (0, 1):
        return f"(pytest ended with {done.returncode}) {done.stdout[-200:]}"
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return "" if done.returncode == 0 else found[1] if found else "a test"


def main() -> int:
    """Plant each bug that was asked for; print what found it."""
    wanted = sys.argv[1:] or [""]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="periplus-planted-") as folder:
        sources = Path(folder) / "src"
        shutil.copytree(ROOT / "src", sources)
        for bug in BUGS:
            if any(name in bug.name for name in wanted):
                began = time.monotonic()
                with planted(bug, sources):
                    test = caught(bug, sources)
                missed += not test
                line = f"{bug.name}: {test or 'MISSED'} ({time.monotonic() - began:.0f} s)"
                print(line, flush=True)  # noqa: T201
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
