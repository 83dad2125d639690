"""What a site's two sources brought, and how its budget moved between them and why, in words."""

from __future__ import annotations

from periplus.policy.balance import Move

from ..wording import count, counted
from .sources import BalanceFacts, Brought, SourceFacts

_BARS = "▁▂▃▄▅▆▇█"
MOVES = {
    Move.TO_SITEMAPS: "more to sitemaps: worth more",
    Move.TO_DISCOVERY: "more to links: worth more",
    Move.TIE: "as before: worth the same",
    Move.TIE_TO_SITEMAPS: "more to sitemaps: a tie (Figure 8)",
    Move.ONE_SOURCE: "as before: nothing to compare",
    Move.UNUSED: "as before: the better has no more",
    Move.AT_BOUND: "as before: all but a sample",
    Move.FIXED: "as before: fixed by the settings",
}
"""What followed from an epoch, short enough for a narrow terminal."""
MOVES_BY_WORD = {move.word: why for move, why in MOVES.items()}
"""The same by the word that `EpochFacts.move` holds."""


def source_lines(facts: SourceFacts) -> list[tuple[str, str]]:
    """What links and sitemaps brought, each and together; nothing where there are links alone."""
    if not facts.files and not facts.sitemaps_only.known and not facts.both.known:
        return []
    by_links, by_sitemaps = count(facts.first_by_links), count(facts.first_by_sitemaps)
    first = f"; {by_sitemaps} first seen in sitemaps, {by_links} by links" if facts.both.known else ""
    more = f" (of the first {counted(_known(facts), 'URL')})" if facts.is_partial else ""
    return [
        ("sitemap files", f"{count(facts.files)} read, {counted(facts.listed, 'entry', 'entries')}"),
        ("by links only", f"{_brought(facts.links_only)}{more}"),
        ("by sitemaps only", _brought(facts.sitemaps_only)),
        ("by both", f"{_brought(facts.both)}{first}"),
    ]


def _known(facts: SourceFacts) -> int:
    return facts.links_only.known + facts.sitemaps_only.known + facts.both.known


def _brought(brought: Brought) -> str:
    if not brought.known:
        return "nothing"
    return f"{count(brought.known)} known, {count(brought.fetched)} fetched, {count(brought.unique)} of these unique"


def balance_line(facts: BalanceFacts | None) -> str:
    """How the budget is shared now, and a small picture of how it came to that: the share of sitemaps."""
    if facts is None:
        return ""
    pages = facts.sitemaps + facts.links
    moved = f", after {counted(facts.epochs, 'epoch')}" if facts.epochs else ", and nothing was judged yet"
    shares = [*((epoch.sitemaps, epoch.links) for epoch in facts.history), (facts.sitemaps, facts.links)]
    picture = "".join(_BARS[min(8 * sitemaps // max(sitemaps + links, 1), 7)] for sitemaps, links in shares)
    shared = f"{count(facts.sitemaps)} to sitemaps, {count(facts.links)} to links"
    return f"of {counted(pages, 'page')} {shared}{moved}  {picture}"
