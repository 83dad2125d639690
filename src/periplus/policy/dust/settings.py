"""Settings of rules for duplicate URLs."""

from __future__ import annotations

from msgspec import Struct

from ...model import ConfigError


class DustSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a rule that renames URLs is accepted, probed and withdrawn."""

    enabled: bool = True
    """Learn rules and apply them. Rules of `file` and of robots.txt are applied in any case."""
    file: str = ""
    """A JSON file of rules, such as an edited `insight/dust.json`, read when the crawl starts; relative to the folder
    of the collection."""
    accept: float = 0.7
    """Accept a rule about the spelling of URLs (index names, case, order of parameters, a common prefix such as
    `/print`), or a parameter that was idle on many domains, when the 5 % quantile of its posterior is at least this: 8
    equal pairs, none unequal."""
    accept_varied: float = 0.9
    """The same for a parameter of which eight different values were read, such as where a link stands, and where most
    pages name the other URL as canonical, or sitemaps list it: 28 equal pairs, none unequal."""
    accept_unknown: float = 0.99
    """The same for any other parameter, for a segment and for a prefix of which nothing is known: 298 equal pairs, none
    unequal. A parameter that matters on 3 % of the pages would pass with 58 pairs one time in six."""
    min_templates: int = 3
    """Path templates in which pairs must be equal before a rule for a parameter holds for the whole site; fewer make a
    rule for each template."""
    withdraw: float = 0.6
    """Withdraw an accepted rule when the quantile falls below this."""
    max_unequal: float = 0.01
    """Maximum share of unequal pairs of an accepted rule: pages may change between two visits."""
    probe: float = 0.05
    """The share of the URLs that a rule would rename which is fetched under its own name, to check the rule."""
    early: float = 0.25
    """Pairs of pages that are fetched before their turn to learn rules, as a share of the pages of a site that were
    read; none in a crawl with a limit of pages, where they would take the place of other pages."""
    new_pairs: int = 20
    """Pairs that a withdrawn rule needs before it can be accepted again."""
    sorted_pairs: int = 3
    """Equal pairs after which parameters are sorted, if no pair was unequal."""
    equal_from: float = 0.9
    """Two pages are equal from this resemblance of their main texts on."""
    unequal_below: float = 0.7
    """Two pages are unequal below this resemblance; between the two a pair does not count."""
    max_cluster: float = 0.2
    """A pair does not count if its text is that of more than this share of the site's pages: a consent wall or an error
    page would teach that every parameter is idle."""
    max_candidates: int = 256
    """Maximum number of rules of a site for which pairs are counted; the least recently useful is dropped."""
    max_rules: int = 64
    """Maximum number of accepted rules of a site."""
    max_bases: int = 128
    """Maximum number of URLs without a page of their own, under which pages are compared, of a site."""

    def __post_init__(self) -> None:
        """Reject shares outside 0 to 1 and thresholds in the wrong order."""
        accepted = ("accept", "accept_varied", "accept_unknown", "withdraw", "max_unequal")
        for name in (*accepted, "probe", "early", "equal_from", "unequal_below", "max_cluster"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"dust.{name} must be from 0 to 1, got {getattr(self, name)}")
        if self.withdraw > min(self.accept, self.accept_varied, self.accept_unknown):
            raise ConfigError(
                f"dust.withdraw must not be above dust.accept, accept_varied and accept_unknown, got {self.withdraw}"
            )
        if self.unequal_below > self.equal_from:
            raise ConfigError(
                f"dust.unequal_below must not be above dust.equal_from, got {self.unequal_below} and {self.equal_from}"
            )
