"""Settings of soft 404s."""

from __future__ import annotations

from msgspec import Struct

from periplus.model import ConfigError


class AbsenceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a page counts as an error page that was sent with status 200."""

    enabled: bool = True
    """Request URLs that cannot exist."""
    max_probes: int = 2
    """Maximum such requests to one site within `honest_days`."""
    honest_days: float = 30.0
    """Days for which a site that answered 404 is trusted."""
    least_likeness: float = 0.9
    """Resemblance to an error template from which a page is a soft 404."""
    least_likeness_titled: float = 0.8
    """The same for a page that also has the template's title."""
    pages_alike: int = 3
    """Pages with the same text and different templates that raise a suspicion."""
    pages_alike_of_template: int = 8
    """The same for pages of one template."""
    max_words: int = 120
    """Words of a page above which a "not found" title raises no suspicion."""

    def __post_init__(self) -> None:
        """Reject shares that are none."""
        for name in ("least_likeness", "least_likeness_titled"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ConfigError(f"absence.{name} must be > 0 and <= 1, got {getattr(self, name)}")


class AbsenceTables(Struct, frozen=True):
    """Its settings."""

    absence: AbsenceSettings
