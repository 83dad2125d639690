"""Settings of further visits to pages."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from periplus.model import ConfigError
from periplus.model.flags import Flag, Settings


class RefreshSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When pages are visited again. Times are in seconds."""

    objective: Annotated[
        str,
        Flag(
            "--objective",
            "What to optimise: mixed (the default), binary, harmonic, longevity, age, capture.",
            "NAME",
            verbs=("watch",),
        ),
    ] = "mixed"
    """What to optimise: binary, harmonic, mixed, longevity, age or capture; or a policy to compare with."""
    weight: str = "equal"
    """Importance of pages: equal, pagerank, priority (from sitemaps) or priority_rank."""
    weights: dict[str, float] = field(default_factory=dict)
    """Importance by the first pattern that fits: { "*/news/*" = 3.0, "*/old/*" = 0.1 }; 0: never again."""
    unchanged_cost: float = 1.0
    """Cost of a 304 in pages: 1 where requests count, less (0.1) where bytes do."""
    margin: float = 0.9
    """Share of the price from which a page's visit is queued."""
    shortest: float = 3600.0
    """Minimum time between two visits of a page..."""
    longest: float = 90 * 86_400.0
    """...and maximum time."""
    explore_share: float = 0.03
    """Share of visits to random pages, so that estimates stay unbiased."""
    exact_share: float = 0.98
    """Precision and recall of a site's metadata archives above which only these decide which pages are visited..."""
    exact_checks: int = 200
    """...after this number of visits that checked them; 0: never."""
    refresh_share: float = 0.25
    """Share of visits guaranteed to pages that were visited before..."""
    new_share: float = 0.25
    """...and to pages that were not."""


class RefreshTables(Struct, frozen=True):
    """Its settings."""

    refresh: RefreshSettings

    def check(self, settings: Settings) -> None:  # noqa: ARG002 - as those of other parts
        """Raise `ConfigError` for an objective or importance that is not there."""
        if self.refresh == RefreshSettings():
            return
        from periplus.policy.weights import PageWeights, check_importance

        from .objectives import objective  # loads numpy, which commands that read settings need not

        try:
            objective(self.refresh.objective)
            check_importance(self.refresh.weight)
            PageWeights(self.refresh.weights)
        except ConfigError as error:
            raise ConfigError(f"[refresh] {error}", hint=error.hint) from error
