"""The ports: interfaces that one package requires and another implements.

Ports take batches, because the most constrained implementation decides the shape: a seen set on disk answers for a
whole batch in one pass. Every port of storage has a full in-memory implementation, and a suite in `tests/conformance`
that every implementation passes. `Executor`, the port for independent jobs, is implemented in
`periplus.insight.executors` (this process, or several of this machine) and `periplus_ray` (tasks on Ray).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from .events import Event
from .state import (
    Batch,
    KnownLinks,
    Messages,
    Payload,
    Placement,
    Queued,
    RobotsFile,
    SitemapFileRow,
    Sketched,
    Ticket,
    UrlScore,
)
from .types import Discovery, Lane, Site, Url, UrlRecord, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Clock(Protocol):
    """The time, for the few rooms that need it. Rooms that decide get it as an argument."""

    def now(self) -> float:
        """POSIX seconds; never runs backwards."""


class Filter(Protocol):
    """Decides whether a URL is wanted."""

    def judge(self, discovery: Discovery) -> Verdict:
        """Accept, reject with a reason, or name the URL under which we know the page."""


class Ordering(Protocol):
    """Scores a URL. Larger is sooner."""

    def score(self, discovery: Discovery) -> float:
        """A priority, comparable within one crawl."""

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:
        """Which site comes first of those that may be visited; smaller is sooner.

        `waiting` is the length of its queue, `level` that of the queue's head, `ready_at` since when it may be visited.
        """


@runtime_checkable
class Learning(Protocol):
    """An ordering in which a URL gains from every page that links to it.

    It keeps a `UrlScore` of each URL. `score` is for new URLs; later `score_of` is used.
    """

    def share(self, worth: float, links: int) -> float:
        """What a page that was just read passes on to each of the URLs it links to."""

    def rest(self, worth: float) -> float:
        """The share that the page itself keeps."""

    def score_of(self, worth: float, age: int) -> float:
        """The priority of a URL that waits. `age` is how many pages were fetched since it was found."""


@runtime_checkable
class Combining(Protocol):
    """An ordering in which the gains of a URL are not added up."""

    def combined(self, worth: float, gain: float, share: float) -> float:
        """The worth of a URL after another gain, of which a share counts."""


@runtime_checkable
class Sorting(Protocol):
    """An ordering whose levels are kinds of URLs: which kind comes next is decided at each request, by a part.

    Levels are then not changed by anything else, such as the depth of a URL.
    """

    has_kinds: bool


@runtime_checkable
class Ranking(Protocol):
    """An ordering that ranks all known URLs from time to time:

    every `every` pages. With `is_batch` only the URLs it selected are fetched until the next ranking.
    """

    every: int
    is_batch: bool

    def ranks(self, known: KnownLinks) -> NDArray[np.float64]:
        """The score of each URL; the mean is about 1."""

    def batch_size(self, waiting: int) -> int:
        """How many of `waiting` URLs go into the next batch."""


class UrlRecords(Protocol):
    """The records of URLs, by site, so that a page's links are close together; and the seen test."""

    def add_new(self, records: Sequence[UrlRecord]) -> list[UrlRecord | None]:
        """Add records of unknown URLs. Return for each the record that was there before; `None`: it was new.

        A repeat inside the batch is new only the first time. For a link to a URL that a link found earlier, and that
        was visited or not refused, the answer may be the given record: such a link changes nothing.
        """

    def get(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        """The record of each, aligned with `urls`."""

    def put(self, records: Iterable[UrlRecord]) -> None:
        """Write all or none."""

    def of_site(self, site: Site) -> Iterator[UrlRecord]:
        """Every record of a site, each once."""

    def __len__(self) -> int:
        """The number of known URLs."""


class Queues(Protocol):
    """The URLs that wait, by site and lane, the lowest level first; and those that wait for a time."""

    def push(self, entries: Sequence[Queued]) -> list[Ticket]:
        """Add all at the end of their levels; the place of each."""

    def heads(self, site: Site, lane: Lane, limit: int) -> list[Ticket]:
        """The first `limit` of a site's lane. They stay where they are until removed."""

    def levels(self, site: Site, lane: Lane) -> list[int]:
        """The levels of a site's lane where something waits, ascending."""

    def heads_of_level(self, site: Site, lane: Lane, level: int, limit: int) -> list[Ticket]:
        """The first `limit` of one level of a site's lane."""

    def remove(self, tickets: Sequence[Ticket]) -> None:
        """Take these out; those that are not there any more do not matter."""

    def length(self, site: Site, lane: Lane) -> int:
        """The number of URLs in the queue."""

    def waiting(self) -> Iterator[tuple[Site, Lane, int]]:
        """Every site and lane where something waits, with the lowest level there."""

    def postpone(self, entries: Sequence[tuple[float, Queued]]) -> None:
        """Keep these out of the queues until their time."""

    def release(self, now: float, limit: int) -> list[Ticket]:
        """Push at most `limit` postponed entries that are due, earliest first; return the place of each."""

    def next_release(self) -> float | None:
        """When the first postponed entry is due."""

    def __len__(self) -> int:
        """How many wait in all queues, the postponed ones included."""


class UrlScores(Protocol):
    """Scores of URLs, for orderings that learn; and all links, for orderings that need them."""

    def get(self, urls: Sequence[Url]) -> list[UrlScore | None]:
        """The score of each, aligned with `urls`."""

    def put(self, scores: Sequence[tuple[Url, UrlScore]]) -> None:
        """Store these."""

    @property
    def held(self) -> Mapping[Url, UrlScore]:
        """Scores in memory whose worth, level and place may be changed without putting them back."""

    def link(self, links: Sequence[tuple[Url, Url]]) -> None:
        """Store links, each from a URL to a URL; those with an end without a score are left out."""

    def known(self) -> KnownLinks:
        """All scores and links, as numbers."""

    def numbered(self, numbers: Sequence[int]) -> list[tuple[Url, UrlScore]]:
        """The URLs to which the last call of `known` gave these numbers."""

    def revalue(self, worth: NDArray[np.float64]) -> None:
        """Set the new score of each URL that `known` numbered."""

    @property
    def pooled(self) -> int:
        """How many are neither in a queue nor done: they wait for the next batch."""


class SitemapRows(Protocol):
    """Sitemaps, feeds and archives, as rows that only the crawl interprets; and the entries of each.

    A file is identified by a key that its twins share. It is due at a time; `math.inf`: not before it is named again.
    """

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """The row of each, aligned with `keys`."""

    def put(self, rows: Sequence[SitemapFileRow]) -> None:
        """Store these."""

    def due(self, now: float, limit: int) -> list[str]:
        """The keys of at most `limit` files that are due, the longest due first. They stay due until put again."""

    def next_due(self) -> float | None:
        """The earliest due time; `None`: no file is due."""

    def of_site(self, site: Site) -> Iterator[bytes]:
        """The rows of the sitemap files on a site."""

    def __iter__(self) -> Iterator[bytes]:
        """Every row, each once."""

    def memory(self, key: str) -> bytes:
        """The entries of a file at its last reading; empty if they are not kept."""

    def remember(self, key: str, memory: bytes) -> None:
        """Store the entries of a file; an empty value removes them."""

    def __len__(self) -> int:
        """The number of known files."""


class Listings(Protocol):
    """URLs that files list and that are not queued yet: slices by site and level, which only the crawl understands.

    A site may list a hundred million pages. Until their turn comes they cost the few bytes that they take here.
    """

    def add(self, site: Site, level: int, slices: Sequence[bytes]) -> None:
        """Keep slices of what is listed of a site, at the end of a level."""

    def take(self, site: Site, first: int = 0, last: int = 255) -> bytes | None:
        """Remove and return the first slice of a site at these levels, lowest level first."""

    def has(self, site: Site, first: int = 0, last: int = 255, *, least: int = 1) -> bool:
        """Whether a site has at least `least` slices at these levels."""

    def sites(self) -> Iterator[Site]:
        """Every site with listed URLs, each once."""

    def __len__(self) -> int:
        """The number of slices."""


class RevisitQueue(Protocol):
    """The revisit times of URLs.

    A URL is there at most once, and the caller that moves it knows its old time.
    """

    def move(self, moves: Sequence[tuple[Url, float | None, float | None]]) -> None:
        """Move each URL from its old time to a new one; `None`: there is none."""

    def due(self, now: float, limit: int) -> list[tuple[Url, float]]:
        """At most `limit` URLs that are due, with their time, the earliest first. They stay until they are moved."""

    def after(self, time: float) -> tuple[Url, float] | None:
        """The first entry at or after a time, with its time."""

    def next_due(self) -> float | None:
        """The first time of all."""

    def __iter__(self) -> Iterator[Url]:
        """Every URL, the earliest first."""

    def __len__(self) -> int:
        """The number of URLs."""


class RobotsFiles(Protocol):
    """The last robots.txt of each site."""

    def get(self, site: Site) -> RobotsFile | None:
        """The stored one, whether or not it has expired."""

    def put(self, file: RobotsFile) -> None:
        """Store this one."""


class Payloads(Protocol):
    """Payloads that were seen before, and where they are stored."""

    def get(self, digest: bytes) -> Payload | None:
        """The one of this digest, if there is one."""

    def add_new(self, payload: Payload) -> Payload | None:
        """Store it and return `None` if its digest is new; otherwise return the first one."""


class Sketches(Protocol):
    """Which pages say nearly the same: clusters, from sketches. What is one cluster is for `policy.duplicates` to say.

    A page that comes again is placed again if its text has changed. How many pages are looked at is bounded, so
    that a pair may be missed where very many pages share a phrase.
    """

    def add(self, pages: Sequence[Sketched]) -> list[Placement | None]:
        """Put each page with those that it resembles, one after the other. `None`: it has too little text."""

    def get(self, urls: Sequence[Url]) -> list[Placement | None]:
        """The placement of each, aligned with `urls`."""

    def mark_listed(self, urls: Sequence[Url]) -> None:
        """Record that sitemaps list these now, for the choice of canonical URLs; unknown URLs are ignored."""

    def remove(self, urls: Sequence[Url]) -> None:
        """Remove pages that no longer exist; unknown URLs are ignored."""

    def __len__(self) -> int:
        """The number of clusters."""


class Exchange(Protocol):
    """Batches between shards, each kept until the other side has it for good, each taken once.

    A batch is dropped by the sender only when the receiver has acknowledged it, and the receiver does so after its own
    commit; one that comes twice is known by its number.
    """

    def send(self, receiver: int, messages: Messages) -> None:
        """Store a batch for another shard."""

    def receivers(self) -> list[int]:
        """The shards with batches that were not offered since this store was opened."""

    def unsent(self, receiver: int, limit: int) -> list[Batch]:
        """The next batches for one receiver, in order; each is shown once, after its commit."""

    def sent(self, receiver: int) -> int:
        """The number of the last batch stored for a shard."""

    def acknowledged(self, receiver: int, number: int) -> None:
        """Record that the receiver has this batch and all before it."""

    def is_new(self, batch: Batch) -> bool:
        """Whether this batch is the next of its sender; it then is taken. One that overtook another comes again."""

    def taken(self, sender: int) -> int:
        """The number of the last batch taken from a shard."""

    def __len__(self) -> int:
        """How many batches are not acknowledged."""


R = TypeVar("R")


class Rows(Protocol[R]):
    """A small table of typed rows, each identified by one of its fields: a name, or a number from 0 to 2^64 - 1."""

    def get(self, key: str | int) -> R | None:
        """The row of a key."""

    def put(self, rows: Iterable[R]) -> None:
        """Write or overwrite these; of several with one key the last counts."""

    def remove(self, keys: Iterable[str | int]) -> None:
        """Delete the rows of these keys; those that are not there do not matter."""

    def __iter__(self) -> Iterator[R]:
        """Every row."""


class EventSink(Protocol):
    """Receives events: a table, a display, a test."""

    def record(self, events: Sequence[Event]) -> None:
        """Record an event. Must not raise for its contents."""


Job = TypeVar("Job")
Shared = TypeVar("Shared")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs jobs. How many run at a time, and where, changes no result.

    Work is a function of a module, so that another process finds it; jobs, what they share and what comes of them are
    values that can be pickled. What all jobs of one `map` share travels once to each machine, not once with each job,
    and its arrays cannot be written to. Jobs may be done twice, because a worker was lost: what a job writes into a
    file it writes as a whole, under a name of its own, or not at all.
    """

    @property
    def workers(self) -> int:
        """How many jobs are done at the same time."""

    @property
    def most_under_way(self) -> int:
        """Maximum number of jobs whose results the caller has not taken yet: these wait in memory."""

    def map(self, work: Callable[[Job, Shared], Result], jobs: Iterable[Job], shared: Shared) -> Iterator[Result]:
        """The result of each job, in the order of the jobs; a job is taken only when there is room for it.

        A job that raises ends everything: its exception is raised here. A worker that dies (killed, out of memory) is a
        `PeriplusError`, after as many attempts as this executor makes; with several machines, more than one. Stopping
        the iteration early ends the jobs under way.
        """

    def close(self) -> None:
        """End all workers, each at the latest after the job that it is at."""
