"""Settings of mirrors."""

from __future__ import annotations

from msgspec import Struct

from periplus.model import ConfigError


class MirrorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a host counts as the mirror of another, and what follows."""

    enabled: bool = True
    """Rename URLs of mirrors."""
    least_resemblance: float = 0.5
    """Share of common paths from which two hosts are compared."""
    fewest_paths: int = 5
    """Minimum known paths of a host to compare it."""
    sample: int = 100
    """Common paths whose pages are compared."""
    fewest_compared: int = 10
    """Minimum pages read on both hosts."""
    fewest_texts: int = 5
    """Minimum different texts among them."""
    least_alike: float = 0.9
    """Minimum share of compared pages that are near-duplicates."""
    least_likeness: float = 0.9
    """Resemblance from which two pages are near-duplicates."""
    max_absent: float = 0.08
    """Maximum share of the common paths missing on one host."""
    probing: float = 0.02
    """Share of a mirror's URLs still fetched under their own name."""

    def __post_init__(self) -> None:
        """Reject shares that are none."""
        for name in ("least_resemblance", "least_alike", "least_likeness", "max_absent", "probing"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"mirrors.{name} must be >= 0 and <= 1, got {getattr(self, name)}")


class ParkedSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a domain counts as parked."""

    max_words: int = 300
    """Maximum words of its home page."""
    least_share: float = 0.6
    """Minimum share of the home page's links that lead to one other domain."""
    domains_alike: int = 5
    """Minimum number of other domains that show the same."""
    least_likeness: float = 0.9
    """Resemblance from which two home pages show the same."""

    def __post_init__(self) -> None:
        """Reject shares that are none."""
        if not 0.0 < self.least_share <= 1.0:
            raise ConfigError(f"parked.least_share must be > 0 and <= 1, got {self.least_share}")


class MirrorTables(Struct, frozen=True):
    """Its settings."""

    mirrors: MirrorSettings
    parked: ParkedSettings
