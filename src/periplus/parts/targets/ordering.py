"""The ordering `targets`: levels of a queue are kinds of links, and the part chooses among them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from periplus.model import Discovery, Ordering
from periplus.policy.ordering.importance import OCTAVES, ByWorth, level_of

TARGETS: Final = "targets"
"""The name of the ordering."""
TARGET_LEVEL: Final = 0
"""The level of links whose names say that they lead to a wanted file."""
FIRST_ACTION: Final = 1
"""The level of the first action; each has the level of its number after this one."""


def worth_of_level(level: int) -> float:
    """The worth of links that wait at this level, from 0 to 127."""
    return math.ldexp(0.6 if level % 2 else 0.8, OCTAVES - level // 2) if level else 2.0**OCTAVES


def action_of_worth(worth: float) -> int:
    """The number of the action in a worth; the first for links without one."""
    return max(level_of(worth) - FIRST_ACTION, 0) if worth > 0.0 else 0


class TargetsFirst(ByWorth):
    """Links to wanted files first, then those of the action that promises most of them.

    A URL keeps the action of the first link to it.
    """

    has_kinds = True

    def score(self, discovery: Discovery) -> float:
        """The worth that it was found with; seeds, and what lists and other sites name, are of the first action."""
        return discovery.gain or worth_of_level(FIRST_ACTION)

    def share(self, worth: float, links: int) -> float:  # noqa: ARG002
        """The worth of the page itself, which tells its action; a redirect passes it on."""
        return worth

    def rest(self, worth: float) -> float:
        """The page keeps its worth."""
        return worth

    def combined(self, worth: float, gain: float, share: float) -> float:  # noqa: ARG002
        """That of the first link."""
        return worth or gain

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """The longest waiting time first: levels of different sites do not compare."""
        return 0.0, ready_at


ORDERINGS: Final[dict[str, Callable[..., Ordering]]] = {TARGETS: TargetsFirst}
"""Those for a crawl."""
