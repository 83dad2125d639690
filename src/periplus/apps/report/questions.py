"""The questions of a report: `questions.toml` has their texts and columns, `questions.sql` their queries.

Many queries are those of `insight.views.QUESTIONS`, with a limit: the page of a million sites is no larger than that of
a hundred. `docs/report.md` names the figure of the paper that each part reproduces. In collections of fewer than five
sites a plot with one point for each shows nothing: other questions take the place of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import convert, toml
from msgspec.structs import replace

from periplus.insight.views import QUESTIONS
from periplus.model.statements import Statements

from .values import FEW_SITES, Question

SQL: Final = Statements(__file__)
WAITS: Final = "waits"
"""The reason of URLs that are queued and not refused."""

CHAPTERS: Final = {
    "problems": ("Problems", "What the audit of the site found, most severe first."),
    "responses": ("Responses", "How the URLs answered, and how fast they were requested."),
    "sources": (
        "Where URLs come from",
        "URLs that sites list themselves (Sitemaps: sitemaps, feeds, pings), and URLs found by following links.",
    ),
    "budget": (
        "What each source contributed",
        "Fetches are the budget of a crawl; a source deserves as many as it has new pages.",
    ),
    "sitemaps": ("Sitemaps and feeds", "The files in which sites list their pages, and which fields they fill in."),
    "forms": ("Forms", "Search forms, behind which there may be pages that no link leads to."),
    "permissions": ("What pages may be used for", "What sites permit, by all that they state, and who decided."),
    "ranks": (
        "Which pages matter",
        "PageRank: the share of visitors who would be on a page if all followed links at random.",
    ),
    "freshness": (
        "Freshness and change",
        "How likely the stored copies are still current, and how often pages change.",
    ),
    "troubles": ("Errors, slow and large", "Fetches that failed, took long or were large."),
    "copies": (
        "Duplicate pages",
        "Pages with nearly the same text form a cluster; one of them is enough.",
    ),
}
"""Name: title and subject, in the order of the page; useful links come last."""


def _declared() -> Iterator[Question]:
    """The questions of which the shared one is there, with their queries."""
    declared = toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, dict[str, Any]])
    for name, fields in declared.items():
        question = convert({"name": name, **fields}, Question)
        if not question.shared:
            yield replace(question, sql=SQL[name])
        elif question.shared in QUESTIONS:
            sql = SQL.get(name, "{shared}")
            yield replace(question, sql=sql.replace("{shared}", QUESTIONS[question.shared].sql))


BY_NAME: Final = {question.name: question for question in _declared()}
"""In the order of the page; those of the chapter `glance` have one row each: the tiles at the top."""


def questions_for(sites: int) -> tuple[Question, ...]:
    """The questions for a collection of that many sites: those that compare sites only where there are enough."""
    left_out = "few" if sites >= FEW_SITES else "many"
    return tuple(question for question in BY_NAME.values() if question.sites != left_out)
