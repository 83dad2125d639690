"""The statements of Castillo et al. (2004), compared with the simulation.

For most figures the paper gives a relation, not a number: then the finding is how far the one lies above the other,
with both in the note, and it agrees if that is above zero in the mean. Tolerances where there are numbers: a fifth of
the value in Table I, 5 points of PageRank in Figure 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from periplus.view.figures import PlotCurve

from .batches import BatchActivity
from .castillo_evidence import NEAR, SHARES, Evidence
from .findings import AGREES, NOT_COMPARABLE, ReplicatedValue, finding, mean_interval
from .runs import OrderingResult
from .speedup import BANDWIDTHS, CONNECTIONS, TABLE_I

TABLE_TOLERANCE = 0.2
MASS_TOLERANCE = 0.05
OTHERS = {"depth": "Depth", "batch": "Batch", "partial": "Partial"}
_GRID = np.linspace(0.0, 1.0, 201)

Floats = NDArray[np.float64]


def findings_of(evidence: Evidence) -> list[ReplicatedValue]:
    """All findings, in the paper's order."""
    return [
        *figure_5(evidence),
        *figure_6(evidence),
        *table_1(evidence),
        *figures_7_to_9(evidence),
        *figure_10(evidence),
        *figure_12(evidence),
    ]


def relation(
    what: str, above: tuple[str, Sequence[float]], below: tuple[str, Sequence[float]], unit: str, note: str = ""
) -> ReplicatedValue:
    """Whether the one is above the other, in the mean of all seeds."""
    lead = [high - low for high, low in zip(above[1], below[1], strict=True)]
    mean, low, high = mean_interval(lead)
    verdict = AGREES if mean > 0 else f"differs by {mean:+.3g} {unit}".rstrip()
    verdict = verdict if np.isfinite(mean) else NOT_COMPARABLE
    text = ", ".join(f"{name} {mean_interval(values)[0]:.3g}" for name, values in (above, below))
    bounds = (low, high) if len(lead) > 1 else (None, None)
    return ReplicatedValue(what, None, mean, unit, verdict, f"{text}{'; ' + note if note else ''}", 0.0, *bounds)


def figure_5(evidence: Evidence) -> list[ReplicatedValue]:
    """One robot: *Length* above the others but *Optimal*, which leads early and is overtaken late."""
    length, optimal = evidence.of("Figure 5", "length"), evidence.of("Figure 5", "optimal")
    others = {name: evidence.of("Figure 5", key) for key, name in OTHERS.items()}
    varied = {key: evidence.of("Figure 5", key, web="large sites are popular") for key in ("length", *OTHERS)}
    found = []
    for key, (name, results) in zip(OTHERS, others.items(), strict=True):
        for share in SHARES:
            one, other = (np.mean(_at(varied[each], share)) for each in ("length", key))
            note = f"where large sites are popular {one:.3g} and {other:.3g}"
            what = f"Figure 5, r = 1, {share:.0%} of pages: Length above {name}"
            found.append(relation(what, ("Length", _at(length, share)), (name, _at(results, share)), "share", note))
        found.append(_over_time(name, length, results))
    return [*found, *_too_greedy(optimal, [length, *others.values()])]


def _over_time(name: str, length: list[OrderingResult], results: list[OrderingResult]) -> ReplicatedValue:
    """The mean over the time in which *Length* ends."""
    pairs = [_in_time(one, other) for one, other in zip(length, results, strict=True)]
    ends = [mean_interval(each.makespan for each in group)[0] / 3600 for group in (length, results)]
    return relation(
        f"Figure 5, r = 1, mean over virtual time: Length above {name}",
        ("Length", [pair[0] for pair in pairs]),
        (name, [pair[1] for pair in pairs]),
        "share",
        f"all pages after {ends[0]:.1f} h and {ends[1]:.1f} h",
    )


