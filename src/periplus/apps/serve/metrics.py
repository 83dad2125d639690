"""`/metrics` for Prometheus, `/healthz` and `/readyz` for whatever restarts the server.

Values are those of the crawl's status at the moment of the request, or of the last commit where no crawl runs; nothing
is counted in a global registry. docs/live.md lists every name. No label holds a site or a URL.

counters_of(collection).search(seconds)
counters_of(collection).message("indexnow", "accepted")
"""

from __future__ import annotations

import shutil
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, cast

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from periplus import __version__
from periplus.collection.collection import states
from periplus.collection.control import ControlClient
from periplus.collection.facts.lookup import collection_facts
from periplus.engine.stats import DURATIONS
from periplus.model import Freshness, PeriplusError

from .rendering import json_response
from .routing import Audience, route
from .served import Served, ServedCollection, served_of

SEARCH_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of the classes in which the durations of searches are counted."""
_MAX_LABELS = 100
"""Pairs of kind and result that are counted: a bound, as both come from our own code."""


class Counters:
    """Counts since the server started. Any thread may count."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.searches = [0] * (len(SEARCH_SECONDS) + 1)
        self.search_seconds = 0.0
        self.messages: Counter[tuple[str, str]] = Counter()

    def search(self, seconds: float) -> None:
        """Count a search."""
        with self._lock:
            self.searches[bisect_left(SEARCH_SECONDS, seconds)] += 1
            self.search_seconds += seconds

    def message(self, kind: str, result: str) -> None:
        """Count a message that a receiver got."""
        with self._lock:
            if (kind, result) in self.messages or len(self.messages) < _MAX_LABELS:
                self.messages[kind, result] += 1


_NAME = "live_counters"
_MAKING = Lock()


def counters_of(collection: ServedCollection) -> Counters:
    """The counters of a collection, made when they are first used."""
    with _MAKING:
        counters = getattr(collection, _NAME, None)
        if counters is None:
            counters = Counters()
            setattr(collection, _NAME, counters)
        return cast("Counters", counters)


MAX_COMMIT_AGE = 60.0
"""Seconds since the last commit of a running crawl after which the server is not ready."""
MIN_FREE = 1 << 30
"""Bytes of free disk below which the server is not ready: 1 GiB."""
_CRAWL_TIMEOUT = 10.0
"""Seconds to wait for the status of a crawl: the default timeout of a scrape."""

Sample = tuple[tuple[str, ...], float]
"""The values of labels, and the value."""


class Readiness(Struct, frozen=True):
    """Whether requests can be served, and what is in the way."""

    is_ready: bool
    reasons: tuple[str, ...] = ()


def routes() -> list[Route]:
    """The routes for monitoring."""
    return [
        route("/metrics", _metrics, audience=Audience.VIEWER),
        route("/healthz", _healthz, audience=Audience.ANYONE),
        route("/readyz", _readyz, audience=Audience.ANYONE),
    ]


def _healthz(request: Request) -> Response:  # noqa: ARG001 - it answers, so it is well
    return PlainTextResponse("ok\n")


def _readyz(request: Request) -> Response:
    found = readiness(served_of(request))
    return json_response(found, 200 if found.is_ready else 503)


def readiness(served: Served) -> Readiness:
    """Whether every collection opens, running crawls commit, and there is room on the disk."""
    reasons: list[str] = []
    for name, collection in served.collections.items():
        try:
            with states(collection.collection.layout):
                pass
        except (PeriplusError, OSError):
            reasons.append(f"{name} cannot be opened")
            continue
        if shutil.disk_usage(collection.folder).free < MIN_FREE:
            reasons.append(f"{name}: less than 1 GiB is free on its disk")
        status = _status(collection)
        committed_at = 0.0 if status is None else status["progress"]["committed_at"]
        if committed_at and time.time() - committed_at > MAX_COMMIT_AGE:
            reasons.append(f"{name}: the last commit is {time.time() - committed_at:.0f} s old")
    return Readiness(not reasons, tuple(reasons))


