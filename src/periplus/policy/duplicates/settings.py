"""Settings of near-duplicates."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from periplus.model import ConfigError

VALUES: Final = 128


class DuplicateSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When two pages count as the same."""

    least_likeness: float = 0.9
    """Share of common shingles from which pages of different sites are near-duplicates."""
    least_likeness_on_site: float = 0.9
    """The same for pages of one site."""
    least_likeness_reordered: float = 0.7
    """The same for pages of one site with the same links."""
    fewest_values: int = 16
    """Minimum distinct values of a sketch; of shorter pages only exact copies are found."""

    def __post_init__(self) -> None:
        """Reject thresholds that all pages would meet, or none."""
        for name in ("least_likeness", "least_likeness_on_site", "least_likeness_reordered"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} must be > 0 and <= 1, got {getattr(self, name)}")
        if not 0 <= self.fewest_values <= VALUES:
            raise ConfigError(f"fewest_values must be from 0 to {VALUES}, got {self.fewest_values}")
