"""Records that have left the tree of new URLs are found like all others, whatever happens to the files."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from periplus.model import FirstSeen, InvariantError, Site, Source, Url, UrlRecord
from periplus.store import DiskState
from periplus.store.state import disk, fingerprints, linked, records, runs
from periplus.store.state.environment import Environment
from periplus.store.state.fingerprints import UrlPlaces
from periplus.store.state.queues import DiskQueues
from periplus.store.state.sites import SiteNames


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are moved, and files are merged, after a few URLs."""
    monkeypatch.setattr(records, "YOUNG", 8)
    monkeypatch.setattr(fingerprints, "TIER", 32)
    monkeypatch.setattr(fingerprints, "SMALLEST_PIECE", 2)
    monkeypatch.setattr(runs, "STEP", 2)


def record(number: int, visits: int = 0) -> UrlRecord:
    """URL `number` of one of seven sites."""
    return UrlRecord(Url(f"https://s{number % 7}.test/{number}"), (FirstSeen(Source.LINK, 1.0),), visits=visits)


def filled(folder: Path, count: int) -> DiskState:
    """A state with this number of URLs, most of them in files."""
    state = DiskState(folder)
    for number in range(count):
        assert state.records.add_new([record(number)]) == [None]
        if number % 3 == 0:
            state.commit()
    state.commit()
    return state


def make_old(state: DiskState) -> None:
    """Give it the format before, which had no tables of older rows."""
    environment = state.environment
    for name in ("urls", "linked"):
        environment.transaction().drop(environment.table(name)._database)
    environment.table("counters").put(b"format", b"4")
    environment.commit()


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.run"))


def assert_known(state: DiskState, count: int) -> None:
    """All of these, and none else, by every way to ask."""
    urls = [record(number).url for number in range(count + 20)]
    assert [each is not None for each in state.records.get(urls)] == [True] * count + [False] * 20
    assert len(state.records) == count
    assert sum(1 for site in range(7) for _ in state.records.of_site(Site(f"s{site}.test"))) == count


def test_files_are_few_and_those_of_before_go(tmp_path: Path) -> None:
    state = filled(tmp_path, 400)
    assert 1 <= len(state.environment.table("records")) < 8 + 3
    assert len(files_of(tmp_path)) <= 3 + 2  # those that a reader may still look for
    state.check_invariants()
    assert_known(state, 400)
    state.close()


def test_a_file_that_is_lost_or_damaged_is_written_again(tmp_path: Path) -> None:
    filled(tmp_path, 300).close()
    for damage in ("lost", "cut", "flipped"):
        path = files_of(tmp_path)[0]
        data = bytearray(path.read_bytes())
        if damage == "lost":
            path.unlink()
        else:
            data[-1] ^= 1
            path.write_bytes(bytes(data[:-8] if damage == "cut" else data))
        state = DiskState(tmp_path)
        assert_known(state, 300)
        state.check_invariants()
        state.commit()
        state.close()


def test_a_reader_without_files_makes_its_own(tmp_path: Path) -> None:
    filled(tmp_path, 300).close()
    before = files_of(tmp_path)
    for path in before:
        path.unlink()
    reader = DiskState.read_only(tmp_path)
    assert_known(reader, 300)
    reader.close()
    assert files_of(tmp_path) == []


@pytest.mark.proof
def test_a_merge_that_a_process_left_unfinished_is_begun_again(tmp_path: Path) -> None:
    """Whichever of the files are there when a process ends: all of their entries are found by the next."""
    for end in range(200, 360, 8):
        state = filled(tmp_path, 150)
        state.close()
        state = DiskState(tmp_path)
        for number in range(150, end):
            state.records.add_new([record(number)])
            if number % 8 == 0:
                state.commit()
        state.environment.close()
        state = DiskState(tmp_path)
        known = len(state.records)
        for number in range(known, 400):
            state.records.add_new([record(number)])
            if number % 8 == 0:
                state.commit()
        state.commit()
        assert len(state.records._places._runs) <= 3
        state.check_invariants()
        assert_known(state, 400)
        state.close()
        shutil.rmtree(tmp_path)


