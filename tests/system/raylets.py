"""Several nodes of Ray on this machine, and the processes of our actors on them.

The nodes live in a process of their own, so that nothing of Ray's is left in the test's. They end with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from tests.covering import HOMES, source_of

ROOT = Path(__file__).parents[2]
STORE = 100_000_000
ATTEMPTS = 4
"""How often a cluster is started at most: Ray gives its own processes 30 s, which they exceed on a busy machine."""


class Raylets(Struct, frozen=True):
    """Where they are reached, and the processes of the nodes: of the head, and of those that have processors."""

    address: str
    head: int
    nodes: list[int]

    def actors(self, name: str) -> list[int]:
        """The processes of our actors of this class, on whatever node."""
        children = [child for node in (self.head, *self.nodes) for child in children_of(node)]
        return [child for child in children if command_of(child).startswith(f"ray::{name}")]


def children_of(process: int) -> list[int]:
    """Its children, now."""
    found: list[int] = []
    for thread in Path(f"/proc/{process}/task").glob("*"):
        with suppress(OSError):
            found += map(int, (thread / "children").read_text().split())
    return found


def command_of(process: int) -> str:
    """What it calls itself."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@contextmanager
def raylets(nodes: int, processors: int, folder: Path) -> Iterator[Raylets]:
    """`nodes` nodes with `processors` processors each."""
    for number in range(ATTEMPTS):
        place = folder.with_name(f"{folder.name}-{number}")
        host = _begin(nodes, processors, place)
        assert host.stdout is not None
        try:
            said = host.stdout.readline().split()
            if said:
                address, head, *others = said
                yield Raylets(address, int(head), [int(each) for each in others])
                return
        finally:
            host.communicate()
            shutil.rmtree(place, ignore_errors=True)
    raise AssertionError(f"Ray did not start in {ATTEMPTS} attempts")


def _begin(nodes: int, processors: int, folder: Path) -> subprocess.Popen[str]:
    """The process that has the nodes."""
    sources = os.pathsep.join(map(str, [ROOT, *(source_of(home).parent for home in HOMES.values())]))
    # At Ray's own niceness of 15, actors hardly run beside other tests.
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "PYTHONPATH": sources}
    # Ray writes the address of the cluster to a folder there, which it does not make.
    environment["RAY_TMPDIR"] = str(folder)
    (folder / "ray").mkdir(parents=True, exist_ok=True)
    arguments = [sys.executable, "-m", "tests.system.raylets", str(nodes), str(processors), str(folder)]
    return subprocess.Popen(
        arguments, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip


def main(nodes: int, processors: int, folder: str) -> None:
    """Begin them, say where they are, and end them when the reader has gone."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "temp_dir": folder, "include_dashboard": False, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(nodes):
        cluster.add_node(num_cpus=processors, object_store_memory=STORE)
    cluster.wait_for_nodes()
    others = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
    pids = [node.all_processes["raylet"][0].process.pid for node in (cluster.head_node, *others)]
    sys.stdout.write(f"{cluster.address} {' '.join(map(str, pids))}\n")
    sys.stdout.flush()
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
