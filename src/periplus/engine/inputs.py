"""What goes into the machine of a shard, and what comes out: everything that is logged, and everything that is done.

An input has all that its application depends on besides the state, its time included; so applying the same inputs to
the same state again gives the same state and the same effects.
"""

from __future__ import annotations

from msgspec import Struct

from periplus.model import Batch, Discovery, Event, Failed, FetchOutcome, FetchTask, Located, Payload, Stored, Url
from periplus.store import WarcEnd


class FetchAnswer(Struct, frozen=True, array_like=True):
    """How a fetch ended, where the archive has it, and its payload if that is new there.

    `is_read`: whether its body is to be read; not if processes died of that.
    """

    outcome: FetchOutcome
    stored: Stored | None = None
    payload: Payload | None = None
    is_read: bool = True

    @property
    def is_request(self) -> bool:
        """Whether a request was sent: not for a DNS lookup, nor if we stopped before."""
        outcome = self.outcome
        return not (isinstance(outcome, Located) or (isinstance(outcome, Failed) and outcome.reason == "cancelled"))


class Discovered(Struct, frozen=True, array_like=True, tag=1):
    """URLs from outside: seeds, pings."""

    discoveries: tuple[Discovery, ...]
    at: float


class Granted(Struct, frozen=True, array_like=True, tag=2):
    """There is room for `limit` requests."""

    limit: int
    at: float


class Answered(Struct, frozen=True, array_like=True, tag=3):
    """Fetches have ended; all of them are in the archive, which reaches to `end`."""

    answers: tuple[FetchAnswer, ...]
    at: float
    end: WarcEnd = WarcEnd()


class Tick(Struct, frozen=True, array_like=True, tag=4):
    """There is time to read on in sitemaps, and to fill queues from them.

    `is_read`: whether sitemaps are read; not if processes died of that: those that were being read are given up.
    """

    at: float
    is_read: bool = True


class Received(Struct, frozen=True, array_like=True, tag=5):
    """A batch of discoveries from another shard."""

    batch: Batch
    at: float


class Acknowledged(Struct, frozen=True, array_like=True, tag=6):
    """Another shard has committed our batches up to this number."""

    receiver: int
    number: int
    at: float


class PageBudgetSet(Struct, frozen=True, array_like=True, tag=7):
    """The number of pages that may be fetched in all; `None`: any number.

    `is_spent`: all shards together have fetched what they may, so that no shard needs a robots.txt any more.
    """

    pages: int | None
    at: float
    is_spent: bool = False


class VisitBudgetSet(Struct, frozen=True, array_like=True, tag=8):
    """The number of revisits that may be made a day."""

    visits_per_day: float
    at: float


class SharesSet(Struct, frozen=True, array_like=True, tag=9):
    """Among how many shards addresses are divided: pairs of address and share."""

    shares: tuple[tuple[int, int], ...]
    at: float


class ScopeExtended(Struct, frozen=True, array_like=True, tag=10):
    """Seeds have moved to these places, which belong to the crawl now."""

    places: tuple[Url, ...]
    at: float


class SitemapsSubmitted(Struct, frozen=True, array_like=True, tag=11):
    """The sitemaps that the settings name are to be fetched."""

    at: float


class AddressesReviewed(Struct, frozen=True, array_like=True, tag=12):
    """It is time to remove addresses without sites."""

    at: float


class Flushed(Struct, frozen=True, array_like=True, tag=13):
    """A commit follows: what was collected for other shards, and what links have gained, is passed on."""

    at: float


class Restarted(Struct, frozen=True, array_like=True, tag=14):
    """A new process continues: requests under way are repeated, and every site rests once more."""

    at: float


class Adopted(Struct, frozen=True, array_like=True, tag=15):
    """Answers from the archive of a crawl whose state is lost; of each URL one.

    `is_counted`: whether this shard archived them, and so counts them and has their rows in its tables.
    """

    answers: tuple[FetchAnswer, ...]
    at: float
    is_counted: bool = True


class AdoptionEnded(Struct, frozen=True, array_like=True, tag=16):
    """All answers of the archive were adopted. `is_counted`: whether this shard archived any of them."""

    at: float
    is_counted: bool = True


class Steered(Struct, frozen=True, array_like=True, tag=17):
    """Patterns of URLs that people exclude or prefer from now on, or allow again."""

    excluded: tuple[str, ...]
    preferred: tuple[str, ...]
    allowed: tuple[str, ...]
    at: float


class Learnt(Struct, frozen=True, array_like=True, tag=18):
    """A job over the tables has learnt something: its file of this kind and generation counts from now on."""

    kind: str
    generation: int
    at: float


Input = (
    Discovered
    | Granted
    | Answered
    | Tick
    | Received
    | Acknowledged
    | PageBudgetSet
    | VisitBudgetSet
    | SharesSet
    | ScopeExtended
    | SitemapsSubmitted
    | AddressesReviewed
    | Flushed
    | Restarted
    | Adopted
    | AdoptionEnded
    | Steered
    | Learnt
)


class Fetch(Struct, frozen=True):
    """Begin this request."""

    task: FetchTask


class Emit(Struct, frozen=True):
    """Write these events to the tables."""

    events: list[Event]


class Claim(Struct, frozen=True):
    """Sites were found at new addresses, or none is left at others: the coordinator is informed."""

    claimed: list[int]
    released: list[int]


Effect = Fetch | Emit | Claim