def _metrics(request: Request) -> Response:
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures(served_of(request)))
    return Response(encode(registry), media_type=content_type)


def _status(collection: ServedCollection) -> dict[str, Any] | None:
    try:
        with ControlClient(collection.folder, timeout=_CRAWL_TIMEOUT) as crawl:
            return crawl.ask("status")
    except PeriplusError:
        return None


class Figures(Collector):
    """All metrics of a server. Each is emitted once, with a sample for every collection that has a value."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def describe(self) -> Iterable[Metric]:
        """Return no metrics, so that registering this reads no collection."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Ask every crawl once."""
        known = {name: Known(collection) for name, collection in self._served.collections.items()}
        for name, help_, labels in COUNTERS:
            yield _filled(CounterMetricFamily(name, help_, labels=("collection", *labels)), name, known)
        for name, help_, labels in GAUGES:
            yield _filled(GaugeMetricFamily(name, help_, labels=("collection", *labels)), name, known)
        for name, help_, _ in HISTOGRAMS:
            yield _histogram(name, help_, known)
        memory = GaugeMetricFamily("periplus_process_resident_memory_bytes", "Memory of the process that serves.")
        memory.add_metric((), _resident())
        yield memory
        built = GaugeMetricFamily("periplus_build_info", "The version of Periplus.", labels=("version",))
        built.add_metric((__version__,), 1.0)
        yield built


COUNTERS = (
    ("periplus_fetches", "Requests that ended.", ("outcome", "purpose")),
    ("periplus_pages", "Pages fetched.", ("kind",)),
    ("periplus_fetch_bytes", "Bytes of bodies.", ()),
    ("periplus_errors", "Requests for pages that failed.", ("reason",)),
    ("periplus_refused", "URLs that filters refused when they were discovered.", ("reason",)),
    ("periplus_excluded", "URLs that left the queue without a request.", ("reason",)),
    ("periplus_discoveries", "URLs named by a source for the first time.", ("source", "is_new")),
    ("periplus_search_queries", "Searches.", ()),
    ("periplus_receiver_messages", "Messages that receivers got.", ("kind", "result")),
)
GAUGES = (
    ("periplus_queue_urls", "URLs that wait.", ()),
    ("periplus_known_urls", "URLs known.", ()),
    ("periplus_sites", "Active sites of a running crawl.", ("state",)),
    ("periplus_leases", "Requests under way.", ()),
    ("periplus_cut_off", "1 while no server can be reached.", ()),
    ("periplus_checkpoint_duration_seconds", "How long the last commit took, of the slowest shard.", ()),
    ("periplus_checkpoint_timestamp_seconds", "When everything was last committed, by the slowest shard.", ()),
    ("periplus_freshness_ratio", "Estimated share of copies that are current.", ()),
    ("periplus_refresh_price", "What a revisit must be worth in a watch.", ()),
    ("periplus_index_documents", "Documents in the search index.", ()),
)
HISTOGRAMS = (
    ("periplus_fetch_duration_seconds", "Seconds from the request to the end of the answer.", ()),
    ("periplus_search_duration_seconds", "Seconds that searches took.", ()),
)


