"""What a crawl of ten billion pages would take, on paper: machines, days, network, disks, memory.

    python -m bench.large_crawl DIR --cpu-ms 2.0        # DIR: a finished collection, whose bytes are measured

Bytes come from the collection, CPU time of a page from `bench.crawl`, memory and bytes of a known URL from
`bench.state`, costs of the coordinator from `bench.scaling`. That many pages were never crawled: this is arithmetic.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from periplus.apps.simulate.scaling import CoordinatorSettings
from periplus.library import open as open_collection

PAGES = 10_000_000_000
MACHINES = (4, 10, 22, 40, 100)
CORES = 16
"""Of a machine: one shard each, and nothing else."""
BUSY = 0.7
"""Share of a core that a shard uses, if sites let it: the rest is for jobs, commits that coincide, and peaks."""
URLS_A_PAGE = 6.5
"""Unique URLs known for each page fetched, in IRLbot's crawl: 41 billion for 6.3 billion pages (Lee et al. 2008)."""
MEASURED_URLS = 200_000_000
"""The largest state of a shard that was measured."""
FINGERPRINT_BYTES = 16
DAY = 86_400.0


@dataclass(frozen=True)
class Inputs:
    """Of one page, what was measured."""

    cpu: float
    archive: float
    """Bytes; an answer is archived as it came, so it is also what the network carries."""
    tables: float
    url: float
    shard_memory: float


@dataclass(frozen=True)
class Plan:
    """The crawl on a number of machines."""

    machines: int
    days: float
    megabits: float
    disk_terabytes: float
    urls_a_shard: float
    memory_gigabytes: float
    coordinator: float

    @property
    def full(self) -> str:
        """What does not hold."""
        limits = {
            f"URLs of a shard: {MEASURED_URLS:,} measured": self.urls_a_shard / MEASURED_URLS,
            "the coordinator's core": self.coordinator,
        }
        return "; ".join(name for name, share in limits.items() if share > 1) or "nothing"


def plan(inputs: Inputs, machines: int, pages: int = PAGES) -> Plan:
    """Divide all by the shards; the coordinator's load grows with them."""
    shards = machines * CORES
    rate = BUSY / inputs.cpu
    costs = CoordinatorSettings()
    urls = pages * URLS_A_PAGE / shards
    return Plan(
        machines,
        pages / (shards * rate) / DAY,
        CORES * rate * inputs.archive * 8 / 1e6,
        (pages * (inputs.archive + inputs.tables) + pages * URLS_A_PAGE * inputs.url) / machines / 1e12,
        urls,
        CORES * (inputs.shard_memory + urls * FINGERPRINT_BYTES) / 1e9,
        shards / costs.status_interval * costs.status_seconds,
    )


def least_machines(pages: int = PAGES) -> tuple[int, int]:
    """The fewest machines whose shards have no more URLs than were measured, and the most the coordinator serves."""
    costs = CoordinatorSettings()
    return (
        ceil(pages * URLS_A_PAGE / MEASURED_URLS / CORES),
        int(costs.status_interval / costs.status_seconds / CORES),
    )


def inputs_of(folder: Path, cpu: float, url: float, memory: float) -> Inputs:
    """Bytes of a page in a collection."""
    [(pages,)] = open_collection(folder).query("select count(*) from fetches where status = 200")
    return Inputs(cpu, _size(folder / "warc") / pages, _size(folder / "tables") / pages, url, memory)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Print the inputs and a table."""
    ask = argparse.ArgumentParser(prog="python -m bench.large_crawl")
    ask.add_argument("collection", type=Path)
    ask.add_argument("--cpu-ms", type=float, required=True, help="CPU milliseconds of a page, all processes together")
    ask.add_argument("--url-bytes", type=float, default=278, help="bytes of state of a known URL")
    ask.add_argument("--memory-mb", type=float, default=300, help="private memory of a shard")
    asked = ask.parse_args()
    inputs = inputs_of(asked.collection, asked.cpu_ms / 1e3, asked.url_bytes, asked.memory_mb * 1e6)
    print(inputs)
    for machines in MACHINES:
        print(plan(inputs, machines), plan(inputs, machines).full)
    print("at least, at most:", least_machines())


if __name__ == "__main__":
    main()
