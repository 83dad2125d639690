"""Budgets of a site, `[audit]` in the settings: weight, time and depth of pages, and the number of broken links.

Unlike findings, budgets have no limit until the owner of the site sets one, and a site that is over one fails.
"""

# ruff: noqa: S608 - SQL is composed of constants of this package; everything else is a parameter

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from periplus.collection.config.settings import AuditBudgets
from periplus.view.findings import FaultyUrl

from .html_page import BUDGET_WORDS
from .results import BudgetCheck, SiteFinding
from .site_table import SiteTable

_PAGES: Final = {
    "max_page_weight": ("weight", "state not in ('error', 'redirect', 'file')"),
    "max_page_seconds": ("seconds", "state not in ('error', 'redirect', 'file')"),
    "max_depth": ("depth", "state = 'indexable'"),
}
"""Budgets of pages: the column of the grid, and which pages count."""
_BROKEN: Final = "broken-links"


def check_budgets(table: SiteTable, budgets: AuditBudgets, findings: Sequence[SiteFinding]) -> tuple[BudgetCheck, ...]:
    """Check the budgets that are set, after `page_grid.make_grid`."""
    checks = [
        _of_pages(table, name, getattr(budgets, name), *_PAGES[name]) for name in _PAGES if getattr(budgets, name) > 0
    ]
    if budgets.max_broken_links >= 0:
        found = next((each for each in findings if each.name == _BROKEN), None)
        number, of, examples = (found.count, found.of, found.examples) if found is not None else (0, 0, ())
        checks.append(BudgetCheck("max_broken_links", budgets.max_broken_links, number, number, of, examples))
    return tuple(checks)


def _of_pages(table: SiteTable, name: str, limit: float, column: str, pages: str) -> BudgetCheck:
    row = table.row(f"select count(*) as pages, max({column}) as worst from audited_grid where {pages}")
    over = table.found(
        f"select url, {column}::varchar as note, '' as via, '' as kind, {column} as weight from audited_grid"
        f" where {pages} and {column} > $limit",
        limit=limit,
    )
    examples = tuple(FaultyUrl(each.url, BUDGET_WORDS[name](float(each.note))) for each in over.examples)
    return BudgetCheck(
        name, limit, float(str(row.get("worst") or 0)), over.count, int(str(row.get("pages") or 0)), examples
    )
