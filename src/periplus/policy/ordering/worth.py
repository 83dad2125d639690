"""What orderings by importance have in common: the best page of a site first, and the site with the best page first."""

from __future__ import annotations

from ...model import ConfigError, Discovery, Source


class ByWorth:
    """The priority of a URL is its score, however long it has waited."""

    def score_of(self, worth: float, age: int) -> float:  # noqa: ARG002
        """The score itself."""
        return worth

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """The level of the head of its queue, then the longest waiting time."""
        return float(level), ready_at


class ByGain(ByWorth):
    """The score of a URL comes from the pages that link to it."""

    def score(self, discovery: Discovery) -> float:
        """What it was given; a seed starts with one unit."""
        return discovery.gain + (discovery.source is Source.SEED)


class ByRank(ByGain):
    """The score is computed again, over all known pages, after every `every` pages."""

    is_batch = False

    def __init__(self, every: int = 10_000, damping: float = 0.85) -> None:
        if every < 1 or not 0.0 < damping < 1.0:
            raise ConfigError(
                f"ranks cannot be computed every {every} pages with damping {damping}",
                hint="`every` must be at least 1, and `damping` between 0 and 1",
            )
        self.every = every
        self._damping = damping
