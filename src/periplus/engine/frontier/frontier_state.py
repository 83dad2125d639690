"""The state that a commit holds of the frontier besides its rows."""

from __future__ import annotations

from msgspec import Struct, field

from .domains import PassState
from .leases import Lease
from .reach import Reach
from .steering import SteeringState

RandomState = tuple[int, tuple[int, ...], float | None]


class ScoreState(Struct, array_like=True):
    """What a `PriorityIndex` knows besides standings: at which page it last ranked, and the size of pool and batch."""

    ranked_at: int = 0
    pooled: int = 0
    left: int = 0


class FrontierState(Struct, array_like=True):
    """The state of a frontier besides its rows. `page_budget`: pages it may fetch in all; `None`: any number.

    `is_crowded`, `rests_until` and `turn` are those of its schedule, `queued_twice` that of its scores; `steering` are
    patterns that people gave while a crawl ran; `passes` is the pass over all domains. `embedded_waiting`: files that
    pages embed, which wait; `is_for_embedded`: only those are granted, because the page budget has been fetched;
    `is_spent`: that of all shards has. `reach`: whether servers can be reached.
    `asks_sites_down`: the sites that are down are asked next, since a process has begun.
    """

    pages_done: int = 0
    page_budget: int | None = None
    is_crowded: bool = True
    revisits_waiting: int = 0
    leases: list[Lease] = []
    scores: ScoreState | None = None
    random: RandomState | None = None
    rests_until: float = 0.0
    turn: int = 0
    queued_twice: int = 0
    steering: SteeringState = SteeringState()
    passes: PassState = PassState()
    embedded_waiting: int = 0
    is_for_embedded: bool = False
    is_spent: bool = False
    reach: Reach = field(default_factory=Reach)
    asks_sites_down: bool = False
