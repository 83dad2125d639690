"""Pages and domains that are wanted less than others."""

# ruff: noqa: ARG002 - nothing is discounted here

from __future__ import annotations

from periplus.model import Url


class Discounts:
    """Factors from 0 to 1 for what is wanted less. These are all 1; `parts.spam` has others.

    While `is_empty`, all factors are 1.
    """

    is_empty = True

    def worth(self, url: Url) -> float:
        """The factor for the worth of a page."""
        return 1.0

    def budget(self, domain: str) -> float:
        """The factor for the budget of a domain."""
        return 1.0