def _too_greedy(optimal: list[OrderingResult], others: list[list[OrderingResult]]) -> list[ReplicatedValue]:
    best = {
        share: [max(values) for values in zip(*(_at(each, share) for each in others), strict=True)] for share in SHARES
    }
    late, behind = zip(*(_lag(*rest) for rest in zip(optimal, *others, strict=True)), strict=True)
    where = mean_interval(late)[0]
    return [
        relation(
            "Figure 5, r = 1, 10 % of pages: Optimal above all others",
            ("Optimal", _at(optimal, SHARES[0])),
            ("best other", best[SHARES[0]]),
            "share",
        ),
        relation(
            "Figure 5, r = 1, late: Optimal is overtaken",
            ("lag of Optimal at its greatest", behind),
            ("none", [0.0] * len(behind)),
            "share",
            f"greatest after {where:.0%} of pages; at 80 % Optimal {np.mean(_at(optimal, 0.8)):.3f}, "
            f"best other {np.mean(best[0.8]):.3f}",
        ),
    ]


def _lag(optimal: OrderingResult, *others: OrderingResult) -> tuple[float, float]:
    """Where, in share of pages, the best other is furthest above *Optimal*, and by how much (below zero: nowhere)."""
    ahead = np.max([_on_grid(each.curve) for each in others], axis=0) - _on_grid(optimal.curve)
    inner = ahead[1:-1]
    place = int(np.argmax(inner))
    return float(_GRID[place + 1]), float(inner[place])


def figure_6(evidence: Evidence) -> list[ReplicatedValue]:
    """More robots: *Depth* comes near *Length*, which changes less."""
    curves = {
        (name, r): [_on_grid(each.curve) for each in _crawls_with(evidence, name, r)]
        for name in ("length", "depth")
        for r in CONNECTIONS
    }
    gap = {
        r: [_apart(*pair) for pair in zip(curves["length", r], curves["depth", r], strict=True)] for r in CONNECTIONS
    }
    change = {
        name: [_apart(*pair) for pair in zip(curves[name, 1], curves[name, 256], strict=True)]
        for name in ("length", "depth")
    }
    return [
        *(
            relation(
                f"Figure 6: Depth is nearer to Length with {r} robots than with one",
                ("greatest gap, r = 1", gap[1]),
                (f"r = {r}", gap[r]),
                "share",
            )
            for r in CONNECTIONS[1:]
        ),
        relation(
            "Figure 6: from 1 to 256 robots Depth changes more than Length",
            ("Depth by up to", change["depth"]),
            ("Length", change["length"]),
            "share",
            "the paper calls Length more stable",
        ),
    ]


def _crawls_with(evidence: Evidence, policy: str, connections: int) -> list[OrderingResult]:
    return evidence.of("Figure 5" if connections == 1 else "Figure 6", policy, connections=connections)


def table_1(evidence: Evidence) -> list[ReplicatedValue]:
    """Speed-ups of whole crawls, against one connection on the fastest line."""
    base = evidence.of("Table I", "length", connections=1, bandwidth=BANDWIDTHS[0])
    impolite = {r: evidence.of("Table I", "length", connections=r, delay=0.0) for r in CONNECTIONS}
    found = []
    for line in BANDWIDTHS:
        for r in CONNECTIONS:
            results = evidence.of("Table I", "length", connections=r, bandwidth=line, delay=15.0)
            paper = TABLE_I[line, r]
            bound, reason = evidence.bounds[line, r]
            notes = [f"no more than {bound:.3g} is possible ({reason})"]
            if r > 1:
                notes.append(f"first half of the pages {np.mean(_ratios(base, results, 'half_at')):.3g}")
            if r > 1 and line == BANDWIDTHS[0]:
                notes.append(f"with w = 0 {np.mean(_ratios(impolite[1], impolite[r], 'makespan')):.3g}")
            found.append(
                finding(
                    f"Table I, {line:,.0f} B/s, r = {r}: speed-up",
                    paper,
                    _ratios(base, results, "makespan"),
                    tolerance=TABLE_TOLERANCE * paper,
                    note="; ".join(notes),
                )
            )
    return found


def _ratios(base: list[OrderingResult], results: list[OrderingResult], what: str) -> list[float]:
    return [getattr(one, what) / getattr(other, what) for one, other in zip(base, results, strict=True)]


