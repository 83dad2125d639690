"""What is called durable is there after a loss of power; damage of a state, and what the disk refuses, is said."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest
from msgspec.structs import replace
from tests.faults.disk import Crashed, Disk, Fault
from tests.faults.simulation import Process, Simulation, plan_of
from tests.faults.web import Clock, Key

from periplus.apps.audit.comparison import load_last, save_last
from periplus.apps.audit.results import Audit, Cost, Dates
from periplus.apps.changes.refreshing import RefreshPlan, RefreshSelection, _write, unfinished
from periplus.collection.collection import existing, planned
from periplus.engine.inputs import AddressesReviewed
from periplus.engine.sharding.messages import ShardFailure
from periplus.engine.sharding.worker import no_wake, run_shard
from periplus.engine.stats import CrawlStats
from periplus.model import CollectionDamaged, CollectionError, Discovery, Source, Url
from periplus.store import DiskState, LearntFiles, MessageInbox
from periplus.store.durable import write_file
from periplus.store.folders import sync_folder
from periplus.store.layout import Layout
from periplus.store.ranks import KnownRanks
from periplus.store.state.files import note_begun
from periplus.store.tables.manifest import TableFile, read_manifest, write_manifest
from periplus.store.warc.archive import AppendedFile

FILES = {"pages/00-000001.parquet": TableFile(1, 1, "digest")}


def learn(folder: Path) -> None:
    LearntFiles(folder / "learnt").write("dust", b"rules")


def has_learnt(folder: Path) -> bool:
    return LearntFiles(folder / "learnt").read("dust", 1) == b"rules"


def list_files(folder: Path) -> None:
    write_manifest(folder, 0, FILES)


def has_listed(folder: Path) -> bool:
    return read_manifest(folder, 0) == FILES


def archive(folder: Path) -> None:
    file = AppendedFile(folder / "one.warc.gz")
    sync_folder(folder)
    file.append(b"record")
    file.sync()
    file.close()


def has_archived(folder: Path) -> bool:
    return (folder / "one.warc.gz").read_bytes() == b"record"


def save_settings(folder: Path) -> None:
    planned(folder / "docs", typed=["https://docs.example.org/"], options={}).save()


def has_settings(folder: Path) -> bool:
    return existing(folder / "docs").seeds == ("https://docs.example.org/",)


def save_plan(folder: Path) -> None:
    (folder / "state").mkdir()
    _write(Layout(folder), RefreshPlan(RefreshSelection(), 1.0, 2, False, CrawlStats()))


def has_plan(folder: Path) -> bool:
    plan = unfinished(Layout(folder))
    return plan is not None and plan.pages == 2


def save_ranks(folder: Path) -> None:
    KnownRanks.of(np.array([7], np.uint64), np.array([0.5])).save(folder / "ranks.npy")


def has_ranks(folder: Path) -> bool:
    return len(KnownRanks.load(folder / "ranks.npy")) == 1


def save_audit(folder: Path) -> None:
    cost, dates = Cost(1, 1, 1, 1, 0, {}), Dates(0, 0, 0, 0)
    save_last(folder, Audit("a.test", ("a.test",), 1, 0, 0, 0, 0, True, (), (), cost, dates, {}))


def has_audit(folder: Path) -> bool:
    return load_last(folder, "a.test") is not None


WRITERS: dict[str, tuple[Callable[[Path], None], Callable[[Path], bool]]] = {
    "learnt": (learn, has_learnt),
    "manifest": (list_files, has_listed),
    "archive": (archive, has_archived),
    "settings": (save_settings, has_settings),
    "plan": (save_plan, has_plan),
    "ranks": (save_ranks, has_ranks),
    "audit": (save_audit, has_audit),
    "begun": (note_begun, lambda folder: (folder / "begun").exists()),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_durable_survives_a_loss_of_power(tmp_path: Path, name: str, seed: int) -> None:
    """As soon as the call has returned."""
    write, is_there = WRITERS[name]
    disk = Disk(tmp_path / "disk", Random(seed))
    disk.fault = Fault("power")
    with disk.installed():
        write(disk.root)
        with suppress(Crashed):
            disk.crash()
    assert disk.image is not None
    assert is_there(disk.image)


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("kind", ["power", "kill", "enospc", "eio"])
def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, kind: str, at: int) -> None:
    """Whatever goes wrong at any operation: the old content or the new one is there, and no draft of a failed write."""
    disk = Disk(tmp_path / "disk", Random(at))
    path = disk.root / "file"
    with disk.installed():
        write_file(path, b"old")
        disk.fault = Fault(kind, at=disk.operations + at)
        with suppress(Crashed, OSError):
            write_file(path, b"new")
    left = disk.image or disk.root
    assert (left / "file").read_bytes() in (b"old", b"new")
    if kind in ("enospc", "eio"):
        assert [each.name for each in left.iterdir()] == ["file"]


def test_what_was_not_synced_is_lost(tmp_path: Path) -> None:
    """The disk of these tests loses it, or they would prove nothing."""
    lost = 0
    for seed in range(8):
        disk = Disk(tmp_path / str(seed), Random(seed))
        disk.fault = Fault("power")
        with disk.installed():
            (disk.root / "file").write_bytes(b"content")
            with suppress(Crashed):
                disk.crash()
        assert disk.image is not None
        path = disk.image / "file"
        lost += not path.exists() or path.read_bytes() != b"content"
    assert 4 < lost <= 8


def crawled(folder: Path) -> Process:
    """A process that has just begun."""
    simulation = Simulation(plan_of(0), folder)
    process = Process(simulation, folder / "life", Clock(simulation.true, 0.0))
    process.engine.recover()
    return process


@pytest.mark.parametrize("seed", range(6))
def test_a_torn_page_of_a_closed_state_is_noticed(tmp_path: Path, seed: int) -> None:
    """A sector of zeros anywhere in it."""
    process = crawled(tmp_path)
    process.engine.close()
    state = next((tmp_path / "life" / "state").iterdir())
    data = bytearray((state / "data.mdb").read_bytes())
    sectors = [start for start in range(0, len(data), 512) if any(data[start : start + 512])]
    start = Random(seed).choice(sectors)
    data[start : start + 512] = bytes(512)
    (state / "data.mdb").write_bytes(data)
    with pytest.raises(CollectionDamaged):
        DiskState(state)


@pytest.mark.parametrize("folder", ["warc", "tables", "state/shard-00/spool"])
def test_a_disk_that_lies_about_one_folder_is_noticed(tmp_path: Path, folder: str) -> None:
    """The state that is left refers to what is lost: that is said, and nothing goes on as if it were there."""
    simulation = Simulation(plan_of(2, is_faulty=False), tmp_path)
    disk = Disk(tmp_path / "life", Random(1))
    disk.fault = Fault("power", lies_from=1 << 40, lies_below=folder)
    with disk.installed():
        process = Process(simulation, disk.root, Clock(simulation.true, 0.0))
        process.engine.recover()
        process.engine.discover([Discovery(seed, Source.SEED, simulation.true.at) for seed in simulation.seeds])
        for _ in range(30):
            process.engine.step(60.0)
        process.engine.checkpoint(is_last=folder == "tables")
        with suppress(Crashed):
            disk.crash()
    process.abandon()
    assert disk.image is not None
    with pytest.raises(CollectionDamaged):
        Process(simulation, disk.image, Clock(simulation.true, 0.0))


@pytest.mark.parametrize("is_last", [False, True])
def test_a_loss_of_power_at_any_operation_of_a_checkpoint_is_survived(tmp_path: Path, is_last: bool) -> None:
    """Before each of them the disk is photographed, without anything that is not synced; each photograph is opened."""
    plan = plan_of(2, is_faulty=False)
    sizes = {"tables.rows_per_group": 20, "tables.rows_per_file": 40, "engine.checkpoint_interval": 60.0}
    simulation = Simulation(replace(plan, config=plan.config.with_options(sizes)), tmp_path)
    disk = Disk(tmp_path / "life", Random(1))
    disk.fault = Fault("power", lies_from=1 << 40)
    photographs: list[tuple[Path, set[Key]]] = []

    def photograph() -> None:
        photographs.append((tmp_path / f"photograph-{len(photographs)}", set(process.durable)))
        disk.materialise(photographs[-1][0])

    with disk.installed():
        process = Process(simulation, disk.root, Clock(simulation.true, 0.0))
        process.follow_commits(disk)
        process.engine.recover()
        process.engine.discover([Discovery(seed, Source.SEED, simulation.true.at) for seed in simulation.seeds])
        while len(process.applied) < 12:
            process.engine.step(60.0)
        disk.before_each = photograph
        process.engine.checkpoint(is_last=is_last)
        photograph()
        disk.before_each = lambda: None
    process.abandon()
    assert len(photographs) > 8
    for image, durable in photographs[:: 3 if is_last else 1]:
        simulation.required = {0: durable}
        again = Process(simulation, image, Clock(simulation.true, 0.0))
        again.engine.recover()
        simulation.check_recovered(again)
        again.abandon()


def fill(state: DiskState) -> None:
    """Write more than there is room for."""
    for number in range(10_000):
        state.mark(f"mark {number}", bytes(1000))


def test_a_full_map_is_said_and_costs_nothing(tmp_path: Path) -> None:
    """The state is as last committed when it is opened with more room."""
    state = DiskState(tmp_path, map_size=1 << 20)
    state.mark("first", b"kept")
    state.commit()
    with pytest.raises(CollectionError, match="full"):
        fill(state)
    state.close()
    again = DiskState(tmp_path)
    assert again.marked("first") == b"kept"
    assert again.marked("mark 0") is None
    again.close()


def test_urls_in_the_inbox_survive_the_process(tmp_path: Path) -> None:
    """They are on the disk when `append` returns, and go when the crawl has them."""
    inbox = MessageInbox(tmp_path / "inbox")
    assert inbox.append([Discovery(Url("https://a.test/"), Source.PING, 1.0)])
    again = MessageInbox(tmp_path / "inbox")
    pushed = again.peek(5)
    assert pushed is not None
    assert [each.url for each in pushed.discoveries] == ["https://a.test/"]
    again.remove(pushed.through)
    assert inbox.peek(5) is None
    inbox.close()
    again.close()


def test_a_review_of_addresses_leaves_a_shard_quiet(tmp_path: Path) -> None:
    """Or a crawl whose commits are further apart than its reviews would hardly ever end."""
    process = crawled(tmp_path)
    assert process.engine.is_quiet
    process.engine._apply([AddressesReviewed(process.process_clock.now())])
    assert process.engine.is_quiet
    process.engine.close()


class NoMessages:
    """Nothing comes."""

    wake = staticmethod(no_wake)

    def take(self) -> None:
        return None


def test_an_error_of_the_disk_ends_a_worker_with_a_message() -> None:
    """Starting it again would not help."""
    posted: list[object] = []

    def refuse() -> None:
        raise OSError(28, "No space left on device", "/collection/state")

    run_shard(refuse, (), NoMessages(), posted.append)  # type: ignore[arg-type]
    [failure] = posted
    assert isinstance(failure, ShardFailure)
    assert failure.message == "/collection/state: No space left on device"
    assert failure.exit_code == CollectionError.exit_code
