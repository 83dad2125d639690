"""The folder of a state: who may hold it, what survives, and what is said of one that cannot be read."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from periplus.model import (
    CollectionDamaged,
    CollectionError,
    CollectionInUse,
    FirstSeen,
    InvariantError,
    Lane,
    Queued,
    Site,
    Source,
    Url,
    UrlRecord,
)
from periplus.store import DiskState, Replica

SITE = Site("a.test")


def record(number: int) -> UrlRecord:
    return UrlRecord(Url(f"https://a.test/{number}"), (FirstSeen(Source.LINK, 1.0),))


def entry(number: int, site: Site = SITE) -> Queued:
    return Queued(Url(f"https://{site}/{number}"), site, Lane.DISCOVERY, 3)


def in_another_process(code: str, folder: Path, *, limit: str = "") -> str:
    """What a Python of its own prints, with `folder` as a Path."""
    start = f"from pathlib import Path\nfrom periplus.store import DiskState\nfolder = Path({str(folder)!r})\n"
    done = subprocess.run([sys.executable, "-c", limit + start + code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_what_is_not_committed_has_not_happened(tmp_path: Path) -> None:
    """Closing keeps the last commit, and nothing after it."""
    state = DiskState(tmp_path)
    state.records.add_new([record(1)])
    state.queues.push([entry(1)])
    state.commit()
    state.records.add_new([record(2)])
    state.queues.push([entry(2)])
    state.close()
    state = DiskState(tmp_path)
    assert state.records.get([record(1).url, record(2).url]) == [record(1), None]
    assert [ticket.entry for ticket in state.queues.heads(SITE, Lane.DISCOVERY, 9)] == [entry(1)]
    assert len(state.records) == len(state.queues) == state.queues.length(SITE, Lane.DISCOVERY) == 1
    state.check_invariants()
    state.close()


def test_places_are_not_given_again_after_a_restart(tmp_path: Path) -> None:
    """A ticket of an earlier life never names a later entry."""
    state = DiskState(tmp_path)
    state.queues.push([entry(1)])
    tickets = state.queues.heads(SITE, Lane.DISCOVERY, 1)
    state.queues.remove(tickets)
    state.commit()
    state.close()
    state = DiskState(tmp_path)
    state.queues.push([entry(2)])
    state.queues.remove(tickets)
    assert len(state.queues) == 1
    state.close()


def test_one_process_holds_a_folder(tmp_path: Path) -> None:
    """A second opener is told who is there, here and in another process; after the end the folder is free."""
    state = DiskState(tmp_path)
    with pytest.raises(CollectionInUse, match="is in use by process"):
        DiskState(tmp_path)
    assert in_another_process("try: DiskState(folder)\nexcept Exception as e: print(type(e).__name__)", tmp_path) == (
        "CollectionInUse"
    )
    state.close()
    assert in_another_process("DiskState(folder).close()\nprint('held')", tmp_path) == "held"


@pytest.mark.parametrize("is_copied", [False, True])
def test_a_state_that_could_not_be_opened_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_copied: bool
) -> None:
    """Whichever step fails: the same process may try again."""

    def failing(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for step in ("periplus.store.state.disk.note_begun", "periplus.store.state.files.os.pwrite"):
        monkeypatch.setattr(step, failing)
        with pytest.raises(OSError, match="No space left"):
            DiskState(tmp_path / "state", replica=Replica(tmp_path / "home") if is_copied else None)
        monkeypatch.undo()
    DiskState(tmp_path / "state", replica=Replica(tmp_path / "home") if is_copied else None).close()


@pytest.mark.proof
def test_another_process_reads_the_last_commit_meanwhile(tmp_path: Path) -> None:
    """A reader needs no lock, and sees nothing that is not committed."""
    state = DiskState(tmp_path)
    state.records.add_new([record(1)])
    state.commit()
    state.records.add_new([record(2)])
    look = "s = DiskState.read_only(folder)\nprint(len(s.records), [r.url for r in s.records.of_site('a.test')])"
    assert in_another_process(look, tmp_path) == "1 ['https://a.test/1']"
    state.commit()
    assert in_another_process(look, tmp_path).startswith("2 ")
    state.close()


def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    """Writing through a reader is our mistake."""
    DiskState(tmp_path).close()
    reader = DiskState.read_only(tmp_path)
    with pytest.raises(InvariantError):
        reader.mark("x", b"")
    reader.close()


def test_there_must_be_something_to_read(tmp_path: Path) -> None:
    """A reader makes no state, and says that there is none."""
    with pytest.raises(CollectionError, match="no state"):
        DiskState.read_only(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("damage", ["noise", "text", "short", "head"])
def test_damage_is_said_when_the_folder_is_opened(tmp_path: Path, damage: str) -> None:
    """A file that is none, or not all there, is an error with a next step and never a crash of the process."""
    state = DiskState(tmp_path)
    state.records.add_new([record(number) for number in range(2000)])
    state.commit()
    state.close()
    data = tmp_path / "data.mdb"
    whole = data.read_bytes()
    damaged = {
        "noise": b"\xa5" * len(whole),
        "text": b"not a database",
        "short": whole[: len(whole) // 2],
        "head": bytes(8192) + whole[8192:],
    }
    data.write_bytes(damaged[damage])
    with pytest.raises(CollectionDamaged) as error:
        DiskState(tmp_path)
    assert error.value.hint
    data.write_bytes(whole)
    DiskState(tmp_path).close()  # the failed attempt holds nothing


def test_another_format_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of a later version is refused, not read as if it were ours."""
    monkeypatch.setattr("periplus.store.state.marks.FORMAT", b"999")
    DiskState(tmp_path).close()
    monkeypatch.undo()
    with pytest.raises(CollectionDamaged, match="format 999"):
        DiskState(tmp_path)