class Known:
    """What is known of one collection at the moment of a request."""

    def __init__(self, collection: ServedCollection) -> None:
        self._collection = collection
        self._counters = counters_of(collection)
        status = _status(collection)
        self._progress: dict[str, Any] | None = None if status is None else status["progress"]
        if self._progress is None:
            facts = collection_facts(collection.collection)
            self._tally: dict[str, Any] = msgspec.to_builtins(facts.tally)
            self._known, self._queued = facts.known, facts.queued
            self._fresh = None if facts.freshness is None else msgspec.to_builtins(facts.freshness)
        else:
            self._tally, self._fresh = self._progress["tally"], self._progress["freshness"]
            self._known = self._progress["known"]
            self._queued = self._progress["queued"] - self._progress["queued_files"]

    def samples(self, name: str) -> list[Sample]:  # noqa: C901 - one case for each name
        """The samples of a metric; none if it has no value here."""
        tally = self._tally
        match name.removeprefix("periplus_"):
            case "fetches":
                return [((*key.split(" ", 1),), count) for key, count in tally["outcomes"].items()]
            case "pages":
                kinds = (("new", "new"), ("changed", "changed"), ("same", "same"), ("copy", "copies"))
                return [((kind,), tally[field]) for kind, field in kinds]
            case "fetch_bytes":
                return [((), tally["downloaded"])]
            case "errors" | "refused" | "excluded" as field:
                return [((reason,), count) for reason, count in tally[field].items()]
            case "discoveries":
                return self._discoveries()
            case "search_queries":
                return [((), sum(self._counters.searches))]
            case "receiver_messages":
                return [(labels, count) for labels, count in self._counters.messages.items()]
            case "queue_urls":
                return [((), self._queued)]
            case "known_urls":
                return [((), self._known)]
            case "index_documents":
                return self._documents()
            case "freshness_ratio":
                return self._of_freshness("fresh")
            case "refresh_price":
                return self._of_freshness("price")
            case _:
                return self._of_crawl(name)

    def _discoveries(self) -> list[Sample]:
        again = self._tally["found_again"]
        samples: list[Sample] = []
        for source, count in self._tally["sources"].items():
            samples.append(((source, "true"), count - again.get(source, 0)))
            samples.append(((source, "false"), again.get(source, 0)))
        return samples

    def _of_freshness(self, field: str) -> list[Sample]:
        fresh = self._fresh
        is_known = bool(fresh and fresh["pages"])
        if fresh and field == "fresh":
            is_known = bool(fresh["checked"] and Freshness(**fresh).is_narrow)
        return [] if not fresh or not is_known or fresh[field] is None else [((), fresh[field])]

    def _of_crawl(self, name: str) -> list[Sample]:
        """What only a running crawl knows."""
        progress = self._progress
        if progress is None:
            return []
        if name == "periplus_sites":
            resting = progress["resting"] - progress["backing_off"]
            counts = {**{each: progress[each] for each in ("ready", "visited", "backing_off")}, "resting": resting}
            return [((state,), count) for state, count in counts.items()]
        if name == "periplus_cut_off":
            return [((), int(progress["cut_off"] is not None))]
        fields = {
            "periplus_leases": "leases",
            "periplus_checkpoint_duration_seconds": "commit_seconds",
            "periplus_checkpoint_timestamp_seconds": "committed_at",
        }
        return [((), progress[fields[name]])]

    def _documents(self) -> list[Sample]:
        if not self._collection.has_index:
            return []
        with self._collection.index() as index:
            return [((), len(index))]

    def buckets(self, name: str) -> tuple[list[tuple[str, float]], float]:
        """The classes of a histogram, each with the sum of it and all before; and the sum of all values."""
        if name == "periplus_search_duration_seconds":
            bounds: Iterable[float] = SEARCH_SECONDS
            counts, total = self._counters.searches, self._counters.search_seconds
        else:
            bounds, named = DURATIONS, self._tally["durations"]
            counts = [named.get(f"{bound:g}", 0) for bound in DURATIONS] + [named.get("more", 0)]
            total = self._tally["seconds"]
        buckets, so_far = [], 0
        for bound, count in zip((*(f"{bound:g}" for bound in bounds), "+Inf"), counts, strict=True):
            so_far += count
            buckets.append((bound, float(so_far)))
        return buckets, total


def _filled(family: Any, name: str, known: Mapping[str, Known]) -> Metric:
    for collection, one in known.items():
        for labels, value in one.samples(name):
            family.add_metric((collection, *labels), value)
    made: Metric = family
    return made


def _histogram(name: str, help_: str, known: Mapping[str, Known]) -> Metric:
    family = HistogramMetricFamily(name, help_, labels=("collection",))
    for collection, one in known.items():
        buckets, total = one.buckets(name)
        family.add_metric((collection,), buckets, total)
    return family


def _resident() -> float:
    """Bytes of this process in memory; 0 where the system has no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    import resource

    return float(pages * resource.getpagesize())
