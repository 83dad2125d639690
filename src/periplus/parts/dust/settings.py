"""Settings of rules for duplicate URLs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from periplus.model import ConfigError
from periplus.model.flags import Personal


class DustSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a rule that renames URLs is accepted, probed and withdrawn."""

    enabled: bool = True
    """Learn rules and apply them; rules of `file` and of robots.txt always apply."""
    file: Annotated[str, Personal(or_inside=True)] = ""
    """A JSON file of rules, such as an edited `insight/dust.json`, relative to the collection."""
    accept: float = 0.7
    """Minimum 5 % quantile of the posterior for rules about spelling, the order of lists, or a parameter idle on
    many domains: 8 equal pairs."""
    accept_varied: float = 0.9
    """The same for a parameter with eight values or more, for segments and prefixes whose pairs have the same text,
    and for rules that canonical links or sitemaps confirm: 28 equal pairs."""
    accept_exact: float = 0.85
    """The same for segments and prefixes whose pairs have the same text and links, and for hexadecimal segments with
    eight values or more whose pairs have the same text: 18 equal pairs."""
    accept_unknown: float = 0.99
    """The same for other parameters, segments and prefixes: 298 equal pairs."""
    min_templates: int = 3
    """Path templates with equal pairs before a rule for a parameter holds for the whole site."""
    withdraw: float = 0.6
    """Withdraw an accepted rule when the quantile falls below this."""
    max_unequal: float = 0.01
    """Maximum share of unequal pairs of an accepted rule."""
    probe: float = 0.05
    """Share of the URLs a rule would rename that are fetched anyway, to check it."""
    early: float = 0.25
    """Pairs fetched early to learn rules, as a share of a site's pages; none with a limit of pages."""
    new_pairs: int = 20
    """Pairs a withdrawn rule needs to be accepted again."""
    sorted_pairs: int = 3
    """Equal pairs, none unequal, before parameters are sorted."""
    equal_from: float = 0.9
    """Resemblance of main texts from which two pages are equal..."""
    unequal_below: float = 0.7
    """...and below which they are unequal; between, a pair does not count."""
    max_cluster: float = 0.2
    """Share of the site's pages with the same text (a consent wall) above which a pair does not count."""
    max_candidates: int = 256
    """Maximum candidate rules of a site."""
    max_rules: int = 64
    """Maximum accepted rules of a site."""
    max_bases: int = 128
    """Maximum URLs of a site without a page of their own under which pages are compared."""

    def __post_init__(self) -> None:
        """Reject shares outside 0 to 1 and thresholds in the wrong order."""
        accepted = ("accept", "accept_varied", "accept_exact", "accept_unknown", "withdraw", "max_unequal")
        for name in (*accepted, "probe", "early", "equal_from", "unequal_below", "max_cluster"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"dust.{name} must be from 0 to 1, got {getattr(self, name)}")
        if self.withdraw > min(self.accept, self.accept_varied, self.accept_exact, self.accept_unknown):
            raise ConfigError(
                f"dust.withdraw must not be above dust.accept, accept_varied and accept_unknown, got {self.withdraw}"
            )
        if self.unequal_below > self.equal_from:
            raise ConfigError(
                f"dust.unequal_below must not be above dust.equal_from, got {self.unequal_below} and {self.equal_from}"
            )


class DustTables(Struct, frozen=True):
    """Its settings."""

    dust: DustSettings
