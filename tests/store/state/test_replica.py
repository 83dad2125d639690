"""A state on a machine's own disk and its copy: what is committed is in the copy, and one process alone adds to it."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from periplus.model import CollectionDamaged, CollectionError, CollectionInUse
from periplus.store import DiskState, Replica, bring_home, is_begun
from periplus.store.state.redo import RedoLog


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a shard, on a path that others reach; what readers keep is kept apart."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def opened(home: Path, node: str = "node", **settings: int) -> DiskState:
    return DiskState(home.parent / node, replica=Replica(home, **settings))


def set_to(state: DiskState, value: bytes) -> None:
    state.mark("value", value)
    state.commit()


def read(home: Path) -> bytes | None:
    state = DiskState.read_only(home)
    try:
        return state.marked("value")
    finally:
        state.close()


def copied(home: Path, suffix: str) -> list[int]:
    return sorted(int(path.name.partition(".")[0]) for path in (home / "copy").glob(f"*{suffix}"))


def test_a_lost_machine_takes_no_commit_with_it(home: Path) -> None:
    """What was committed is there on another machine; what was not is not. Numbers and removals come along."""
    state = opened(home)
    for number in range(5):
        state.environment.table("t").put(b"%d" % number, b"x" * number)
        state.commit()
    state.environment.table("t").delete(b"3")
    set_to(state, b"5")
    state.mark("value", b"never committed")
    state.close()
    shutil.rmtree(home.parent / "node")
    state = opened(home, "other")
    assert dict(state.environment.table("t").walk()) == {b"%d" % number: b"x" * number for number in (0, 1, 2, 4)}
    assert state.marked("value") == b"5"
    state.close()


def test_a_local_file_goes_on_from_its_last_commit(home: Path) -> None:
    """Only what it has not is taken from the copy: the image is not read again."""
    state = opened(home)
    set_to(state, b"1")
    state.close()
    other = opened(home, "other")
    set_to(other, b"2")
    other.close()
    inode = (home.parent / "node" / "data.mdb").stat().st_ino
    state = opened(home)
    assert state.marked("value") == b"2"
    assert (home.parent / "node" / "data.mdb").stat().st_ino == inode
    state.close()


@pytest.mark.parametrize("damage", ["stranger", "torn", "ahead"])
def test_a_local_file_that_is_not_of_the_copy_is_replaced(home: Path, damage: str) -> None:
    """Be it another collection's, not whole, or of commits that the copy (put back from a backup) does not have."""
    state = opened(home)
    set_to(state, b"1")
    state.close()
    if damage == "ahead":
        shutil.copytree(home / "copy", home.parent / "backup")
        state = opened(home)
        set_to(state, b"lost")
        state.close()
        shutil.rmtree(home / "copy")
        (home.parent / "backup").rename(home / "copy")
    elif damage == "torn":
        os.truncate(home.parent / "node" / "data.mdb", 5000)
    else:
        shutil.rmtree(home.parent / "node")
        DiskState(home.parent / "node").close()
    state = opened(home)
    assert state.marked("value") == b"1"
    set_to(state, b"2")
    state.close()
    assert read(home) == b"2"


def test_tables_without_rows_come_along(home: Path) -> None:
    """Some are made when they are first needed; readers, who cannot make any, look for them."""
    state = opened(home)
    state.environment.table("late")
    state.commit()
    reader = DiskState.read_only(home)
    assert len(reader.environment.table("late")) == 0
    reader.close()
    state.close()


# one holder


def test_who_was_deposed_cannot_commit(home: Path) -> None:
    """Nor after a new image has made the numbers free that were taken meanwhile; and its state is closed."""
    stale = opened(home, epoch=1)
    set_to(stale, b"1")
    late = opened(home, "other", epoch=2, smallest_fold=0)
    late.mark("value", b"2")
    late.environment.table("t").put(b"much", b"x" * 100_000)
    late.commit()
    wait_for(lambda: copied(home, ".base") != [0])
    stale.mark("value", b"stale")
    with pytest.raises(CollectionInUse, match="another process has taken over"):
        stale.commit()
    with pytest.raises(CollectionError, match="closed"):
        stale.commit()
    stale.close()
    set_to(late, b"3")
    late.close()
    assert read(home) == b"3"


def test_image_of_a_deposed_holder_deposes_no_other(home: Path) -> None:
    """It is of a commit before the takeover, so it is as good as ours: the holder of the shard goes on from it."""
    stale = opened(home, epoch=1)
    set_to(stale, b"1")
    (home.parent / "image").mkdir()
    image = stale.environment.copy(home.parent / "image")
    log = RedoLog(home / "copy")
    stamp = log.stamp(copied(home, ".delta")[-1])
    late = opened(home, "other", epoch=2)
    log.put_base(stamp, image)
    log.remove_before(stamp.commit)
    assert copied(home, ".base") == [stamp.commit]
    set_to(late, b"2")
    set_to(late, b"3")
    late.close()
    stale.close()
    assert read(home) == b"3"


def wait_for(holds: Callable[[], bool]) -> None:
    turn = threading.Event()
    for _ in range(2_000):
        if holds():
            return
        turn.wait(0.005)
    raise AssertionError("it did not come to that")


def test_an_older_epoch_is_refused(home: Path) -> None:
    """A process that was slow to start does not depose its successor; who knows of no epochs goes on with the last."""
    opened(home, epoch=5).close()
    with pytest.raises(CollectionInUse, match="taken over"):
        opened(home, "other", epoch=4)
    opened(home, "other", epoch=5).close()
    opened(home, "third").close()
    with pytest.raises(CollectionInUse, match="taken over"):
        opened(home, "other", epoch=4)


