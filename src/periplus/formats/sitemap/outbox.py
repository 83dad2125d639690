"""Collects the results of all stages of one reading, in order.

Stages work on whole windows of text, so values are passed in lists: one generator at the very top yields them, which
costs a tenth of a chain of generators. Problems are bounded here, once for all stages. Those of the stream (`inflate`,
`charset`) are reported when all text was read: these stages run ahead of the others, how far depends on how the bytes
arrive, and the results must not depend on that.
"""

from __future__ import annotations

from collections.abc import Sequence

from periplus.model import EntryColumns, Problem

from .values import PROTOCOL_URLS, Child, Entry, Limits

DETAIL = 200
"""Maximum characters of a problem's detail."""


Part = Entry | Child | Problem | EntryColumns
"""The results of a reading: values, and where that was requested, entries by columns."""


class Outbox:
    """The values found since the last `drain`, and the counts that bound them."""

    def __init__(self, limits: Limits) -> None:
        self.is_full = False
        self.is_cut = False  # whether the bytes ended before the document did
        self._limits = limits
        self._values: list[Part] = []
        self._urls = 0
        self._late: list[Problem] = []
        self._counts: dict[str, int] = {}

    def complain(self, reason: str, detail: str = "", at: int | None = None) -> None:
        """Report a problem, or only count it if there were many of its kind."""
        if self._counts_one(reason):
            self._values.append(Problem(reason, detail[:DETAIL], at))

    def complain_late(self, reason: str, detail: str = "", at: int | None = None) -> None:
        """Report a problem of the stream, when all text was read."""
        if self._counts_one(reason):
            self._late.append(Problem(reason, detail[:DETAIL], at))

    def _counts_one(self, reason: str) -> bool:
        """Whether one more of its kind is to be reported."""
        count = self._counts[reason] = self._counts.get(reason, 0) + 1
        return count <= self._limits.problems

    def put(self, value: Entry | Child) -> None:
        """Add one entry or child."""
        self.put_all([value])

    def put_all(self, values: Sequence[Entry | Child] | EntryColumns) -> None:
        """Add entries or children, and report where they pass the protocol's bound, and ours."""
        before, self._urls = self._urls, self._urls + len(values)
        if self.is_full:
            return
        if before <= PROTOCOL_URLS < self._urls:
            self._hold(values[: PROTOCOL_URLS - before])
            values = values[PROTOCOL_URLS - before :]
            before = PROTOCOL_URLS
            self.complain("too-many-urls", f"more than {PROTOCOL_URLS}")
        if self._urls > self._limits.urls:
            values = values[: max(self._limits.urls - before, 0)]
            self.is_full = True
        self._hold(values)
        if self.is_full:
            self.complain("url-limit", f"reading ended after {self._limits.urls} URLs")

    def _hold(self, values: Sequence[Entry | Child] | EntryColumns) -> None:
        if not isinstance(values, EntryColumns):
            self._values.extend(values)
        elif values:
            self._values.append(values)

    def drain(self) -> list[Part]:
        """Return everything since the last call."""
        values, self._values = self._values, []
        return values

    def report_late(self) -> None:
        """Report the problems of the stream after all text was read."""
        self._values += self._late
        self._late = []

    def summary(self) -> list[Problem]:
        """The unreported problems of the stream, and how many problems of any kind were only counted."""
        most = self._limits.problems
        return self._late + [
            Problem("more-problems", f"{reason}: {count - most} more")
            for reason, count in self._counts.items()
            if count > most
        ]
