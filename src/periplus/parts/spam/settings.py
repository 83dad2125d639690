"""Settings of spam."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from periplus.model.flags import Personal


class SpamSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is done about spam."""

    enabled: bool = True
    """Follow the verdicts of `periplus spam judge`."""
    while_crawling: bool = True
    """With the scope `any`, judge hosts in the background, first after 5,000 pages, then by share of the CPU time."""
    trusted: tuple[str, ...] = ()
    """Hosts or registrable domains that are never spam."""
    banned: tuple[str, ...] = ()
    """Hosts or registrable domains that are always spam; seeds of anti-trust."""
    doubtful_above: float = 0.3
    """Probability above which a verdict is `doubtful`."""
    spam_above: float = 0.5
    """Probability above which a verdict is `spam`."""
    may_retire: bool = False
    """Stop visiting hosts above `retire_above` with at least `retire_pages` pages."""
    retire_above: float = 0.98
    """Probability above which a host may be retired."""
    retire_pages: int = 50
    """Pages of a host below which it is never retired."""
    model: Annotated[str, Personal(or_inside=True)] = ""
    """A model written by `periplus spam train`; empty: that of the package."""


class SpamTables(Struct, frozen=True):
    """Its settings."""

    spam: SpamSettings