WRITER = """
import sys
from pathlib import Path
from periplus.store import DiskState
from periplus.store.state import fingerprints, records, runs
from tests.store.state.test_fingerprints import record
records.YOUNG, fingerprints.TIER, fingerprints.SMALLEST_PIECE, runs.STEP = 8, 32, 2, 2
state = DiskState(Path(sys.argv[1]))
for line in sys.stdin:
    for number in range(int(line) - 20, int(line)):
        state.records.add_new([record(number)])
    state.commit()
    print(flush=True)
"""


@pytest.mark.proof
@pytest.mark.parametrize("is_old", [False, True])
def test_a_reader_follows_a_writer(tmp_path: Path, is_old: bool) -> None:
    """Also one that opened a state of the format before, which had no table of older rows."""
    state = filled(tmp_path, 5)
    if is_old:
        make_old(state)
    state.close()
    reader = DiskState.read_only(tmp_path)
    assert_known(reader, 5)
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        for count in range(25, 405, 20):
            writer.stdin.write(f"{count}\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "\n"
            reader.commit()
            assert_known(reader, count)
        writer.stdin.close()
    reader.close()


def test_a_reader_is_opened_while_rows_are_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that it looks into are those of the commit that it reads."""
    filled(tmp_path, 5).close()
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        stdin, stdout = writer.stdin, writer.stdout

        def after_a_commit(environment: Environment, names: SiteNames) -> DiskQueues:
            stdin.write("25\n")
            stdin.flush()
            assert stdout.readline() == "\n"
            return DiskQueues(environment, names)

        monkeypatch.setattr(disk, "DiskQueues", after_a_commit)
        reader = DiskState.read_only(tmp_path)
        assert_known(reader, 25)
        reader.close()
        stdin.close()


def test_what_a_process_had_not_committed_is_removed(tmp_path: Path) -> None:
    state = filled(tmp_path, 100)
    committed = {path.name: path.read_bytes() for path in files_of(tmp_path)}
    state.records.add_new([record(number) for number in range(100, 130)])
    state.records.move_young()
    state.records.flush()
    (tmp_path / ".fingerprints-000099.run.1-1.new").write_bytes(b"half")
    state.environment.close()  # as a process that ends: nothing of it was committed
    assert len(files_of(tmp_path)) > len(committed)
    state = DiskState(tmp_path)
    assert_known(state, 100)
    assert {path.name for path in files_of(tmp_path)} <= set(committed)
    assert not list(tmp_path.glob(".*.new"))
    state.close()


def test_a_state_of_the_format_before_is_taken_over_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All records are in one table there, and a reader finds no other."""
    with monkeypatch.context() as before:
        before.setattr(records, "YOUNG", 1000)
        state = filled(tmp_path, 100)
        assert not files_of(tmp_path)
        make_old(state)
        state.close()
    reader = DiskState.read_only(tmp_path)
    assert_known(reader, 100)
    reader.close()
    state = DiskState(tmp_path)
    state.commit()
    assert len(state.environment.table("records")) == 100 - 16
    for _ in range(10):
        state.commit()
        assert_known(state, 100)
    assert len(state.environment.table("records")) < 8
    state.close()


def links(numbers: range, at: float, source: Source = Source.LINK) -> list[UrlRecord]:
    """URLs as they are found at this time."""
    return [replace(record(number), first_seen=(FirstSeen(source, at),)) for number in numbers]


def test_a_link_to_a_url_that_a_link_named_before_reads_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link found earlier, another source, and a refused URL read it."""
    state = filled(tmp_path, 100)
    state.records.put([replace(record(number), reason="endless") for number in range(10)])
    older, moved = state.environment.table("urls"), range(10, 90)
    read: list[int] = []
    get_many = older.get_many

    def counted(keys: Iterable[bytes]) -> dict[bytes, bytes]:
        keys = list(keys)
        read.append(len(keys))
        return get_many(keys)

    monkeypatch.setattr(state.records._older, "get_many", counted)
    state.records.forget_recent()
    assert state.records.add_new(links(moved, 5.0)) == links(moved, 5.0)
    assert sum(read) == 0
    for asked in (links(moved, 0.5), links(moved, 5.0, Source.SITEMAP)):
        state.records.forget_recent()
        assert state.records.add_new(asked) == [record(number) for number in moved]
        assert sum(read) == len(moved)
        read.clear()
    state.records.forget_recent()
    assert [each and each.reason for each in state.records.add_new(links(range(10), 5.0))] == ["endless"] * 10
    assert sum(read) == 10
    state.check_invariants()
    state.close()


def test_urls_that_have_moved_are_not_looked_up_among_the_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = filled(tmp_path, 100)
    asked: list[bytes] = []
    get_many = state.records._table.get_many

    def counted(keys: Iterable[bytes]) -> dict[bytes, bytes]:
        asked.extend(keys)
        return get_many(keys)

    monkeypatch.setattr(state.records._table, "get_many", counted)
    state.records.forget_recent()
    state.records.add_new(links(range(120), 5.0))
    new = len(state.environment.table("records")) - 20
    assert len(asked) == new + 20
    state.close()


def test_both_of_two_findings_in_a_batch_are_answered(tmp_path: Path) -> None:
    """One needs no row, the other does."""
    state = filled(tmp_path, 100)
    for order in (1, -1):
        state.records.forget_recent()
        both = [*links(range(3, 4), 5.0), *links(range(3, 4), 6.0, Source.SITEMAP)][::order]
        found = state.records.add_new(both)[::order]
        assert found[1] == record(3)
        assert found[0] in (record(3), both[::order][0])
    state.close()


def test_a_bit_that_does_not_belong_to_its_row_is_noticed(tmp_path: Path) -> None:
    state = filled(tmp_path, 100)
    table = state.environment.table("linked")
    ((key, bits), *_) = table.walk()
    state.records.put([replace(record(0), reason="endless")])
    state.check_invariants()
    table.put(key, bits)
    with pytest.raises(InvariantError):
        state.check_invariants()
    state.close()


def test_sites_that_share_a_fingerprint_are_told_apart(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    places = UrlPlaces(environment, lambda: iter(()))
    rows = [
        (site.to_bytes(4, "big") + bytes(7) + bytes([number]), site.to_bytes(4, "big") + bytes(3) + bytes([number]))
        for site in range(40)
        for number in range(3)
    ]
    Random(1).shuffle(rows)
    for start in range(0, len(rows), 8):
        places.add(rows[start : start + 8])
        places.flush()
    assert places.find([key for key, _ in rows]) == dict(rows)
    assert places.find([b"\0\0\1\0" + bytes(8), bytes(4) + b"\xff" * 8]) == {}
    places.forget_sites([bytes(4), b"\0\0\0\x27"])
    left = {key: place for key, place in rows if key[:4] not in (bytes(4), b"\0\0\0\x27")}
    assert places.find([key for key, _ in rows]) == left
    places.forget_sites([site.to_bytes(4, "big") for site in range(40)])
    assert not places.has_files
    environment.close()


def test_a_merge_takes_as_many_commits_as_it_has_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of the files, unless pieces would be very small."""
    monkeypatch.setattr(fingerprints, "PIECES", 10)
    monkeypatch.setattr(runs, "STEP", 10)
    for entries, smallest, least, most in ((400, 10, 9, 11), (400, 200, 2, 3), (800, 10, 9, 11)):
        monkeypatch.setattr(fingerprints, "SMALLEST_PIECE", smallest)
        environment = Environment(tmp_path / f"{entries}-{smallest}")
        places = UrlPlaces(environment, lambda: iter(()), tier=entries // 10)
        rows = [(bytes(4) + Random(number).randbytes(8), number.to_bytes(8, "big")) for number in range(entries)]
        places.add(rows[entries // 10 :])
        places.add(rows[: entries // 10])
        count = 0
        while len(places._runs) > 1:
            assert places.find([key for key, _ in rows]) == dict(rows)
            places.flush()
            count += 1
        assert least <= count - 1 <= most
        assert places.find([key for key, _ in rows]) == dict(rows)
        environment.close()


sightings = st.builds(FirstSeen, st.sampled_from([Source.LINK, Source.SITEMAP]), st.sampled_from([0.5, 1.0, 2.0]))


def changes_nothing(found: UrlRecord, known: UrlRecord) -> bool:
    """Whether a URL is found by a link as it was before, and was not refused."""
    (seen,) = found.first_seen
    before = [each.at for each in known.first_seen if each.source is Source.LINK]
    is_refused = bool(known.reason) and not known.visits
    return seen.source is Source.LINK and bool(before) and seen.at >= max(before) and not is_refused


class Records(RuleBasedStateMachine):
    """Any order of calls, commits, kills and moves of sites, beside a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.patch = pytest.MonkeyPatch()
        merging = ((fingerprints, "TIER", 32), (fingerprints, "SMALLEST_PIECE", 2), (runs, "STEP", 2))
        sizes = ((records, "YOUNG", 8), *merging, (linked, "REMEMBERED", 2))
        for module, name, value in sizes:
            self.patch.setattr(module, name, value)

    @initialize()
    def begin(self) -> None:
        self.state = DiskState(self.folder)
        self.known: dict[Url, UrlRecord] = {}
        self.committed: dict[Url, UrlRecord] = {}

    @rule(numbers=st.lists(st.integers(0, 300), max_size=30), seen=st.lists(sightings, min_size=1, max_size=3))
    def add_new(self, numbers: list[int], seen: list[FirstSeen]) -> None:
        batch = [replace(record(number), first_seen=(seen[number % len(seen)],)) for number in numbers]
        for found, each in zip(self.state.records.add_new(batch), batch, strict=True):
            known = self.known.get(each.url)
            assert found == known or (found == each and known is not None and changes_nothing(each, known))
            self.known.setdefault(each.url, each)

    @rule(
        numbers=st.lists(st.integers(0, 300), max_size=10),
        visits=st.integers(0, 2),
        reason=st.sampled_from(["", "endless"]),
        seen=st.lists(sightings, max_size=3),
    )
    def put(self, numbers: list[int], visits: int, reason: str, seen: list[FirstSeen]) -> None:
        changed = [replace(record(number, visits), first_seen=tuple(seen), reason=reason) for number in numbers]
        self.state.records.put(changed)
        self.known |= {each.url: each for each in changed}

    @rule()
    def commit(self) -> None:
        self.state.commit()
        self.committed = dict(self.known)

    @rule(is_killed=st.booleans(), lost=st.integers(0, 3))
    def open_again(self, is_killed: bool, lost: int) -> None:
        if not is_killed:
            self.commit()
        self.state.close()
        for path in files_of(self.folder)[:lost]:
            path.unlink()
        self.state = DiskState(self.folder)
        self.known = dict(self.committed)

    @rule(number=st.integers(0, 6))
    def clear_site(self, number: int) -> None:
        site = Site(f"s{number}.test")
        for _ in self.state.records.remove(site):
            pass
        self.state.records.forget_sites([site])
        self.known = {url: each for url, each in self.known.items() if f"//{site}/" not in url}

    @invariant()
    def all_are_found(self) -> None:
        if hasattr(self, "state"):
            urls = [record(number).url for number in range(0, 301, 3)]
            self.state.records.forget_recent()
            assert self.state.records.get(urls) == [self.known.get(url) for url in urls]
            assert len(self.state.records) == len(self.known)
            self.state.records.check_invariants()

    def teardown(self) -> None:
        if hasattr(self, "state"):
            self.state.close()
        self.patch.undo()
        shutil.rmtree(self.folder)


Records.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestRecords = Records.TestCase
