"""Keeps events in memory."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.model import Event


class MemoryEventSink:
    """An `EventSink` that keeps every event in the order of arrival."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, events: Sequence[Event]) -> None:
        """Take note."""
        self.events.extend(events)
