"""Settings of mirrors."""

from __future__ import annotations

from msgspec import Struct

from ...model import ConfigError


class MirrorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a host counts as the mirror of another, and what follows."""

    enabled: bool = True
    """Whether URLs of mirrors are renamed."""
    least_resemblance: float = 0.5
    """Share of common paths from which two hosts are compared."""
    fewest_paths: int = 5
    """Number of known paths of a host from which it is compared."""
    sample: int = 100
    """Number of common paths whose pages are compared."""
    fewest_compared: int = 10
    """Number of pages that must have been read on both hosts."""
    fewest_texts: int = 5
    """Number of different texts that must be among them."""
    least_alike: float = 0.9
    """Share of the compared pages that must be near-duplicates."""
    least_likeness: float = 0.9
    """Resemblance from which two pages are near-duplicates."""
    max_absent: float = 0.08
    """Share of the common paths that may be missing on one host: more than the 5 % that an incomplete copy may lack."""
    probing: float = 0.02
    """Share of the URLs of a mirror that are still fetched under their own name, so that the rule can be withdrawn."""

    def __post_init__(self) -> None:
        """Reject shares that are none."""
        for name in ("least_resemblance", "least_alike", "least_likeness", "max_absent", "probing"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"mirrors.{name} must be >= 0 and <= 1, got {getattr(self, name)}")
