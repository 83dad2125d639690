"""Which of two hosts is kept: by trust, by the number of hosts that link to it, the shorter name, the alphabet.

`www.` never wins over the same name without it if a sitemap lists that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ...model import Site
from .applying import HostRule
from .verification import MirrorFound


class HostFacts(Struct, frozen=True):
    """What speaks for a host. `is_listed`: sitemaps name its URLs."""

    trust: float = 0.0
    referrers: int = 0
    is_listed: bool = False


_NOTHING = HostFacts()


def better_host(one: Site, other: Site, facts: Mapping[Site, HostFacts]) -> Site:
    """The one of two hosts that is kept."""
    for host, apex in ((one, other), (other, one)):
        if host == f"www.{apex}" and facts.get(apex, _NOTHING).is_listed:
            return apex
    return min((one, other), key=lambda site: _claim(site, facts.get(site, _NOTHING)))


def rules_of(found: Iterable[MirrorFound], facts: Mapping[Site, HostFacts]) -> list[HostRule]:
    """For each host or part that is a mirror, the rule that renames its URLs: to the best host it is a mirror of."""
    chosen: dict[tuple[Site, str], HostRule] = {}
    for each in found:
        kept = better_host(each.one, each.other, facts)
        rule = (
            HostRule(each.other, each.other_root, each.one, each.one_root)
            if kept == each.one
            else HostRule(each.one, each.one_root, each.other, each.other_root)
        )
        known = chosen.get((rule.site, rule.root))
        if known is None or better_host(known.target, rule.target, facts) == rule.target:
            chosen[rule.site, rule.root] = rule
    whole = {rule.site for rule in chosen.values() if rule.root == "/"}
    return sorted(
        (rule for rule in chosen.values() if rule.root == "/" or rule.site not in whole),
        key=lambda rule: (rule.site, rule.root),
    )


def _claim(site: Site, facts: HostFacts) -> tuple[float, int, int, Site]:
    """The smaller, the better."""
    return -facts.trust, -facts.referrers, len(site), site
