"""How much faster a crawl ends with more connections, and with how much bandwidth: Table I of Castillo et al. (2004).

Speed-up is the virtual time of a whole crawl with one connection on the fastest line, over that with r connections on
a line of B bytes a second; efficiency is speed-up a connection. A crawl cannot end before the site that takes longest
is through, a fetch and w seconds a page, nor before all bytes went over the line: `bounds` says which of them is felt.
If all pages took alike, no speed-up could be above the share of the largest site in all pages, inverted: 140 for the
paper's 25,000 of 3.5 million. Its 220 must have been measured otherwise than over a whole crawl.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from .graph_files import ranked, store_web
from .network import NetworkSettings
from .orderings import OrderingJob, crawl_job
from .runs import OrderingResult, PolicyChoice
from .web import Web
from .workers import Progress, run_jobs

CONNECTIONS = (1, 64, 256)
BANDWIDTHS = (20_000_000.0, 2_000_000.0, 200_000.0, 20_000.0)
"""The first four rows of Table I, in bytes a second; the table has no unit. The last two rows are not monotone."""
TABLE_I = {
    (20_000_000.0, 1): 1.0, (20_000_000.0, 64): 54.6, (20_000_000.0, 256): 220.1,
    (2_000_000.0, 1): 1.0, (2_000_000.0, 64): 54.3, (2_000_000.0, 256): 204.3,
    (200_000.0, 1): 1.0, (200_000.0, 64): 43.0, (200_000.0, 256): 114.1,
    (20_000.0, 1): 1.0, (20_000.0, 64): 27.0, (20_000.0, 256): 83.3,
}  # fmt: skip
_STEPS = 1000


class SpeedupResult(Struct, frozen=True):
    """A crawl with a number of connections on a line.

    `makespan` is the virtual time of all of it, `half_at` of the first half of its pages, while there were sites
    enough; `speedup` and `half_speedup` compare them with one connection on the fastest line. `bound` is what no
    scheduler could surpass, and `bound_by` says why: `connections`, `line` or `slowest site` (see `bounds`).
    """

    connections: int
    bandwidth: float
    makespan: float
    half_at: float
    speedup: float
    efficiency: float
    half_speedup: float
    bound: float
    bound_by: str
    pages: int
    seed: int


class Bounds(Struct, frozen=True):
    """Speed-ups that cannot be surpassed: by the connections, by the line, and by politeness."""

    connections: float
    line: float
    slowest_site: float

    def least(self) -> tuple[float, str]:
        """The one that is felt, and its name."""
        return min((getattr(self, name), name.replace("_", " ")) for name in self.__struct_fields__)


def speedups(
    web: Web,
    *,
    connections: Sequence[int] = CONNECTIONS,
    bandwidths: Sequence[float] = BANDWIDTHS,
    network: NetworkSettings | None = None,
    policy: PolicyChoice | None = None,
    seed: int = 0,
    limit: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[SpeedupResult]:
    """Every number of connections on every line, the fastest line first; by default with *Length*."""
    base = network or NetworkSettings()
    policy = policy or PolicyChoice("largest_site")
    lines = sorted(set(bandwidths), reverse=True)
    cases = [(1, lines[0])] + [
        (r, line) for line in lines for r in sorted(set(connections)) if (r, line) != (1, lines[0])
    ]
    ranked_web = ranked(web)
    with TemporaryDirectory(prefix="periplus-simulate-") as folder:
        if workers > 1:
            store_web(ranked_web, Path(folder))
        where = Path(folder) if workers > 1 else ranked_web
        jobs = [
            OrderingJob(where, policy, replace(base, connections=r, bandwidth=line), seed, (0.5,), limit)
            for r, line in cases
        ]
        done = run_jobs(crawl_job, jobs, total=len(jobs), steps=_STEPS, workers=workers, progress=progress)
        results = [each.result for each in sorted(done, key=lambda each: each.number)]
    found = [_result(web, job, result, results[0]) for job, result in zip(jobs, results, strict=True)]
    return [each for each in found if each.connections in connections]


def bounds(web: Web, network: NetworkSettings, alone: float) -> Bounds:
    """What no scheduler could surpass on this web, where one connection takes `alone` seconds."""
    took = web.latency[web.site] + web.size / web.bandwidth[web.site]
    by_site = np.bincount(web.site, weights=took) + network.delay * (
        np.ceil(np.bincount(web.site) / network.pages_per_visit) - 1
    )
    return Bounds(
        float(network.connections),
        alone * network.bandwidth / float(web.size.sum()) if network.bandwidth < inf else inf,
        alone / float(by_site.max()),
    )


def _result(web: Web, job: OrderingJob, result: OrderingResult, base: OrderingResult) -> SpeedupResult:
    network = job.network
    speedup = base.makespan / result.makespan
    bound, bound_by = bounds(web, network, base.makespan).least()
    return SpeedupResult(
        network.connections,
        network.bandwidth,
        result.makespan,
        result.half_at,
        speedup,
        speedup / network.connections,
        base.half_at / result.half_at,
        bound,
        bound_by,
        result.pages,
        job.seed,
    )
