"""Repairs of killed crawls, of one shard among others and after a resize; and repairs that are killed themselves."""

from __future__ import annotations

import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow.dataset
import pytest
from msgspec.structs import asdict
from tests.lab.crawling import crawl, make_due
from tests.lab.scripted_web import ScriptedWeb
from tests.system.crawled import (
    Asked,
    _context,
    _Executioner,
    asked,
    begin,
    captures,
    crawled,
    finish,
    same,
    small_world,
    tiny_world,
    wait_for,
)
from tests.system.crawled import rows as crawled_rows
from tests.system.small_collection import HOME, small_collection
from tests.system.test_resize import kill, resize_now, wait_until_free
from tests.system.typed import running, wait_until

from periplus.collection.config.settings import Config
from periplus.collection.inspecting import INDEXES, inspect
from periplus.collection.repairing import Repaired, repair
from periplus.collection.seeds import seeds_from
from periplus.engine.machine_settings import ShardMeta
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.store.tables import SCHEMAS
from periplus.store.warc import archived_answers
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]

SLOW = pytest.mark.slow


class Whole(NamedTuple):
    """A crawl that was never disturbed, and how many requests it took."""

    folder: Path
    requests: int


@pytest.fixture(scope="module")
def shared_lab() -> Iterator[RunningLab]:
    """Some pages on nine hosts."""
    world = small_world(25)
    with RunningLab(Server(world, SteppedClock(world.epoch), pace=0.01)) as running_lab:
        yield running_lab


@pytest.fixture
def lab(shared_lab: RunningLab) -> RunningLab:
    """The same, with an empty log."""
    shared_lab.log.clear()
    return shared_lab


@pytest.fixture(scope="module")
def whole_crawls(shared_lab: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Asked], Whole]:
    """Crawls what is asked for to its end, once for all tests that ask for the same."""
    known: list[tuple[Asked, Whole]] = []

    def whole(what: Asked) -> Whole:
        for before, found in known:
            if before == what:
                return found
        folder = tmp_path_factory.mktemp("whole")
        shared_lab.log.clear()
        finish(folder, what)
        known.append((what, Whole(folder, shared_lab.log.total)))
        shared_lab.log.clear()
        return known[-1][1]

    return whole


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
    kill(folder, process)
    wait_until_free(folder)


def repair_now(folder: Path, what: Asked) -> Repaired:
    config = Config().with_options(what.options)
    return repair(config, Layout(folder), what.workers, seeds_from(what.seeds))


def problems(folder: Path, shards: int) -> list[str]:
    """What is damaged besides indexes, which a crawl writes at its end."""
    found = inspect(Layout(folder), shards).damaged
    return [f"{part.path}: {part.problem}" for part in found if part.kind != INDEXES]


@pytest.mark.slow
def test_a_killed_crawl_is_not_damaged(lab: RunningLab, whole_crawls: Callable[[Asked], Whole], tmp_path: Path) -> None:
    """Half a record, rows in spools, a journal: all of that is what the next crawl expects."""
    what = asked(lab, workers=2)
    whole = whole_crawls(what).folder
    killed_crawl(lab, tmp_path / "docs", what, 40)
    assert problems(tmp_path / "docs", 2) == []
    repair_now(tmp_path / "docs", what)
    finish(tmp_path / "docs", what)
    assert set(captures(tmp_path / "docs")) == set(captures(whole))
    assert set(fetched(tmp_path / "docs").values()) == {1}


def lose_state(folder: Path, shard: int) -> None:
    Layout(folder).shard(shard).joinpath("data.mdb").unlink()


def asked_again(lab: RunningLab, folder: Path, what: Asked, whole: Path, shards: Sequence[int] = (0,)) -> Counter[str]:
    """Finish a crawl: what was asked for more often than in a whole one, of what these shards have archived."""
    answers = (answer for shard in shards for answer in archived_answers(folder / "warc", shard))
    archived = Counter[str](answer.outcome.task.url for answer in answers)
    left = Counter(url for url, _ in captures(whole)) - Counter(url for url, _ in captures(folder))
    lab.log.clear()
    finish(folder, what)
    visits = (visit for host in lab.log.hosts() for visit in lab.log.visits(host))
    urls = (f"http://{visit.host}{visit.target}" for visit in visits)
    return Counter(url for url in urls if url in archived) - left