def test_without_hard_links_numbers_are_taken_all_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on most mounted buckets."""

    def no_links(*_: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    stale = opened(home)
    late = opened(home, "other")
    set_to(late, b"1")
    stale.mark("value", b"stale")
    with pytest.raises(CollectionInUse):
        stale.commit()
    stale.close()
    late.close()
    assert read(home) == b"1"
    assert not list((home / "copy").glob("*.part"))


# what can be wrong with files


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_torn_last_delta_was_not_committed(home: Path, share: float) -> None:
    """It does not count, for readers and for the next holder, who takes its number."""
    state = opened(home)
    set_to(state, b"1")
    set_to(state, b"2")
    state.close()
    last = home / "copy" / f"{copied(home, '.delta')[-1]:012d}.delta"
    os.truncate(last, int(last.stat().st_size * share))
    assert read(home) == b"1"
    state = opened(home, "other")
    assert state.marked("value") == b"1"
    set_to(state, b"3")
    state.close()
    assert read(home) == b"3"


def test_damage_is_told_and_not_passed_over(home: Path) -> None:
    """A delta in the middle that is torn, missing or changed, and a changed image."""
    state = opened(home)
    for value in (b"1", b"2", b"3"):
        set_to(state, value)
    state.close()
    whole = home.parent / "whole"
    shutil.copytree(home / "copy", whole)
    middle = f"{copied(home, '.delta')[1]:012d}.delta"

    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)

    def put(path: Path, data: bytes) -> None:
        path.write_bytes(data)

    harms: list[Callable[[], None]] = [
        lambda: os.truncate(home / "copy" / middle, 60),
        (home / "copy" / middle).unlink,
        lambda: flip(home / "copy" / middle),
        lambda: flip(home / "copy" / "000000000000.base"),
        lambda: put(home / "copy" / middle, b"something else, of no format that we know of " * 9),
    ]
    for number, harm in enumerate(harms):
        harm()
        with pytest.raises(CollectionDamaged):
            opened(home, f"node-{number}")
        shutil.rmtree(home / "copy")
        shutil.copytree(whole, home / "copy")
    opened(home, "last").close()


def test_a_path_that_cannot_be_written_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hint; the last commit holds, here and there."""
    state = opened(home)
    set_to(state, b"1")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        state.mark("value", b"2")
        with pytest.raises(CollectionError, match="No space left"):
            state.commit()
    state.close()
    assert read(home) == b"1"
    state = opened(home)
    assert state.marked("value") == b"1"
    state.close()


# images


def test_images_keep_the_copy_small(home: Path) -> None:
    """Deltas before an image are removed, and the copy does not grow with the number of commits."""
    state = opened(home, smallest_fold=1000)
    for number in range(150):
        state.environment.table("t").put(b"key", number.to_bytes(4, "big") * 100)
        set_to(state, b"%d" % number)
    state.close()
    assert copied(home, ".base")[0] > 0
    assert len(copied(home, ".base")) == 1
    size = sum(path.stat().st_size for path in (home / "copy").iterdir())
    assert size < 30_000
    other = opened(home, "other")
    assert other.marked("value") == b"149"
    assert other.environment.table("t").get(b"key") == (149).to_bytes(4, "big") * 100
    other.close()


def test_bytes_of_a_commit_are_those_of_what_it_changed(home: Path) -> None:
    """However large the state is."""
    state = opened(home)
    state.environment.table("t").put_many([(os.urandom(12), os.urandom(100)) for _ in range(20_000)])
    state.commit()
    before = len(copied(home, ".delta"))
    set_to(state, b"small")
    last = home / "copy" / f"{copied(home, '.delta')[-1]:012d}.delta"
    assert len(copied(home, ".delta")) == before + 1
    assert last.stat().st_size < 200
    state.close()


# where a state lies


def test_a_state_moves_to_a_machine_and_home_again(home: Path) -> None:
    """By being opened as asked for; opening it otherwise is an error, and the previous holder is deposed."""
    assert not is_begun(home)
    state = DiskState(home)
    set_to(state, b"1")
    state.close()
    assert is_begun(home)
    away = opened(home)
    assert away.marked("value") == b"1"
    assert not (home / "data.mdb").exists()
    assert is_begun(home)
    set_to(away, b"2")
    with pytest.raises(CollectionError, match="only its copy"):
        DiskState(home)
    bring_home(home)
    away.mark("value", b"stale")
    with pytest.raises(CollectionInUse):
        away.commit()
    away.close()
    state = DiskState(home)
    assert state.marked("value") == b"2"
    assert sorted(path.name for path in home.iterdir() if path.is_dir()) == []
    state.close()
    bring_home(home)
    assert read(home) == b"2"


def test_a_state_in_use_does_not_move(home: Path) -> None:
    """Its holder in the collection knows of no epochs."""
    state = DiskState(home)
    with pytest.raises(CollectionInUse):
        opened(home)
    set_to(state, b"1")
    state.close()
    assert read(home) == b"1"


def test_readers_see_the_last_commit_of_another_machine(home: Path) -> None:
    """While it is held, again and again, beyond new images, several at a time, and leave no trace in the collection."""
    state = opened(home, smallest_fold=500)
    names = {path.name for path in home.iterdir()}
    for number in range(60):
        state.environment.table("t").put(b"key", os.urandom(100))
        set_to(state, b"%d" % number)
        if number % 20 == 0:
            assert read(home) == b"%d" % number
    first = DiskState.read_only(home)
    set_to(state, b"last")
    assert first.marked("value") == b"59"
    first.close()
    assert read(home) == b"last"
    assert {path.name for path in home.iterdir()} == names
    state.close()
