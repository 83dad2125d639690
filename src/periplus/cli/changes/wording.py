"""A change in a few words."""

from __future__ import annotations

from periplus.insight.changes import Change, Detail, Kind
from periplus.insight.reasons import explained

_PROBLEMS = {
    "not-kept": "its bytes were not kept",
    "damaged": "the archive does not hold it any more",
    "no-original": "it refers to an earlier version that is not in the collection",
}


def percent(share: float) -> str:
    """12 %; what is more than nothing is not 0 %."""
    return "under 1 %" if 0 < share < 0.01 else f"{share:.0%}".replace("%", " %")


def about(change: Change, detail: Detail) -> str:
    """What happened, in one line, without what is said elsewhere."""
    match change.kind:
        case Kind.APPEARED:
            return "is back" if change.is_back else "is new"
        case Kind.VANISHED:
            return why_vanished(change)
        case _:
            return what_changed(change, detail)


def why_vanished(change: Change) -> str:
    """Why a page is held to be gone."""
    if change.reason == "redirected":
        return f"leads to {change.target} now"
    return explained(change.reason) or change.reason


def what_changed(change: Change, detail: Detail) -> str:
    """How much of the text, and what besides."""
    if detail.problem:
        return f"{change.level}; {_PROBLEMS.get(detail.problem, detail.problem)}"
    parts = []
    if detail.difference is not None:
        parts.append(f"{percent(detail.difference.size)} of the text" if detail.difference.size else "not the text")
    if detail.title_before:
        parts.append("another title")
    if detail.canonical or detail.canonical_before:
        parts.append("another canonical URL")
    if links := counted_links(detail):
        parts.append(links)
    return ", ".join(parts) or change.level


def counted_links(detail: Detail) -> str:
    """How many links came and went."""
    added, removed = detail.links.added, detail.links.removed
    said = [f"+{added:,}"] if added else []
    said += [f"-{removed:,}"] if removed else []
    return f"links {' '.join(said)}" if said else ""
