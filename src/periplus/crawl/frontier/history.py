"""What a visit adds to the record of a URL."""

from __future__ import annotations

from msgspec.structs import replace

from periplus.formats.headers import Headers, validators_of
from periplus.model import ChangeLevel, Fetched, FetchOutcome, NotModified, Reading, Redirected, UrlRecord, Validators


def after_visit(record: UrlRecord, outcome: FetchOutcome, reading: Reading | None, reason: str) -> UrlRecord:
    """The record after an answer that is final for now, be it good or bad."""
    match outcome:
        case NotModified(started_at=at):
            return replace(
                record, visits=record.visits + 1, fetched_at=at, failures=0, status=304, reason="", due_at=None
            )
        case Fetched(status=status, started_at=at, headers=headers):
            return replace(
                record,
                visits=record.visits + 1,
                changes=record.changes + _has_changed(reading),
                fetched_at=at,
                validators=_validators(headers) if not reason else record.validators,
                digests=reading.digests if reading is not None else record.digests,
                version=reading.version if reading is not None else record.version,
                blocks=reading.blocks if reading is not None else record.blocks,
                failures=record.failures + 1 if reason else 0,
                status=status,
                reason=reason,
                due_at=None,
                kept_at=at if not reason else record.kept_at,
            )
        case Redirected(status=status, started_at=at):
            return replace(
                record, visits=record.visits + 1, fetched_at=at, failures=0, status=status, reason="", due_at=None
            )
        case _:
            return after_failure(record, outcome, reason)


def _validators(headers: tuple[tuple[str, str], ...]) -> Validators | None:
    return validators_of(Headers(headers)) if headers else None


def after_failure(record: UrlRecord, outcome: FetchOutcome, reason: str) -> UrlRecord:
    """The record after an attempt that brought nothing."""
    status = getattr(outcome, "status", None)
    return replace(record, failures=record.failures + 1, status=status, reason=reason, due_at=None)


def _has_changed(reading: Reading | None) -> bool:
    """A clock that went on is no change, nor is a word."""
    return reading is not None and reading.level is not None and reading.level >= ChangeLevel.MAJOR
