"""The page about what people searched for: first what was not found."""

from __future__ import annotations

from collections import Counter
from typing import Final

from periplus.apps.search.query_log import LoggedQuery, read_queries
from periplus.view.values import Column
from periplus.view.wording import count, counted, share

from .browse_asked import Asked
from .browse_cells import MAX_EXPORT, BrowsePage, Table

_SHOWN: Final = 100
"""Queries of a table on the page; the download has all."""
_QUERY: Final = Column("query", "searched for")
_TIMES: Final = Column("times", "times", "count")
_LAST: Final = Column("last", "last", "moment")


def queries(asked: Asked) -> BrowsePage:
    """What people searched for, those queries first that no page answers."""
    log = asked.collection.query_log
    if log is not None:
        log.flush()
    found = list(read_queries(asked.collection.folder))
    missing = [each for each in found if not each.total or each.corrected]
    lines = [("queries", count(len(found)))]
    if found:
        lines.append(("not found", f"{counted(len(missing), 'query', 'queries')}, {share(len(missing) / len(found))}"))
    if log is None:
        lines.append(("log", "off: set [serve] query_log = true"))
    return BrowsePage(
        name="queries",
        title="Queries",
        about="What people searched for, by the log of this server. No address is kept.",
        lines=lines,
        tables=(
            _table(
                asked,
                "missing",
                "Not found",
                missing,
                (_QUERY, _TIMES, Column("shown", "shown instead"), _LAST),
                "No page has all words of these.",
            ),
            _table(
                asked,
                "frequent",
                "Most frequent",
                found,
                (_QUERY, _TIMES, Column("total", "pages", "count"), _LAST),
                "With the number of pages that had all words when it was last asked.",
            ),
        ),
    )


def _table(
    asked: Asked, name: str, title: str, found: list[LoggedQuery], columns: tuple[Column, ...], says: str
) -> Table:
    times = Counter(each.query.lower() for each in found)
    last = {each.query.lower(): each for each in found}
    most = MAX_EXPORT if asked.wanted == name else _SHOWN
    ranked = sorted(times, key=lambda query: (-times[query], -last[query].at))
    rows = [
        {
            "query": last[query].query,
            "times": times[query],
            "total": last[query].total,
            "shown": last[query].corrected,
            "last": last[query].at,
        }
        for query in ranked[:most]
    ]
    names = [column.name for column in columns]
    return Table(
        name=name,
        title=title,
        columns=columns,
        rows=[{key: row[key] for key in names} for row in rows],
        says=says,
        per_page=most,
        empty="Nothing.",
    )
