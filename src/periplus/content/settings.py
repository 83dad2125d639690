"""Settings of the reading of pages."""

from __future__ import annotations

from msgspec import Struct


class ChurnSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """From when on a part of a page counts as churn."""

    share: float = 0.8
    """Minimum share of comparisons in which nothing of a block lasted..."""
    least: int = 5
    """...in at least this number of comparisons."""
    most: float = 0.5
    """Pages of which more words would be masked are left as they are."""
    sample: int = 20
    """Pages of a site that a watch fetches twice in a row to learn what is noise; 0: none."""
    instant: float = 60.0
    """Seconds within which two visits of a watch are in a row; those of a refresh never are."""
