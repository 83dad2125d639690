"""Checks of priority and changefreq, which carry no information if they are the same for all pages."""

from __future__ import annotations

from typing import Final

from .results import Example, Finding
from .site_table import Found, SiteTable, finding

_MIN_ENTRIES: Final = 10
"""Entries with the field below which a constant value may be chance."""

_HINTS: Final = """
select count(priority) as priorities, count(distinct priority) as different_priorities,
    any_value(priority) as priority, count(changefreq) as changefreqs,
    count(distinct changefreq) as different_changefreqs, any_value(changefreq) as changefreq
from audited_entries
"""


def check_hints(table: SiteTable) -> list[Finding]:
    """Check whether the fields are constant."""
    row = table.row(_HINTS)
    found = []
    for name, field, fields in (
        ("priority-constant", "priority", "priorities"),
        ("changefreq-constant", "changefreq", "changefreqs"),
    ):
        number = int(str(row.get(fields) or 0))
        if number >= _MIN_ENTRIES and row.get(f"different_{fields}") == 1:
            found += finding(name, Found(number, (Example("", f"{field} {row.get(field)}"),)), number)
    return found
