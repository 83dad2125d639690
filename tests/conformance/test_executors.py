"""The port `Executor`: every implementation does the same jobs to the same end.

Ray runs as a small cluster of this machine, on loopback, begun once for this file.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.insight.asked_collection import Made

from periplus.insight.clusters import clusters_of
from periplus.insight.executors import ProcessExecutor, SerialExecutor, Workplace
from periplus.insight.graph import Seen, ranked
from periplus.insight.parted_links import BYTES_A_LINK, parted_links
from periplus.model import CollectionDamaged, Executor, PeriplusError, Url, UsageError
from periplus.urls import fingerprints, site_of

Numbers = NDArray[np.float64]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray of two processors without connections to other machines."""
    ray = pytest.importorskip("ray", reason="Ray is an extra: pip install periplus-ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with TemporaryDirectory(prefix="r-x", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=200_000_000,
            log_to_driver=False,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
        )
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    made = ProcessExecutor(2)
    yield made
    made.close()


@pytest.fixture(params=["serial", "processes", pytest.param("ray", marks=pytest.mark.slow)])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "processes":
        yield request.getfixturevalue("processes")
    elif request.param == "ray":
        request.getfixturevalue("cluster")
        from periplus_ray import RayExecutor

        yield RayExecutor()
    else:
        yield SerialExecutor()


def scaled(job: int, shared: Numbers) -> Numbers:
    return shared * job


@pytest.mark.proof
def test_results_come_in_the_order_of_jobs(executor: Executor) -> None:
    """However long each takes, and wherever it is done."""
    found = list(executor.map(scaled, range(20), np.arange(3.0)))
    assert [each.tolist() for each in found] == [[0, number, 2 * number] for number in range(20)]


def test_no_jobs_no_results(executor: Executor) -> None:
    """An empty list is a list of jobs too, and an executor can be asked again and again."""
    assert list(executor.map(scaled, [], np.arange(3.0))) == []
    assert len(list(executor.map(scaled, [1], np.arange(0.0)))) == 1


def test_jobs_are_taken_only_when_there_is_room(executor: Executor) -> None:
    """An endless list of jobs costs what is under way, and no more."""
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    found = executor.map(scaled, endless(), np.ones(1))
    for number in range(1, 8):
        assert next(found).tolist() == [number]
        assert taken <= number + executor.most_under_way
    assert executor.most_under_way <= 2 * executor.workers
    found.close()  # type: ignore[attr-defined]


def is_writeable(job: int, shared: tuple[Numbers, str]) -> tuple[bool, str, float]:
    return shared[0].flags.writeable, shared[1], float(shared[0].sum())


def test_what_is_shared_cannot_be_written_to(executor: Executor) -> None:
    """A job that wrote into what all share would change the result of others, here and not there."""
    assert set(executor.map(is_writeable, range(4), (np.ones(100_000), "x"))) == {(False, "x", 100_000.0)}


def failing(job: int, shared: None) -> int:
    if job == 3:
        raise CollectionDamaged("job three", hint="try four")
    return job


def test_a_job_that_fails_ends_the_whole(executor: Executor) -> None:
    """What came before it was given; its own exception is raised, with its hint; the executor is as good as before."""
    found = executor.map(failing, range(10), None)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(CollectionDamaged, match="job three") as raised:
        next(found)
    assert raised.value.hint == "try four"
    assert list(executor.map(failing, range(3), None)) == [0, 1, 2]