def figures_7_to_9(evidence: Evidence) -> list[ReplicatedValue]:
    """Batches are on few sites; so most robots are idle, unless a visit takes many pages."""
    tops = [batch.top_tenth for batch, _ in evidence.batches]
    sites = np.mean([batch.sites for batch, _ in evidence.batches])
    robots = evidence.batches[0][1][0].connections
    size = len(evidence.batches[0][0].pages)
    half = [0.5] * len(tops)
    found = [
        relation(
            "Figure 7: most pages of a batch lie on a tenth of the sites",
            ("they have", tops),
            ("most is more than", half),
            "share",
            f"{size} pages on {sites:.0f} sites",
        )
    ]
    for line in (2_000.0, 20_000.0):
        one, many, free = (_ways(evidence, *way) for way in ((1, line), (100, line), (1, 2_000_000.0)))
        note = (
            f"{robots} robots, idle {np.mean([each.idle for each in one]):.0%} of their time; "
            f"on a line that is never full {np.mean([each.idle for each in free]):.0%}"
        )
        found += [
            relation(
                f"Figure 8, k = 1, {line:,.0f} B/s: most robots are idle most of the time",
                ("share of time in which most are", [each.mostly_idle for each in one]),
                ("most is more than", half),
                "share",
                note,
            ),
            relation(
                f"Figure 9, {line:,.0f} B/s: 100 pages a visit remove most idling",
                ("half of the idle time with k = 1", [each.idle / 2 for each in one]),
                ("idle time with k = 100", [each.idle for each in many]),
                "share",
                f"the batch takes {_hours(one):.2g} h and {_hours(many):.2g} h",
            ),
        ]
    return found


def _ways(evidence: Evidence, pages_per_visit: int, bandwidth: float) -> list[BatchActivity]:
    return [
        each
        for _, activities in evidence.batches
        for each in activities
        if (each.pages_per_visit, each.bandwidth) == (pages_per_visit, bandwidth)
    ]


def _hours(activities: list[BatchActivity]) -> float:
    return float(np.mean([each.makespan for each in activities])) / 3600


def figure_10(evidence: Evidence) -> list[ReplicatedValue]:
    """The real crawl: half of the pages have 80 % of PageRank, 80 % of them more than 95 %."""
    length, optimal = (evidence.of("Figure 10", name, web="80 % ok") for name in ("length", "optimal"))
    varied = evidence.of("Figure 10", "length", web="80 % ok, half of the links leave their site")
    return [
        finding(
            f"Figure 10, Length: PageRank of the first {share:.0%} of pages",
            paper,
            _at(length, share),
            "share",
            tolerance=MASS_TOLERANCE,
            note=f"an oracle has {np.mean(_at(optimal, share)):.3f} on this web; "
            f"if half of the links left their site Length had {np.mean(_at(varied, share)):.3f}",
        )
        for share, paper in ((0.5, 0.8), (0.8, 0.95))
    ]


def figure_12(evidence: Evidence) -> list[ReplicatedValue]:
    """PageRank falls with depth near the home page and hardly beyond; home pages have little."""
    profiles = evidence.depths
    near, far = [-each.near for each in profiles], [abs(each.far) for each in profiles]
    shown = ", ".join(f"{value:.2f}" for value in profiles[0].mean_rank)
    return [
        relation(
            f"Figure 12: PageRank falls with depth up to {NEAR} clicks, and less beyond",
            (f"rank correlation, 1 to {NEAR} clicks", near),
            ("beyond, either way", far),
            "",
            f"mean by depth, in multiples of the mean of all: {shown}",
        ),
        relation(
            "Figure 12: home pages have a low mean PageRank",
            ("pages one click away", [each.mean_rank[1] for each in profiles]),
            ("home pages", [each.mean_rank[0] for each in profiles]),
            "mean PageRanks",
        ),
    ]


def _at(results: Sequence[OrderingResult], share: float) -> list[float]:
    return [dict(each.mass)[share] for each in results]


def _on_grid(curve: PlotCurve) -> Floats:
    return np.interp(_GRID, curve.x, curve.y)


def _apart(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).max())


def _in_time(one: OrderingResult, other: OrderingResult) -> tuple[float, float]:
    """The mean of both over the time that the first takes."""
    times = _GRID * one.makespan
    first, second = (float(np.interp(times, each.over_time.x, each.over_time.y).mean()) for each in (one, other))
    return first, second
