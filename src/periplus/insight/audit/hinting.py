"""Do priority and changefreq say anything? Not if they are the same for all pages."""

from __future__ import annotations

from typing import Final

from .gathering import Found, Gathered, finding
from .values import Example, Finding

_FEW: Final = 10

_HINTS: Final = """
select count(priority) as priorities, count(distinct priority) as different_priorities,
    any_value(priority) as priority, count(changefreq) as changefreqs,
    count(distinct changefreq) as different_changefreqs, any_value(changefreq) as changefreq
from audited_entries
"""


def hints(gathered: Gathered) -> list[Finding]:
    """Fields that are the same everywhere."""
    row = gathered.row(_HINTS)
    found = []
    for name, field, fields in (
        ("priority-constant", "priority", "priorities"),
        ("changefreq-constant", "changefreq", "changefreqs"),
    ):
        number = int(str(row.get(fields) or 0))
        if number >= _FEW and row.get(f"different_{fields}") == 1:
            found += finding(name, Found(number, (Example("", f"{field} {row.get(field)}"),)), number)
    return found
