"""Hosts whose pages send their readers to another domain: redirection spam, found without a probe.

A page of many words that sends browsers away at once, by a meta refresh or a script, shows its text to crawlers only
(Wu & Davison 2005). One such page is a feature; a host of which more than half do so, to one domain, gets a verdict.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field

from ...model import Domain, Page
from ...urls import domain_of
from .settings import RedirectionSettings

MAX_TARGETS: Final = 8
"""Target domains counted for each site."""


class SiteRedirections(Struct, array_like=True):
    """How many pages of a site lead to which other domain, and the domain of its verdict."""

    targets: dict[str, int] = field(default_factory=dict)
    verdict: str = ""


def leads_away(page: Page, settings: RedirectionSettings, suffixes: tuple[str, ...] = ()) -> Domain | None:
    """The other domain to which a page of many words sends its readers at once."""
    refresh = page.refresh
    target = refresh.url if refresh is not None and refresh.delay <= settings.max_delay else None
    target = target or page.script_redirect
    if target is None or page.text.count(" ") + 1 < settings.least_words:
        return None
    domain = domain_of(target, suffixes)
    return domain if domain is not None and domain != domain_of(page.url, suffixes) else None


def count_page(known: SiteRedirections, target: str, pages: int, settings: RedirectionSettings) -> tuple[str, ...]:
    """Count a page that leads away, one of `pages` of its site; the evidence, if the site gets its verdict now."""
    if target in known.targets or len(known.targets) < MAX_TARGETS:
        known.targets[target] = known.targets.get(target, 0) + 1
    count = known.targets.get(target, 0)
    if known.verdict == target or pages < settings.least_pages or count <= settings.least_share * pages:
        return ()
    known.verdict = target
    return (f"{count} of {pages} pages send their readers to {target} at once",)
