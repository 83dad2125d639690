"""What the ledger says of pages to exports and to people: why a page is left out, and the evidence for an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from periplus.model import Url
from periplus.policy.permissions import PURPOSES, Permitted, Statement, combine, refusal
from periplus.store.tables import Spooled, scan
from periplus.urls import fingerprint

from .rows import PermissionRow

if TYPE_CHECKING:
    from periplus.insight.views import Views

_COLUMNS: Final = ["url", "fetched_at", "use", "answer", "conditions", "source", "status"]
_OF_PAGE: Final = "select * from permissions where url = $url qualify fetched_at = max(fetched_at) over ()"
Answers = tuple[Statement, ...]


def page_refusals(
    tables: Path, spooled: Sequence[Spooled], purpose: str, *, drops_unknown: bool, accepted: Sequence[str]
) -> Callable[[Url, datetime], str]:
    """What tells why a page is left out of an export for a purpose; it returns an empty string for one that is not.

    It is given when the exported version was fetched: rows that are older were written about another one.
    Memory grows with the pages by two numbers each: few combinations of statements are different.
    """
    use = PURPOSES[purpose]
    pages: dict[int, tuple[float, Answers]] = {}
    kept: dict[Answers, Answers] = {}
    for batch in scan(tables, PermissionRow.table, spooled=spooled, columns=_COLUMNS):
        for row in batch.to_pylist():
            key, at = fingerprint(row["url"]), row["fetched_at"].timestamp()
            known = pages.get(key)
            if known is not None and known[0] > at:
                continue
            before = known[1] if known is not None and known[0] == at else ()
            said = (_statement(row),) if row["use"] in (None, use) else ()
            answers = before + said if not said or said[0] not in before else before
            pages[key] = at, kept.setdefault(answers, answers)
    reasons = {answers: _reason(answers, purpose, drops_unknown=drops_unknown, accepted=accepted) for answers in kept}
    nothing = refusal(Permitted(), purpose)

    def refuses(url: Url, fetched_at: datetime) -> str:
        page = pages.get(fingerprint(url))
        return nothing if page is None or page[0] < fetched_at.timestamp() else reasons[page[1]]

    return refuses


def _reason(answers: Answers, purpose: str, *, drops_unknown: bool, accepted: Sequence[str]) -> str:
    """Why a page with these answers is left out; there is at least one that is about another use."""
    permitted = combine([*answers, Statement("page")])[PURPOSES[purpose]]
    return refusal(permitted, purpose, drops_unknown=drops_unknown, accepted=accepted)


def _statement(row: dict[str, Any]) -> Statement:
    return Statement(
        row["source"],
        row["use"] or "",
        row["answer"],
        tuple((row["conditions"] or "").split(", ")) if row["conditions"] else (),
        row["status"],
        row.get("place") or "",
        row.get("line") or 0,
        row.get("rule") or "",
        row.get("statement") or "",
        row.get("digest") or "",
        row.get("record") or "",
    )


def statements_of(views: Views, url: Url) -> tuple[float | None, tuple[Statement, ...]]:
    """When a page was fetched last, and all that was said of it then; nothing of a page without a ledger."""
    rows = views.rows(_OF_PAGE, {"url": url})
    at = rows[0]["fetched_at"].timestamp() if rows else None
    return at, tuple(_statement(row) for row in rows)
