"""What the live pages show of a crawl, as one flat value: from the status of a running crawl, or from its files."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from periplus.assembly.facts import CollectionFacts

View = dict[str, Any]
"""Fields by name. Numbers and texts, tables as `{reason: count}`, sites as a list."""
_REASONS = 20
"""Reasons of a table: the most frequent."""
TABLES = ("errors", "excluded", "refused", "sources", "types")


def view_of_status(status: dict[str, Any]) -> View:
    """The view of a crawl that runs. `status` is a `LiveStatus`, decoded."""
    progress, controls = status["progress"], status["controls"]
    tally, fresh = progress["tally"], progress["freshness"]
    state = "stopping" if status["is_stopping"] else "paused" if controls["is_paused"] else "running"
    return {
        "state": state,
        "kind": status["kind"],
        **_counts(tally),
        "rate": round(progress["rate"], 1),
        "known": progress["known"],
        "queued": progress["queued"],
        "hosts": progress["sites"],
        "ready": progress["ready"] + progress["visited"],
        "resting": progress["resting"] - progress["backing_off"],
        "backing_off": progress["backing_off"],
        "elapsed": round(progress["elapsed"]),
        "left": None if progress["left"] is None else round(progress["left"]),
        "limit": progress["limit"],
        "fresh": None if not fresh or not fresh["checked"] else round(fresh["fresh"], 4),
        "pace": controls["rate"],
        "patterns_excluded": status["excluded"],
        "patterns_preferred": status["preferred"],
        "sites": [
            {name: site[name] for name in ("site", "stage", "queued", "pages", "bytes", "failures", "retired")}
            for site in status["sites"]
        ],
        "at": round(status["at"]),
    }


def view_of_facts(facts: CollectionFacts) -> View:
    """The view of a collection of which no crawl runs, as of its last commit."""
    fresh = facts.freshness
    return {
        "state": "no crawl runs",
        "kind": "",
        **_counts(msgspec.to_builtins(facts.tally)),
        "rate": 0.0,
        "known": facts.known,
        "queued": facts.queued,
        "hosts": facts.sites,
        "ready": 0,
        "resting": 0,
        "backing_off": 0,
        "elapsed": None,
        "left": None,
        "limit": 0,
        "fresh": None if fresh is None or not fresh.checked else round(fresh.fresh, 4),
        "pace": None,
        "patterns_excluded": [],
        "patterns_preferred": [],
        "sites": [
            {
                "site": line.site,
                "stage": "",
                "queued": line.queued,
                "pages": line.pages,
                "bytes": line.bytes,
                "failures": line.failures,
                "retired": line.retired,
            }
            for line in facts.largest
        ],
        "at": round(time.time()),
    }


def _counts(tally: dict[str, Any]) -> View:
    numbers = ("pages", "new", "changed", "same", "copies", "redirects", "fetches", "robots", "files")
    return {
        **{name: tally[name] for name in numbers},
        "bytes": tally["downloaded"],
        "error_count": sum(tally["errors"].values()),
        **{name: _most(tally[name]) for name in TABLES},
    }


def _most(counts: dict[str, int]) -> dict[str, int]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:_REASONS])


def changed_fields(before: View, now: View) -> View:
    """The fields that differ."""
    return {name: value for name, value in now.items() if name not in before or before[name] != value}
