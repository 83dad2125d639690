"""Rows of `fetches`: every task that came back, well or not, and where the answer lies.

A `Located` outcome makes no row: no server was asked.
"""

from __future__ import annotations

from periplus.model import (
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Located,
    NotModified,
    Redirected,
    Stored,
)
from periplus.urls import domain_of

Row = tuple[object, ...]
Headers = tuple[tuple[str, str], ...]

_NOT_STORED: Row = (None,) * 5
_LONGEST_TYPE = 256


def fetch_row(event: FetchEnded) -> Row | None:
    """The row of a task that came back; `None` where no server was asked."""
    outcome = event.outcome
    if isinstance(outcome, Located):
        return None
    task = outcome.task
    return (*_who(task), *_what(outcome, event.ended_at), *_effort(task, outcome), *_where(event.stored))


def _who(task: FetchTask) -> Row:
    return (task.url, task.site, domain_of(task.site), task.purpose._value_, task.lane._value_, task.source._value_)


def _what(outcome: FetchOutcome, ended_at: float) -> Row:
    """From `outcome` to `target`."""
    match outcome:
        case Fetched():
            return (
                "fetched", outcome.status, None, None, None, outcome.started_at, ended_at, outcome.duration,
                len(outcome.body), _content_type(outcome.headers), outcome.ip, None,
            )  # fmt: skip
        case NotModified():
            return (
                "not-modified", 304, None, None, None, outcome.started_at, ended_at, outcome.duration,
                0, None, outcome.ip, None,
            )  # fmt: skip
        case Redirected():
            return (
                "redirected", outcome.status, None, None, None, outcome.started_at, ended_at, outcome.duration,
                len(outcome.body), _content_type(outcome.headers), outcome.ip, outcome.target,
            )  # fmt: skip
        case Failed():
            return (
                "failed", outcome.status, outcome.reason, None, outcome.detail, outcome.started_at, ended_at,
                outcome.duration, None, None, outcome.ip, None,
            )  # fmt: skip
        case Excluded():
            return (
                "excluded", None, outcome.reason, outcome.rule, None, ended_at, ended_at, None,
                None, None, None, None,
            )  # fmt: skip
    raise AssertionError(outcome)


def _effort(task: FetchTask, outcome: FetchOutcome) -> Row:
    return (task.depth, task.attempt, task.redirects, isinstance(outcome, Fetched) and outcome.is_truncated)


def _where(stored: Stored | None) -> Row:
    if stored is None:
        return _NOT_STORED
    return (stored.digest, stored.file, stored.offset, stored.length, stored.is_revisit)


def _content_type(headers: Headers) -> str | None:
    """As the server wrote it; the last one counts, as in the Fetch standard."""
    found = None
    for name, value in headers:
        if len(name) == 12 and name.lower() == "content-type":
            found = value
    return None if found is None else found[:_LONGEST_TYPE]
