"""What those who watch are told of answers: how each ended, what its page says, and how much of it is new."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.model import ChangeLevel, ChangeSeen, Event, FetchEnded, NotModified, Page, PageRead, Purpose, Reading

from .journal import Note


def fetches_and_pages(notes: Sequence[Note], pages: Sequence[Page | None]) -> list[Event]:
    """How requests ended, and what was read of the answers."""
    events: list[Event] = [FetchEnded(note.outcome, note.at, note.stored) for note in notes if not note.is_nothing]
    events += [PageRead(page, note.at) for note, page in zip(notes, pages, strict=True) if page is not None]
    return events


def changes(notes: Sequence[Note], readings: Sequence[Reading | None]) -> list[Event]:
    """What differs from the version before; where the server says that nothing does, nothing."""
    seen: list[Event] = []
    for note, reading in zip(notes, readings, strict=True):
        task = note.outcome.task
        if reading is not None and reading.level is not None:
            seen.append(ChangeSeen(task.url, note.at, reading.level))
        elif isinstance(note.outcome, NotModified) and task.purpose is Purpose.PAGE:
            seen.append(ChangeSeen(task.url, note.at, ChangeLevel.SAME))
    return seen