def dying(folder: Path, shared: int) -> int:
    """Die as often as is asked for."""
    deaths = len(list(folder.iterdir()))
    if deaths < shared:
        (folder / str(deaths)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return deaths


def test_a_process_that_dies_is_said_clearly(tmp_path: Path) -> None:
    """On one machine the next would die of the same: no attempt is repeated, and no caller waits for an answer."""
    mortal = ProcessExecutor(2)
    try:
        with pytest.raises(PeriplusError, match="died") as raised:
            list(mortal.map(dying, [tmp_path], 1))
        assert "memory" in raised.value.hint
        with pytest.raises(PeriplusError, match="died"):
            list(mortal.map(scaled, [1], np.ones(1)))
    finally:
        mortal.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_worker_of_a_cluster_that_dies_is_replaced(tmp_path: Path) -> None:
    """Its job is done again elsewhere; one of which all workers die is given up."""
    from periplus_ray import RayExecutor

    once, always = tmp_path / "once", tmp_path / "always"
    once.mkdir()
    always.mkdir()
    assert list(RayExecutor().map(dying, [once], 1)) == [1]
    with pytest.raises(PeriplusError, match="begun"):
        list(RayExecutor(attempts=2).map(dying, [always], 1000))
    assert len(list(always.iterdir())) == 2


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is an extra: without it the room can be imported, and its use reports what to install."""
    from periplus_ray import RayExecutor

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match="not installed") as raised:
        RayExecutor()
    assert "periplus-ray" in raised.value.hint


# what it is for


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sites in four files: pages that were read twice, redirects, crowds of copies, pages that say nothing."""
    made, chance = Made(tmp_path_factory.mktemp("collection")), Random(9)
    pages = [f"http://{chance.choice('abb')}.test/{number}" for number in range(200)]
    for number, url in enumerate([*pages, *chance.sample(pages, 50)]):
        if number % 75 == 74:
            made.write()
        links = [chance.choice(pages[:50] if chance.random() < 0.5 else pages) for _ in range(chance.randrange(40))]
        made.read(url, chance.choice([0, *range(1, 120), 7, 7, 7]), [*links, f"http://c.test/{number}"], 100 + number)
    for number in range(30):
        made.asked(f"http://c.test/{number}", 301, target=chance.choice(pages))
    made.write()
    return made.folder


@pytest.fixture(scope="module")
def seen() -> Seen:
    """Some of its URLs, and one that no link leads to."""
    urls = [Url(f"http://{site}.test/{number}") for site in "abc" for number in range(0, 200, 2)]
    urls.append(Url("http://nowhere.test/"))
    sites = {site: number for number, site in enumerate(dict.fromkeys(map(site_of, urls)))}
    numbers = np.array([sites[site_of(url)] for url in urls], np.int32)
    is_seed = np.arange(len(urls)) % 50 == 0
    return Seen(np.array(fingerprints(urls), np.uint64), numbers, numbers < 2, is_seed)


@pytest.mark.parametrize("job_bytes", [25_000, pytest.param(1 << 30, marks=pytest.mark.slow)])
def test_links_make_the_same_of_pages(
    executor: Executor, collection: Path, seen: Seen, tmp_path: Path, job_bytes: int
) -> None:
    """However small the partitions: ranks to 1e-10 as in one memory, everything else exactly; and no file is left."""
    tables = collection / "tables"
    one = ranked(tables, (), seen, tolerance=1e-11)
    many = ranked(tables, (), seen, Workplace(executor, tmp_path / "work", job_bytes), tolerance=1e-11)
    assert np.abs(one.pagerank - many.pagerank).sum() < 1e-10
    assert np.abs(one.of_sites - many.of_sites).sum() < 1e-10
    for name in ("inlinks", "own_links", "clicks"):
        assert getattr(one, name).tolist() == getattr(many, name).tolist()
    assert one.clicks.max() > 1
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("job_bytes", [1_500, pytest.param(1 << 30, marks=pytest.mark.slow)])
def test_pages_have_the_same_copies(executor: Executor, collection: Path, tmp_path: Path, job_bytes: int) -> None:
    """Those of a band that share a key are in one partition: every pair is found that is found in one memory."""
    one = clusters_of(collection / "tables")
    many = clusters_of(collection / "tables", workplace=Workplace(executor, tmp_path / "work", job_bytes))
    assert [part.tolist() for part in one] == [part.tolist() for part in many]
    assert 10 < len(set(one[1].tolist())) < len(one[0])
    assert list((tmp_path / "work").iterdir()) == []


def test_no_partition_is_much_more_than_a_job_may_hold(collection: Path, tmp_path: Path) -> None:
    """More links than a job may hold are in more partitions, whose sizes differ only by chance and by hubs."""
    allowed = 40_000
    workplace = Workplace(SerialExecutor(), tmp_path, allowed)
    with parted_links(collection / "tables", (), workplace) as links:
        sizes = [len(np.load(path, mmap_mode="r")) for path in tmp_path.glob("parts-*/heads-*.npy")]
        assert sum(sizes) == links.inlinks().sum()
    assert sum(sizes) * BYTES_A_LINK > 4 * allowed
    assert max(sizes) * BYTES_A_LINK < 2 * allowed


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_collection_of_nothing(executor: Executor, tmp_path: Path, is_empty: bool) -> None:
    """No tables, or no links: nothing is linked, nothing is a copy."""
    if not is_empty:
        made = Made(tmp_path)
        made.read("http://a.test/", 1)
        made.write()
    seen = Seen(np.array([5], np.uint64), np.zeros(1, np.int32), np.ones(1, np.bool_), np.ones(1, np.bool_))
    workplace = Workplace(executor, tmp_path / "work")
    assert ranked(tmp_path / "tables", (), seen, workplace).pagerank.tolist() == [0]
    assert len(clusters_of(tmp_path / "tables", workplace=workplace)[0]) == 0


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_damaged_file_is_named(executor: Executor, tmp_path: Path, seen: Seen, is_whole: bool) -> None:
    """Cut short, or garbled where only a worker reads it: the exception comes back as it was raised."""
    made = Made(tmp_path)
    made.read("http://a.test/", 1, ["http://a.test/1"])
    made.write()
    path = tmp_path / "tables" / "links" / "00-000001.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(400) + data[404:] if is_whole else data[:-9])
    with pytest.raises(CollectionDamaged, match=path.name):
        ranked(tmp_path / "tables", (), seen, Workplace(executor, tmp_path / "work"))
    assert list(tmp_path.glob("work/*")) == []
