"""Brings revisit times back after the machine's clock was set back.

A clock that ran ahead writes times of visits that have not come yet, and revisits are scheduled from these: without
this, a page visited while the clock was a month ahead would not be visited again for a month.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, islice

from msgspec.structs import replace

from periplus.model import Url, UrlRecord
from periplus.policy.refresh import RefreshRetirementSettings, RefreshSettings, unpack_page
from periplus.store import SiteState, State

from .freshness import is_present, queued_revisits

CLOCK_ERROR = 60.0
"""Seconds by which the clocks of two machines may differ: less is not a clock that was set back."""
_TOGETHER = 1_000
"""Records that are loaded together."""


def bring_back(
    state: State,
    settings: RefreshSettings,
    retirement: RefreshRetirementSettings,
    site_of: Callable[[Url], SiteState],
    due_at: Callable[[UrlRecord, SiteState, float], float],
    now: float,
) -> None:
    """Take every visit of a time to come for one made now, and schedule the next one from there.

    `due_at` says when a page is due whose last visit brought one. Times only become earlier, so that entries which were
    moved do not come up again.
    """
    latest = now + settings.longest
    setback_until = now + max(retirement.longest_pause, retirement.gone_pause)
    entries = chain(state.calendar, queued_revisits(state))
    while urls := list(islice(entries, _TOGETHER)):
        moves: list[tuple[Url, float | None, float | None]] = []
        changed: list[UrlRecord] = []
        for record in filter(None, state.records.get(urls)):
            before, page = record.due_at, unpack_page(record.evidence)
            known = replace(record, evidence=replace(page, visited_at=now).pack()) if page.visited_at > now else record
            after = before
            if before is not None and _is_page(known):
                after = min(before, due_at(known, site_of(known.url), now))
            elif before is not None:
                after = min(before, setback_until if known.failures else latest)
            if after != before or known is not record:
                moves.append((known.url, before, after))
                changed.append(replace(known, due_at=after))
        state.calendar.move(moves)
        state.records.put(changed)


def _is_page(record: UrlRecord) -> bool:
    return is_present(record) and not record.failures
