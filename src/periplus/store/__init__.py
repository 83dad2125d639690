"""Storage: where the crawl keeps what it has learnt.

Each port of storage in `model.ports` and `crawl_state` has its implementations here. `memory` is the first of each: it
fixes the contract that `tests/conformance` states and that every implementation on disk must pass, and it serves tests
and simulations, where a world of a million URLs fits and nothing must outlive the process.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .crawl_state import Sites, SiteState, State
    from .inbox import KeyClaim, MessageInbox, Pushed
    from .learnt import LearntFiles
    from .memory import MemoryPayloads, MemoryQueues, MemoryState
    from .ranks import KnownRanks, known_ranks
    from .state import DiskState, Replica, bring_home, is_begun
    from .tables import Tables, TableSettings
    from .warc import Archive, WarcEnd, WarcSettings
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "Archive",
    "DiskState",
    "KeyClaim",
    "KnownRanks",
    "LearntFiles",
    "MemoryPayloads",
    "MemoryQueues",
    "MemoryState",
    "MessageInbox",
    "Pushed",
    "Replica",
    "SiteState",
    "Sites",
    "State",
    "TableSettings",
    "Tables",
    "WarcEnd",
    "WarcSettings",
    "bring_home",
    "is_begun",
    "known_ranks",
]
