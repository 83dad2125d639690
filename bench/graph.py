"""PageRank: ours against power iteration as one writes it with scipy, to the same error.

The graph is made to resemble the web: sites with sizes by a power law and numbers side by side, a third of the pages
without links, degrees by a power law, most links within a site (to its first pages, or near), the others to the first
pages of a few favourites. Rates are edges of the graph a second of the whole call: building the matrix, all products.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.harness import Group, Target, race

Graph = tuple[NDArray[np.int32], NDArray[np.int32], int]

DAMPING = 0.85
ERROR = 1e-10
OURS, POWER, NETWORKX = "periplus pagerank", "scipy power iteration", "networkx"


def measure(quick: bool) -> list[Group]:
    """One table a size."""
    sizes = (1_000_000,) if quick else (1_000_000, 10_000_000)
    return [ranking(made_web(edges), rounds=3) for edges in sizes]


def ranking(graph: Graph, rounds: int) -> Group:
    """Everyone ranks the same graph."""
    from periplus.graph import pagerank

    sources, targets, n = graph
    contestants: dict[str, Callable[[], object]] = {
        OURS: lambda: pagerank(sources, targets, n, DAMPING),
        f"{OURS}, to 1e-4": lambda: pagerank(sources, targets, n, DAMPING, tolerance=1e-4),
        POWER: lambda: power_iteration(graph),
    }
    if importlib.util.find_spec("networkx"):
        contestants[NETWORKX] = lambda: by_networkx(graph)
    rates = race(contestants, units=len(sources), rounds=rounds)
    apart = np.abs(pagerank(sources, targets, n, DAMPING) - power_iteration(graph)).max()
    return Group(
        title=f"PageRank of {len(sources) / 1e6:.0f} million links",
        unit="links/s",
        rates=rates,
        targets=(Target(OURS, POWER, 3.0),),
        facts={
            "pages": f"{n:,}",
            "pages without links": f"{1 - len(np.unique(sources)) / n:.0%}",
            "largest difference to power iteration": f"{apart:.0e}",
        },
        notes=(f"All but the second stop when the sum of absolute errors is at most {ERROR:g}.",),
    )


def power_iteration(graph: Graph) -> NDArray[np.float64]:
    """As in textbooks: a sparse matrix of probabilities, and products until nothing moves."""
    from scipy.sparse import csr_array

    sources, targets, n = graph
    degree = np.bincount(sources, minlength=n)
    links = csr_array((1 / degree[sources], (targets, sources)), shape=(n, n))
    dangling = degree == 0
    ranks: NDArray[np.float64] = np.full(n, 1 / n)
    while True:
        before = ranks
        ranks = DAMPING * (links @ before + before[dangling].sum() / n) + (1 - DAMPING) / n
        if np.abs(ranks - before).sum() * DAMPING / (1 - DAMPING) <= ERROR:
            return ranks


def by_networkx(graph: Graph) -> None:
    """Its graph built too: that is what one has to do."""
    import networkx  # type: ignore[import-not-found,import-untyped,unused-ignore]

    sources, targets, n = graph
    built = networkx.MultiDiGraph()
    built.add_nodes_from(range(n))
    built.add_edges_from(zip(sources.tolist(), targets.tolist(), strict=True))
    networkx.pagerank(built, DAMPING, tol=ERROR / n, max_iter=1000)


def made_web(edges: int, *, a_page: int = 10, seed: int = 1) -> Graph:
    """About this number of links, the same on every run."""
    chance = np.random.default_rng(seed)
    n = edges // a_page
    starts, sizes = _sites(n, chance)
    site = np.repeat(np.arange(len(starts)), sizes)
    sources = np.repeat(np.arange(n), _degrees(n, edges, chance))
    own = site[sources]
    first = starts[own] + (sizes[own] * chance.random(len(sources)) ** 2).astype(np.int64)
    near = sources + np.rint(30 * chance.standard_cauchy(len(sources))).clip(-n, n).astype(np.int64)
    near = near.clip(starts[own], starts[own] + sizes[own] - 1)
    favourite = chance.permutation(len(starts))[(len(starts) ** chance.random(len(sources))).astype(np.int64) - 1]
    away = starts[favourite] + (sizes[favourite] * chance.random(len(sources)) ** 3).astype(np.int64)
    inside = np.where(chance.random(len(sources)) < 0.5, first, near)
    targets = np.where(chance.random(len(sources)) < 0.85, inside, away)
    return sources.astype(np.int32), targets.astype(np.int32), n


def _sites(n: int, chance: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each site begins, and how many pages it has: at most 25,000."""
    sizes = np.minimum(5 * (chance.pareto(1.1, n) + 1), 25_000).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    starts = starts[starts < n]
    return starts, np.diff(np.append(starts, n))


def _degrees(n: int, edges: int, chance: np.random.Generator) -> NDArray[np.int64]:
    wanted = (chance.pareto(1.8, n) + 0.3) * (chance.random(n) > 0.3)
    scaled = np.minimum(wanted * edges / wanted.sum(), 2000)
    degrees: NDArray[np.int64] = np.floor(scaled + chance.random(n) * (scaled > 0)).astype(np.int64)
    return degrees
