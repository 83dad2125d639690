"""Killed at any moment and opened again at the last committed mark, the tables hold every committed row exactly once.

A crash is real but for the power: an audit hook of the interpreter stops the writer in front of the n-th time that it
opens, renames, removes or cuts a file, and whatever lies on disk then is what the next process finds.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.hypothesis_depth import examples

from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    Digests,
    Directives,
    Discovery,
    Event,
    Link,
    Links,
    PageRead,
    ParsedPage,
    Relations,
    SitemapEntriesRead,
    SitemapEntry,
    Source,
    Url,
    UrlDiscovered,
)
from periplus.store.tables import SCHEMAS, Spooled, Tables, TableSettings, count_rows, read
from periplus.store.tables.files import damaged_files, files_of
from periplus.store.tables.manifest import read_manifest
from periplus.store.tables.writer import surviving_mark

SMALL = TableSettings(rows_per_group=3, rows_per_file=8, bytes_in_memory=10_000)
PREFIX = "periplus-tables-"
KEYS = {"discoveries": "url", "pages": "url", "links": "anchor", "sitemap_entries": "url", "changes": "url"}
"""The tables that are written here, and the column that tells their rows apart."""


class Killed(BaseException):
    """The process is no more. No handler of the code under test may catch it."""


class Executioner:
    """Counts what the writer does to the disk, and strikes when told to."""

    EVENTS = frozenset({"open", "os.rename", "os.remove", "os.truncate", "os.mkdir"})
    """And `open` comes before every folder is synced, and every file that is renamed."""

    def __init__(self) -> None:
        self.strike_in: int | None = None
        sys.addaudithook(self)  # it cannot be taken away again, only be idle

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        if self.strike_in is None or event not in self.EVENTS or PREFIX not in str(args[0]):
            return
        self.strike_in -= 1
        if self.strike_in < 0:
            self.strike_in = None
            raise Killed


EXECUTIONER = Executioner()


def url(number: int) -> Url:
    return Url(f"http://site{number % 3}.example/{number}")


def page(number: int, links: int) -> ParsedPage:
    return ParsedPage(
        url(number), url(number), "UTF-8", "text/html", "", "", "", "", "",
        Links.of(Link(url(other), f"{number} to {other}") for other in range(links)),
        (), Relations(), Directives(), None, None, (), b"", Digests(1, 2, 3, 2**64 - 1),
    )  # fmt: skip


class CrashingTables(RuleBasedStateMachine):
    """One shard that is killed often, against plain lists."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.number = 0
        self.mark: bytes | None = None
        self.committed: dict[str, list[str]] = {name: [] for name in KEYS}
        self.pending: dict[str, list[str]] = {name: [] for name in KEYS}
        self.open()

    def open(self) -> None:
        self.tables = Tables(self.root / "tables", self.root / "spool", SMALL, shard=7, mark=self.mark)

    def teardown(self) -> None:
        self.tables.close()
        shutil.rmtree(self.root)

    def note(self, table: str, *keys: str) -> None:
        self.pending[table] += keys

    @rule(count=st.integers(1, 12), links=st.integers(0, 5))
    def record(self, count: int, links: int) -> None:
        """Something happens."""
        for _ in range(count):
            self.number += 1
            at = 1.7e9 + self.number
            name = url(self.number)
            read_page = page(self.number, links)
            found = Discovery(name, Source.LINK, at)
            events: list[Event] = [UrlDiscovered(found, True), PageRead(read_page, at)]
            self.note("discoveries", name)
            self.note("pages", name)
            self.note("links", *read_page.links.anchors)
            if self.number % 4 == 0:
                events.append(ChangeSeen(name, at, ChangeLevel.MAJOR))
                events.append(SitemapEntriesRead(name, at, (SitemapEntry(f"{name}/a"), SitemapEntry(f"{name}/b"))))
                self.note("changes", name)
                self.note("sitemap_entries", f"{name}/a", f"{name}/b")
            self.tables.record(events)

    @rule(everything=st.booleans())
    def commit(self, everything: bool) -> None:
        """A checkpoint goes well, and its mark is committed."""
        self.mark = self.tables.settle() if everything else self.tables.checkpoint()
        for table, keys in self.pending.items():
            self.committed[table] += keys
            keys.clear()
        if everything:
            in_files = {name: count_rows(self.root / "tables", name) for name in KEYS}
            assert in_files == {name: len(keys) for name, keys in self.committed.items()}

    @rule(everything=st.booleans(), after=st.none() | st.integers(0, 25))
    def kill_in_checkpoint(self, everything: bool, after: int | None) -> None:
        """Killed inside a checkpoint, or after it and before its mark was committed."""
        EXECUTIONER.strike_in = after
        with suppress(Killed):
            _ = self.tables.settle() if everything else self.tables.checkpoint()
        EXECUTIONER.strike_in = None
        self.reopen()

    @rule(after=st.integers(0, 12))
    def kill_while_opening(self, after: int) -> None:
        """Killed while it cleans up after it was killed."""
        self.tables.close()
        EXECUTIONER.strike_in = after
        with suppress(Killed):
            self.open()
        EXECUTIONER.strike_in = None
        self.reopen()

    @rule(seed=st.integers(0, 99))
    def lose_power(self, seed: int) -> None:
        """What was written and not synced may be lost in part, or be anything."""
        chance = random.Random(seed)
        for path in (self.root / "spool").iterdir():
            with path.open("ab") as file:
                file.write(chance.randbytes(chance.randrange(100)))
        self.reopen()

    def reopen(self) -> None:
        """What was on disk at the moment of death is what the next process finds."""
        dead, folder = self.tables, self.root
        self.root = Path(tempfile.mkdtemp(prefix=PREFIX))
        shutil.copytree(folder, self.root, dirs_exist_ok=True)
        dead.close()
        shutil.rmtree(folder)
        self.check_rows()
        self.open()
        self.check_nothing_is_beyond_the_mark()
        for keys in self.pending.values():
            keys.clear()

    def check_nothing_is_beyond_the_mark(self) -> None:
        """Those who read the Parquet files alone find no row that will come again; and the manifest lists no other."""
        assert damaged_files(self.root / "tables") == []
        listed = read_manifest(self.root / "tables", 7) or {}
        spooled = [Spooled(7, self.root / "spool", self.mark)]
        for table in SCHEMAS:
            committed = files_of(self.root / "tables", table, spooled)
            assert sorted((self.root / "tables" / table).iterdir()) == committed
            assert [path for path in sorted(listed) if path.startswith(f"{table}/")] == [
                str(path.relative_to(self.root / "tables")) for path in committed
            ]

    def check_rows(self) -> None:
        spooled = [Spooled(7, self.root / "spool", self.mark)]
        self.check_what_survives_without_the_mark()
        for table, column in KEYS.items():
            rows = read(self.root / "tables", table, spooled=spooled, columns=[column])
            assert rows[column].to_pylist() == self.committed[table], table
            assert count_rows(self.root / "tables", table, spooled=spooled) == len(rows)

    def check_what_survives_without_the_mark(self) -> None:
        """If the mark is lost with the state, every committed row is still found once, before what came after."""
        mark = surviving_mark(self.root / "tables", self.root / "spool", 7)
        spooled = [Spooled(7, self.root / "spool", mark)]
        for table, column in KEYS.items():
            rows = read(self.root / "tables", table, spooled=spooled, columns=[column])[column].to_pylist()
            committed = self.committed[table]
            assert rows[: len(committed)] == committed, table
            assert rows[len(committed) :] == self.pending[table][: len(rows) - len(committed)], table

    @invariant()
    def every_committed_row_is_there_once_and_in_order(self) -> None:
        """Whatever happened: a reader with the last mark finds exactly the committed rows."""
        self.check_rows()

    @invariant()
    def nothing_is_left_over(self) -> None:
        """A spool and its predecessor for each table, and no more: old ones do not pile up."""
        assert len(list((self.root / "spool").iterdir())) <= 2 * len(SCHEMAS)


TestCrashingTables = CrashingTables.TestCase
TestCrashingTables.settings = settings(max_examples=examples(3), stateful_step_count=12, deadline=None)
