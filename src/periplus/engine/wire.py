"""The port to the web: tasks in, outcomes out."""

from __future__ import annotations

from typing import Protocol

from periplus.model import FetchOutcome, FetchTask


class Wire(Protocol):
    """Fetches: takes tasks and returns outcomes, and never raises an exception for what the web did."""

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started now."""

    @property
    def under_way(self) -> int:
        """How many tasks were started and have not ended."""

    def start(self, task: FetchTask) -> None:
        """Begin. The outcome comes from `finished`."""

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Wait at most `timeout` seconds for something to end."""

    def request_bytes(self, task: FetchTask) -> bytes:
        """The head of the request as it was sent."""

    def cancel_all(self) -> None:
        """Cancel everything; the outcomes are `cancelled`."""

    def wake(self) -> None:
        """Make a waiting `finished` return at once."""

    def close(self) -> None:
        """Close every connection."""