def test_a_full_map_says_so_and_keeps_the_last_commit(tmp_path: Path) -> None:
    """Beyond the map nothing more is taken, what was committed stays, and a larger map goes on from there."""
    state = DiskState(tmp_path, map_size=1 << 20)
    state.records.add_new([record(1)])
    state.commit()
    with pytest.raises(CollectionError, match="full") as error:
        state.records.add_new([record(number) for number in range(10, 20_000)])
    assert "map_size" in error.value.hint
    with pytest.raises(CollectionError, match="closed"):
        state.commit()
    with pytest.raises(CollectionError, match="closed"):
        state.records.add_new([record(2)])
    state.close()
    state = DiskState(tmp_path)
    assert len(state.records) == 1
    state.records.add_new([record(number) for number in range(10, 12_010)])
    state.commit()
    assert len(state.records) == 12_001
    state.close()


def test_the_default_map_is_not_a_file_size(tmp_path: Path) -> None:
    """A new state takes kilobytes of disk, not the map's terabyte."""
    DiskState(tmp_path).close()
    assert (tmp_path / "data.mdb").stat().st_size < 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on address space is kept by Linux")
def test_where_address_space_is_short_the_map_is_smaller(tmp_path: Path) -> None:
    """A limit on address space makes the map smaller instead of the crawl impossible."""
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))\n"
    code = "s = DiskState(folder)\ns.mark('x', b'1')\ns.commit()\nprint(s.marked('x'))"
    assert in_another_process(code, tmp_path, limit=limit) == "b'1'"


def test_lengths_survive_many_queues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths that are written before a commit, because they are many, are the same as those held."""
    monkeypatch.setattr("periplus.store.state.queues.MAX_HELD", 10)
    state = DiskState(tmp_path)
    for turn in range(3):
        state.queues.push([entry(turn, Site(f"s{number}.test")) for number in range(35)])
    state.queues.remove(state.queues.heads(Site("s7.test"), Lane.DISCOVERY, 2))
    state.commit()
    assert [state.queues.length(Site(f"s{number}.test"), Lane.DISCOVERY) for number in (0, 7, 34)] == [3, 1, 3]
    state.check_invariants()
    state.close()


def test_an_invariant_that_does_not_hold_is_found(tmp_path: Path) -> None:
    """The check can fail: a queue entry taken away behind the counts is seen."""
    state = DiskState(tmp_path)
    state.queues.push([entry(1), entry(2)])
    state.queues._queues.delete(state.queues.heads(SITE, Lane.DISCOVERY, 1)[0].place)
    with pytest.raises(InvariantError, match="lengths"):
        state.check_invariants()
    state.close()


def test_batches_are_offered_only_once_committed(tmp_path: Path) -> None:
    """A number that another shard has seen must never be given to another batch."""
    state = DiskState(tmp_path, shard=4)
    state.exchange.send(1, [])
    assert state.exchange.unsent(1, 9) == []
    state.commit()
    state.close()
    state = DiskState(tmp_path, shard=4)
    (batch,) = state.exchange.unsent(1, 9)
    assert (batch.sender, batch.receiver, batch.number) == (4, 1, 1)
    state.close()


def test_room_that_was_taken_and_given_back_is_not_damage(tmp_path: Path) -> None:
    """A transaction that takes new room and gives it back leaves a file that can be opened.

    It must have older room for what it does write: else that is written at the end, and the file is long enough.
    """
    state = DiskState(tmp_path)
    for _ in range(4):
        for text in (b"x" * 400_000, b""):
            state.forest.remember("small", text)
            state.commit()
        state.mark("turn", b"over")
        state.commit()
    for text in (b"x" * 4_000_000, b""):
        state.forest.remember("large", text)
    state.commit()
    state.close()
    DiskState(tmp_path).close()
