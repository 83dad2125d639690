"""The port `Executor`: every implementation does the same jobs to the same end.

Ray runs as a small cluster of this machine, on loopback, begun once for this file.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from numpy.typing import NDArray

from periplus.insight.executors import ProcessExecutor, SerialExecutor
from periplus.model import CollectionDamaged, Executor, PeriplusError

Numbers = NDArray[np.float64]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray of two processors, that speaks to nobody outside."""
    ray = pytest.importorskip("ray", reason="Ray is an extra: pip install 'periplus[ray]'")
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


@pytest.fixture(params=["serial", "processes", "ray"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "processes":
        yield request.getfixturevalue("processes")
    elif request.param == "ray":
        request.getfixturevalue("cluster")
        from periplus.cluster import RayExecutor

        yield RayExecutor()
    else:
        yield SerialExecutor()


def scaled(job: int, shared: Numbers) -> Numbers:
    return shared * job


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
    """On one machine the next would die of the same: no attempt is made again, and nobody waits for an answer."""
    mortal = ProcessExecutor(2)
    try:
        with pytest.raises(PeriplusError, match="died") as raised:
            list(mortal.map(dying, [tmp_path], 1))
        assert "memory" in raised.value.hint
        with pytest.raises(PeriplusError, match="died"):
            list(mortal.map(scaled, [1], np.ones(1)))
    finally:
        mortal.close()


@pytest.mark.usefixtures("cluster")
def test_a_worker_of_a_cluster_that_dies_is_replaced(tmp_path: Path) -> None:
    """Its job is done again elsewhere; one of which all workers die is given up."""
    from periplus.cluster import RayExecutor
    from periplus.cluster.executor import ATTEMPTS

    once, always = tmp_path / "once", tmp_path / "always"
    once.mkdir()
    always.mkdir()
    assert list(RayExecutor().map(dying, [once], 1)) == [1]
    with pytest.raises(PeriplusError, match="begun"):
        list(RayExecutor().map(dying, [always], 1000))
    assert len(list(always.iterdir())) == ATTEMPTS