@SLOW
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("ordering", ["breadth_first", "opic", "batch"])
def test_a_lost_state_is_rebuilt(
    lab: RunningLab, whole_crawls: Callable[[Asked], Whole], tmp_path: Path, ordering: str, share: float
) -> None:
    """The crawl ends as one that was never damaged: the same requests, rows and counts; nothing is fetched again."""
    what = asked(lab, crawl__ordering=ordering)
    whole, total = whole_crawls(what)
    killed_crawl(lab, tmp_path / "docs", what, round(total * share))
    lose_state(tmp_path / "docs", 0)
    done = repair_now(tmp_path / "docs", what)
    assert (done.remaining, done.new_states, done.lost) == ((), (0,), {})
    assert done.adopted == len(list(captures(tmp_path / "docs")))
    assert asked_again(lab, tmp_path / "docs", what, whole) == {}
    assert same(crawled(tmp_path / "docs"), crawled(whole)) == {}
    assert problems(tmp_path / "docs", 1) == []


@SLOW
@pytest.mark.parametrize("lost", [(1,), (0, 1)])
def test_shards_that_lose_their_states(
    lab: RunningLab, whole_crawls: Callable[[Asked], Whole], tmp_path: Path, lost: tuple[int, ...]
) -> None:
    """What links from other shards' pages is found in their archives; batches are counted from 1 again."""
    folder, what = tmp_path / "docs", asked(lab, workers=2)
    whole, total = whole_crawls(what)
    killed_crawl(lab, folder, what, total // 2)
    for shard in lost:
        lose_state(folder, shard)
    done = repair_now(folder, what)
    assert (done.remaining, done.new_states) == ((), lost)
    assert asked_again(lab, folder, what, whole, lost) == {}
    assert crawled(folder).pages == crawled(whole).pages
    assert crawled(folder).links == crawled(whole).links
    assert set(fetched(folder).values()) == {1}
    assert fetched(folder).total() == len(list(captures(folder)))
    assert problems(folder, 2) == []


@pytest.mark.slow
def test_sites_that_moved_are_rebuilt_from_the_archive_of_another_shard(lab: RunningLab, tmp_path: Path) -> None:
    """After a resize, answers of a shard's sites lie in files of shards that had them before."""
    what = asked(lab)
    finish(tmp_path, what)
    pages, rows = crawled(tmp_path).pages, all_rows(tmp_path)
    resize_now(tmp_path, what, 2)
    what = asked(lab, workers=2)
    lose_state(tmp_path, 1)
    assert repair_now(tmp_path, what).remaining == ()
    assert asked_again(lab, tmp_path, what, tmp_path) == {}
    assert lab.log.total == 0
    assert crawled(tmp_path).pages == pages
    for table in ("fetches", "pages", "links", "sitemaps", "sitemap_entries"):
        assert all_rows(tmp_path)[table] == rows[table], table


@pytest.mark.proof
def test_a_rebuilt_state_knows_what_the_lost_one_knew(
    start_lab: Callable[[Server], RunningLab], tmp_path: Path
) -> None:
    """Records, rules, calendar, near-duplicates, payloads and counts; also of pages that were visited twice."""
    world = tiny_world()
    lab = start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))
    what = asked(lab)
    finish(tmp_path, what)
    make_due(tmp_path, [row["url"] for row in crawled_rows(tmp_path, "pages")][::5])
    finish(tmp_path, what)
    before = knowledge(tmp_path)
    lose_state(tmp_path, 0)
    assert repair_now(tmp_path, what).lost == {}
    after = knowledge(tmp_path)
    for url, record in before["records"].items():
        assert after["records"].pop(url) == record, url
    for part in before.keys() - {"records"}:
        assert after[part] == before[part], part
    assert after["records"] == {}
    assert before["visits"] == {1, 2}


def knowledge(folder: Path) -> dict[str, Any]:
    """What a shard knows, with times as precise as archives have them."""
    with closing(DiskState.read_only(Layout(folder).shard(0))) as state:
        sites = sorted(site.site for site in state.sites)
        records = [record for site in sites for record in state.records.of_site(site)]
        meta = state.meta(ShardMeta)
        assert meta is not None
        return {
            "records": {
                record.url: (
                    record.visits,
                    record.changes,
                    record.status,
                    record.reason,
                    record.failures,
                    record.depth,
                    record.digests,
                    record.validators,
                    record.version,
                    {seen.source for seen in record.first_seen},
                    [at and round(at * 1e6) for at in (record.fetched_at, record.kept_at, record.due_at)],
                )
                for record in records
            },
            "visits": {record.visits for record in records if record.kept_at and "#" not in record.url},
            "robots": {site: state.robots.get(site) and state.robots.get(site).body for site in sites},  # type: ignore[union-attr]
            "sites": [(site.site, site.pages, site.files, site.downloaded, site.delay) for site in state.sites],
            "calendar": sorted(state.calendar),
            "sketches": dict(state.environment.table("sketch-pages").walk()),
            "payloads": {key for key, _ in state.environment.table("payloads").walk()},
            "files": {key for key, _ in state.environment.table("forest").walk()},
            "queued": (len(state.queues), len(state.listings)),
            "pages": meta.frontier.pages_done,
            "stats": {**asdict(meta.stats), "sources": None, "found_again": None},
        }


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", [pytest.param(name, marks=() if name == "links" else SLOW) for name in sorted(SCHEMAS)]
)
def test_tables_of_a_killed_crawl_are_rebuilt(
    lab: RunningLab, whole_crawls: Callable[[Asked], Whole], tmp_path: Path, table: str
) -> None:
    """The state is whole and goes on; the rows of one table come from the archive, and none is there twice."""
    folder, what = tmp_path / "docs", asked(lab)
    whole, total = whole_crawls(what)
    killed_crawl(lab, folder, what, round(total * 0.7))
    for path in [*folder.glob(f"tables/{table}/*"), *folder.glob(f"state/shard-*/spool/{table}-*")]:
        path.unlink()
    assert repair_now(folder, what).remaining == ()
    finish(folder, what)
    assert same(crawled(folder), crawled(whole)) == {}


