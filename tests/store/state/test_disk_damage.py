"""A state that is lost, damaged or in use is refused, whatever else was deleted; a shard that is new is not."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from periplus.collection.collection import held
from periplus.model import CollectionDamaged, CollectionInUse, FirstSeen, Source, Url, UrlRecord
from periplus.store import DiskState, Replica, bring_home
from periplus.store.state.environment import Environment
from periplus.store.state.files import SEAL

START = "import os, sys\nfrom pathlib import Path\nfolder = Path(sys.argv[1])\n"


def record(number: int) -> UrlRecord:
    return UrlRecord(Url(f"https://a.test/{number}"), (FirstSeen(Source.LINK, 1.0),))


def closed_state(folder: Path, urls: int = 2000) -> Path:
    state = DiskState(folder)
    state.records.add_new([record(number) for number in range(urls)])
    state.commit()
    state.close()
    return folder / "data.mdb"


def die_in(code: str, folder: Path) -> None:
    """Run code in a process that ends as if it were killed."""
    subprocess.run([sys.executable, "-c", f"{START}{code}\nos._exit(1)", str(folder)], check=False)


@contextmanager
def another_process(code: str, folder: Path) -> Iterator[None]:
    """A process that has run this code and waits."""
    with subprocess.Popen(
        [sys.executable, "-c", f"{START}{code}\nprint('ready', flush=True)\nsys.stdin.read()", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize("loss", ["missing", "empty"])
def test_a_lost_state_is_refused(tmp_path: Path, loss: str) -> None:
    """A shard that was begun does not start again because its file is gone."""
    folder = tmp_path / "docs" / "state" / "shard-00"
    data = closed_state(folder)
    data.unlink()
    if loss == "empty":
        data.touch()
    with pytest.raises(CollectionDamaged, match="is missing") as refused:
        DiskState(folder)
    assert refused.value.exit_code == 3
    assert f"periplus repair {tmp_path / 'docs'}" in refused.value.hint


def test_a_lost_copy_of_a_state_is_refused(tmp_path: Path) -> None:
    """A state on a machine's own disk is lost with its copy in the collection."""
    home = tmp_path / "home"
    state = DiskState(tmp_path / "local", replica=Replica(home))
    state.commit()
    state.close()
    for file in (home / "copy").iterdir():
        file.unlink()
    with pytest.raises(CollectionDamaged, match="is missing"):
        DiskState(tmp_path / "other", replica=Replica(home))


def test_a_state_that_moves_is_not_lost(tmp_path: Path) -> None:
    """To a machine's own disk and back again: its file is not in the collection meanwhile."""
    home = tmp_path / "home"
    closed_state(home, 5)
    DiskState(tmp_path / "local", replica=Replica(home)).close()
    assert not (home / "data.mdb").exists()
    DiskState(tmp_path / "local", replica=Replica(home)).close()
    bring_home(home)
    state = DiskState(home)
    assert len(state.records) == 5
    state.close()


def test_a_death_before_the_first_commit_leaves_a_new_shard(tmp_path: Path) -> None:
    """Whatever was made by then: the shard starts."""
    die_in("from periplus.store.state.environment import Environment\nEnvironment(folder).table('marks')", tmp_path)
    assert (tmp_path / "data.mdb").exists()
    DiskState(tmp_path).close()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "data.mdb").touch()
    DiskState(tmp_path / "other").close()


def test_every_flipped_bit_of_a_closed_state_is_noticed(tmp_path: Path) -> None:
    """By a reader and by a writer, wherever it is."""
    data = closed_state(tmp_path)
    whole = data.read_bytes()
    chance = random.Random(1)
    for _ in range(12):
        place, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
        data.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        for opened in (DiskState, DiskState.read_only):
            with pytest.raises(CollectionDamaged) as refused:
                opened(tmp_path)
            assert "periplus repair" in refused.value.hint
    data.write_bytes(whole)
    state = DiskState(tmp_path)
    assert len(state.records) == 2000
    state.close()


def test_a_killed_process_leaves_no_seal(tmp_path: Path) -> None:
    """What was written since the last close is not compared with what was there then."""
    closed_state(tmp_path)
    die_in("from periplus.store import DiskState\nDiskState(folder)", tmp_path)
    assert not (tmp_path / SEAL).exists()
    die_in("from periplus.store import DiskState\ns = DiskState(folder)\ns.mark('a', b'b')\ns.commit()", tmp_path)
    state = DiskState(tmp_path)
    assert state.marked("a") == b"b"
    state.close()
    assert (tmp_path / SEAL).exists()


def test_damage_is_not_sealed(tmp_path: Path) -> None:
    """A state that failed while it was open gets no digest that calls it whole."""
    environment = Environment(tmp_path)
    table = environment.table("marks")
    with pytest.raises(Exception, match="misused"):
        table.put(b"", b"a key that LMDB does not take")
    environment.close()
    assert not (tmp_path / SEAL).exists()


def test_deleting_lock_files_lets_no_second_writer_in(tmp_path: Path) -> None:
    """The lock is on the folder: what lies in it can be deleted, the lock stays."""
    with another_process("from periplus.store import DiskState\nstate = DiskState(folder)", tmp_path):
        for name in ("owner.lock", "lock.mdb"):
            (tmp_path / name).unlink()
        with pytest.raises(CollectionInUse, match="in use by process"):
            DiskState(tmp_path)
    DiskState(tmp_path).close()


def test_deleting_the_lock_file_lets_no_second_crawl_in(tmp_path: Path) -> None:
    """The same for the folder of a collection."""
    code = "from periplus.collection.collection import held\nholding = held(folder)\nholding.__enter__()"
    with another_process(code, tmp_path):
        (tmp_path / "crawl.lock").unlink()
        with pytest.raises(CollectionInUse, match="in use by process"), held(tmp_path):
            pass
    with held(tmp_path):
        pass
