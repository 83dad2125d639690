"""Repairs of killed crawls, of one shard among others and after a resize; and repairs that are killed themselves."""

from __future__ import annotations

import shutil
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.dataset
import pytest
from tests.system.crawled import Asked, _context, _Executioner, asked, begin, captures, finish, small_world, wait_for
from tests.system.small_collection import HOME, small_collection
from tests.system.test_resize import kill, resize_now, wait_until_free
from tests.system.typed import running, wait_until

from periplus.assembly import Layout, repair, seeds_from
from periplus.assembly.inspecting import INDEXES, inspect
from periplus.config import Config
from periplus.lab.web.clock import SteppedClock
from periplus.lab.web.running import RunningLab
from periplus.lab.web.server import Server
from periplus.model import Url
from periplus.store.tables import SCHEMAS

pytest_plugins = ["periplus.lab.pytest_plugin"]


@pytest.fixture
def lab() -> Any:
    """Some pages on nine hosts."""
    world = small_world(60)
    with RunningLab(Server(world, SteppedClock(world.epoch), pace=0.01)) as running_lab:
        yield running_lab


def rows(folder: Path, table: str) -> Counter[bytes]:
    found = pyarrow.dataset.dataset(folder / "tables" / table, format="parquet").to_table().to_pylist()
    return Counter(msgspec.json.encode(row) for row in found)


def all_rows(folder: Path) -> dict[str, Counter[bytes]]:
    return {table: rows(folder, table) for table in SCHEMAS}


def fetched(folder: Path) -> Counter[tuple[str, int]]:
    """Archived answers, by the rows that point to them."""
    found = [msgspec.json.decode(row) for row in rows(folder, "fetches").elements()]
    return Counter((row["warc_file"], row["warc_offset"]) for row in found if row["warc_file"])


def killed_crawl(lab: RunningLab, folder: Path, what: Asked, requests: int) -> None:
    process = begin(folder, what)
    wait_for(requests, lab, process)
    kill(process)
    wait_until_free(folder)


def problems(folder: Path, shards: int) -> list[str]:
    """What is damaged besides indexes, which a crawl writes at its end."""
    found = inspect(Layout(folder), shards).damaged
    return [f"{part.path}: {part.problem}" for part in found if part.kind != INDEXES]


def test_a_killed_crawl_is_not_damaged(lab: RunningLab, tmp_path: Path) -> None:
    """Half a record, rows in spools, a journal: all of that is what the next crawl expects."""
    what = asked(lab, workers=2)
    killed_crawl(lab, tmp_path / "docs", what, 40)
    assert problems(tmp_path / "docs", 2) == []
    repair(Config().with_options(what.options), Layout(tmp_path / "docs"), 2, seeds_from(what.seeds))
    finish(tmp_path / "docs", what)
    finish(tmp_path / "whole", what)
    assert set(captures(tmp_path / "docs")) == set(captures(tmp_path / "whole"))
    assert set(fetched(tmp_path / "docs").values()) == {1}


def test_one_of_two_shards_loses_its_state(lab: RunningLab, tmp_path: Path) -> None:
    """It begins again, the other goes on, and batches between them are counted from 1."""
    folder, what = tmp_path / "docs", asked(lab, workers=2)
    killed_crawl(lab, folder, what, 60)
    before = fetched(folder)
    Layout(folder).shard(1).joinpath("data.mdb").unlink()
    done = repair(Config().with_options(what.options), Layout(folder), 2, seeds_from(what.seeds))
    assert (done.remaining, done.new_states) == ((), (1,))
    archived = Counter(captures(folder))
    finish(folder, what)
    assert problems(folder, 2) == []
    assert not before - fetched(folder)
    assert not archived - Counter(captures(folder))
    assert set(fetched(folder).values()) == {1}
    assert fetched(folder).total() == len(list(captures(folder)))


def test_files_are_listed_through_every_resize(lab: RunningLab, tmp_path: Path) -> None:
    """Shards that go leave their files and their lists; one that comes again goes on with them."""
    what = asked(lab, workers=2)
    killed_crawl(lab, tmp_path, what, 40)
    before = None
    for shards in (3, 1, 2):
        resize_now(tmp_path, what, shards)
        assert problems(tmp_path, shards) == []
        assert before in (None, all_rows(tmp_path))
        before = all_rows(tmp_path)
    finish(tmp_path, what)
    assert problems(tmp_path, 2) == []


def test_files_of_shards_that_went_outlive_the_first_state(lab: RunningLab, tmp_path: Path) -> None:
    """How far they go is kept by shard 0: a new state of it knows that from the files."""
    what = asked(lab, workers=2)
    killed_crawl(lab, tmp_path, what, 40)
    resize_now(tmp_path, what, 1)
    before = fetched(tmp_path)
    Layout(tmp_path).shard(0).joinpath("data.mdb").unlink()
    repair(Config().with_options(what.options), Layout(tmp_path), 1, seeds_from(what.seeds))
    resize_now(tmp_path, what, 2)
    finish(tmp_path, what)
    assert not before - fetched(tmp_path)
    assert problems(tmp_path, 2) == []


def repairing_life(folder: Path, strike: int) -> None:
    """A repair that kills itself in front of an operation on the disk."""
    sys.setprofile(_Executioner(strike))
    repair(Config(), Layout(folder), 1, [Url(HOME)])


@pytest.mark.parametrize("strike", [0, 3, 8, 13, 21, 34, 55, 89, 120])
def test_a_repair_that_is_killed_is_finished_by_the_next(tmp_path: Path, strike: int) -> None:
    """Every row that a repair in one piece brings is there, once."""
    whole = small_collection(tmp_path / "whole")
    for path in whole.glob("state/shard-*/spool/*-000001.arrows"):
        path.unlink()
    (whole / "state" / "shard-00" / "data.mdb").unlink()
    for table in ("fetches", "links"):
        (whole / "tables" / table / "00-000001.parquet").unlink()
    killed = Path(shutil.copytree(whole, tmp_path / "killed"))
    repair(Config(), Layout(whole), 1, [Url(HOME)])
    process = _context.Process(target=repairing_life, args=(killed, strike))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert repair(Config(), Layout(killed), 1, [Url(HOME)]).remaining == ()
    assert all_rows(killed) == all_rows(whole)


def test_two_crawls_never_write_one_collection(lab: RunningLab, tmp_path: Path) -> None:
    """Not even if every lock file is deleted while the first one runs."""
    world = lab.world
    command = ["crawl", f"http://{world.hosts[0]}/", "-o", str(tmp_path / "docs"), "--workers", "1", "--delay", "1s"]
    command += ["--proxy", lab.base]
    with running(*command) as first:
        wait_until(lambda: lab.log.total > 1, first)
        for path in [*tmp_path.rglob("*.lock"), *tmp_path.rglob("lock.mdb")]:
            path.unlink()
        with running(*command) as second:
            said = second.communicate(timeout=60)[1]
        assert second.returncode == 3, said
        assert "in use by process" in said
        assert first.poll() is None