@pytest.mark.slow
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


@SLOW
def test_files_of_shards_that_went_outlive_the_first_state(lab: RunningLab, tmp_path: Path) -> None:
    """How far they go is kept by shard 0: a new state of it knows that from the files."""
    what = asked(lab, workers=2)
    killed_crawl(lab, tmp_path, what, 40)
    resize_now(tmp_path, what, 1)
    before = fetched(tmp_path)
    lose_state(tmp_path, 0)
    repair_now(tmp_path, msgspec.structs.replace(what, workers=1))
    resize_now(tmp_path, what, 2)
    finish(tmp_path, what)
    assert not before - fetched(tmp_path)
    assert problems(tmp_path, 2) == []


def repairing_life(folder: Path, what: Asked, strike: int) -> None:
    """A repair that kills itself in front of an operation on the disk."""
    sys.setprofile(_Executioner(strike))
    repair_now(folder, what)


def killed_repair(folder: Path, what: Asked, strike: int) -> int | None:
    process = _context.Process(target=repairing_life, args=(folder, what, strike))
    process.start()
    process.join()
    return process.exitcode


def operations(folder: Path, what: Asked) -> int:
    """Operations on the disk of a whole repair."""
    counting = _Executioner(sys.maxsize)
    sys.setprofile(counting)
    try:
        repair_now(folder, what)
    finally:
        sys.setprofile(None)
    return sys.maxsize - counting._left


@pytest.mark.parametrize(
    "strike", [34, *(pytest.param(strike, marks=SLOW) for strike in (0, 3, 8, 13, 21, 55, 89, 120))]
)
def test_a_repair_that_is_killed_is_finished_by_the_next(tmp_path: Path, strike: int) -> None:
    """Every row that a repair in one piece brings is there, once."""
    whole = small_collection(tmp_path / "whole")
    for path in whole.glob("state/shard-*/spool/*-000001.arrows"):
        path.unlink()
    (whole / "state" / "shard-00" / "data.mdb").unlink()
    for table in ("fetches", "links"):
        (whole / "tables" / table / "00-000001.parquet").unlink()
    killed, what = Path(shutil.copytree(whole, tmp_path / "killed")), Asked((HOME,), {})
    repair_now(whole, what)
    assert killed_repair(killed, what, strike) == -signal.SIGKILL
    assert repair_now(killed, what).remaining == ()
    assert all_rows(killed) == all_rows(whole)
    with ScriptedWeb({}) as web:
        crawl(killed, [HOME], web.settings)
        assert web.asked == []


@pytest.mark.parametrize("left", [pytest.param(left, marks=SLOW) for left in (3, 200, 12, 1)])
def test_a_killed_repair_of_one_shard_among_two(
    lab: RunningLab, whole_crawls: Callable[[Asked], Whole], tmp_path: Path, left: int
) -> None:
    """Killed shortly before its end, while batches are numbered from 1 and the new state is put in place."""
    folder, what = tmp_path / "docs", asked(lab, workers=2)
    whole, total = whole_crawls(what)
    killed_crawl(lab, folder, what, total // 2)
    lose_state(folder, 1)
    strike = operations(Path(shutil.copytree(folder, tmp_path / "counted")), what) - left
    assert killed_repair(folder, what, strike) == -signal.SIGKILL
    assert repair_now(folder, what).remaining == ()
    assert asked_again(lab, folder, what, whole, (1,)) == {}
    assert crawled(folder).pages == crawled(whole).pages
    assert set(fetched(folder).values()) == {1}


@pytest.mark.proof
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
            said = second.communicate(timeout=600)[1]
        assert second.returncode == 3, said
        assert "in use by process" in said
        assert first.poll() is None
