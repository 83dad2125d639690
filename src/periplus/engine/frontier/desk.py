"""What the classes of a frontier share: its settings, and what it works on."""

from __future__ import annotations

from random import Random

from msgspec import Struct

from periplus.model import EventSink, Ordering, Url
from periplus.policy.filters import BudgetSettings, Guard
from periplus.policy.settings import BalanceSettings
from periplus.store import State

from ..settings import FrontierSettings, PolitenessSettings, RetrySettings
from .revisiting import Revisiting
from .site import SiteRecords


class FrontierRules(Struct, frozen=True):
    """The settings of a frontier.

    `agent` is the name in robots.txt; `suffixes` are further public suffixes; the domains of `seeds` are unlimited;
    `shards`: how many share the IP addresses; `revisits_only`: no first visits are granted.
    """

    agent: str = "periplus"
    politeness: PolitenessSettings = PolitenessSettings()
    retries: RetrySettings = RetrySettings()
    frontier: FrontierSettings = FrontierSettings()
    balance: BalanceSettings = BalanceSettings()
    budgets: BudgetSettings | None = None
    suffixes: tuple[str, ...] = ()
    seeds: tuple[Url, ...] = ()
    shards: int = 1
    revisits_only: bool = False


class FrontierDesk(Struct, frozen=True):
    """What a frontier works on. Without `revisits` it visits every page once."""

    state: State
    records: SiteRecords
    rules: FrontierRules
    guard: Guard
    ordering: Ordering
    events: EventSink
    random: Random
    revisits: Revisiting = Revisiting()
