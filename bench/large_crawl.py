"""What a crawl of ten billion pages would take, on paper: machines, days, network, disks, memory.

    python -m bench.large_crawl                             # from the inputs below
    python -m bench.large_crawl --pages-a-cpu-second 700    # with another figure
    python -m bench.large_crawl --collection DIR            # bytes of a page from a finished collection

Prints the two tables of docs/cluster.md: the inputs, each with where it was measured, and what follows from them. A
page costs the CPU time that it has in `bench.crawl`, where one new URL comes with each page, and that of the other new
URLs in a state of `bench.state`'s largest size. That many pages were never crawled: this is arithmetic.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from periplus.library import open as open_collection
from periplus_lab.simulate.scaling import CoordinatorSettings

PAGES = 10_000_000_000
MACHINES = (10, 22, 40)
MEASURED_URLS = 200_000_000
"""The largest state of a shard that was measured."""
DAY = 86_400.0


class Inputs(Struct, frozen=True):
    """What is put in, each with its words and where it is from."""

    pages_a_cpu_second: Annotated[float, "pages a second of CPU time, one process", "`bench.crawl`"] = 597.0
    first_url_us: Annotated[float, "CPU us of a new URL in a small state", "`bench.state`, 1 million"] = 44.3
    url_us: Annotated[float, "CPU us of a new URL in a large state", "`bench.state`, 200 million"] = 72.0
    urls_a_page: Annotated[float, "known URLs for each page", "IRLbot, Lee et al. 2008"] = 6.5
    archive_bytes: Annotated[float, "bytes of a page in the archive, and on the network", "`bench.crawl`"] = 7952.0
    table_bytes: Annotated[float, "bytes of a page in the tables", "`bench.crawl`"] = 1016.0
    url_bytes: Annotated[float, "bytes of a known URL in the state", "`bench.state`, 200 million"] = 284.0
    shard_mb: Annotated[float, "private memory of a shard, MB", "`bench.state`, 200 million"] = 335.0
    fingerprint_bytes: Annotated[float, "bytes of a known URL that have to stay in memory", "its fingerprint"] = 16.0
    cores: Annotated[float, "cores of a machine, a shard each", "assumed"] = 16.0
    busy: Annotated[float, "share of a core that a shard uses", "assumed: the rest is for jobs and peaks"] = 0.7

    @property
    def cpu(self) -> float:
        """CPU seconds of a page with all its new URLs; one of these is in the crawl that was measured."""
        urls = self.urls_a_page * self.url_us - self.first_url_us
        return 1.0 / self.pages_a_cpu_second + urls / 1e6


class Plan(Struct, frozen=True):
    """The crawl on a number of machines."""

    machines: int
    days: float
    megabits: float
    disk_terabytes: float
    memory_gigabytes: float
    urls_a_shard: float
    coordinator: float


def plan(inputs: Inputs, machines: int, pages: int = PAGES) -> Plan:
    """Divide all by the shards; the coordinator's load grows with them."""
    shards = machines * inputs.cores
    rate = inputs.busy / inputs.cpu
    costs = CoordinatorSettings()
    urls = pages * inputs.urls_a_page / shards
    page_bytes = inputs.archive_bytes + inputs.table_bytes + inputs.urls_a_page * inputs.url_bytes
    return Plan(
        machines,
        pages / (shards * rate) / DAY,
        inputs.cores * rate * inputs.archive_bytes * 8 / 1e6,
        pages * page_bytes / machines / 1e12,
        inputs.cores * (inputs.shard_mb * 1e6 + urls * inputs.fingerprint_bytes) / 1e9,
        urls,
        shards / costs.status_interval * costs.status_seconds,
    )


def least_machines(inputs: Inputs, pages: int = PAGES) -> tuple[int, int]:
    """The fewest machines whose shards have no more URLs than were measured, and the most the coordinator serves."""
    costs = CoordinatorSettings()
    return (
        ceil(pages * inputs.urls_a_page / MEASURED_URLS / inputs.cores),
        int(costs.status_interval / costs.status_seconds / inputs.cores),
    )


def report(inputs: Inputs) -> Iterator[str]:
    """Both tables, as docs/cluster.md has them."""
    yield "| input | value | from |"
    yield "|---|---:|---|"
    for name, hint in get_type_hints(Inputs, include_extras=True).items():
        _, words, source = get_args(hint)
        yield f"| {words} | {getattr(inputs, name):,g} | {source} |"
    yield ""
    yield "| machines | days | Mb/s of a machine | disk of a machine | memory of a machine | URLs of a shard | coordinator's core |"  # noqa: E501
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for machines in MACHINES:
        row = plan(inputs, machines)
        yield (
            f"| {row.machines} | {row.days:.1f} | {row.megabits:,.0f} | {row.disk_terabytes:.1f} TB |"
            f" {row.memory_gigabytes:,.0f} GB | {row.urls_a_shard / 1e6:,.0f} million | {row.coordinator:.0%} |"
        )


def _with_bytes_of(folder: Path, inputs: Inputs) -> Inputs:
    [(pages,)] = open_collection(folder).query("select count(*) from fetches where status = 200")
    archive, tables = (_size(folder / name) / pages for name in ("warc", "tables"))
    return replace(inputs, archive_bytes=archive, table_bytes=tables)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Print the tables, the CPU time of a page, and between which numbers of machines nothing is full."""
    ask = argparse.ArgumentParser(prog="python -m bench.large_crawl")
    ask.add_argument("--collection", type=Path)
    for name in Inputs.__struct_fields__:
        ask.add_argument(f"--{name.replace('_', '-')}", type=float, default=getattr(Inputs(), name))
    asked = vars(ask.parse_args())
    folder = asked.pop("collection")
    inputs = Inputs(**asked)
    if folder is not None:
        inputs = _with_bytes_of(folder, inputs)
    print("\n".join(report(inputs)))
    print(f"\nCPU of a page: {inputs.cpu * 1e3:.2f} ms; at least, at most machines: {least_machines(inputs)}")


if __name__ == "__main__":
    main()
