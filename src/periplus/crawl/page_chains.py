"""Hands the guard the pages that were read for the first time: it follows chains without content (`policy.filters`)."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.model import Purpose
from periplus.policy.filters import Guard

from .pipeline import Processed


def follow_chains(guard: Guard, processed: Sequence[Processed]) -> None:
    """Note where pages lead, and what they say."""
    for answer, page, reading in processed:
        task = answer.outcome.task
        if page is not None and reading is not None and task.visited_at is None and task.purpose is Purpose.PAGE:
            guard.page_read(task.url, task.depth, page.sketch, page.links.urls)
