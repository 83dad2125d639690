"""Our exceptions: mistakes of the user, and bugs of ours. Bad input from the web is a value with a reason instead.

    PeriplusError
    ├── UsageError            what was typed cannot be done; the message says what to type
    ├── ConfigError           a setting is unknown or wrong; names file and key
    ├── CollectionError       a collection on disk
    │   ├── CollectionInUse   another process holds it
    │   └── CollectionDamaged it cannot be read; the message says which part
    ├── CrawlStalled          URLs wait, but the crawl cannot go on: a bug of ours
    └── InvariantError        a rule of a state machine does not hold: a bug of ours

Exceptions of libraries are translated into these once, in the adapter that catches them. Each class has the exit code
that the command line ends with.
"""

from __future__ import annotations

import traceback


class PeriplusError(Exception):
    """The root of all exceptions we raise on purpose. `hint` is the next step for the user."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        if hint:
            self.add_note(hint)  # programs that do not catch it show it, too

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows: of an error with a next step only that, without lines of our code."""
        return [f"{type(self).__name__}: {self}", self.hint] if self.hint else traceback.format_exception(self)


class UsageError(PeriplusError):
    """What was typed cannot be done."""

    exit_code = 2


class ConfigError(PeriplusError):
    """A setting is unknown or wrong."""

    exit_code = 2


class CollectionError(PeriplusError):
    """Something is wrong with a collection on disk."""

    exit_code = 3


class CollectionInUse(CollectionError):  # noqa: N818 - reads as what is the case
    """Another process holds the collection."""


class CollectionDamaged(CollectionError):  # noqa: N818 - reads as what is the case
    """The collection cannot be read."""


class CrawlStalled(PeriplusError):  # noqa: N818 - reads as what is the case
    """Something waits, but no request is open and none will become due: a bug of ours."""


class InvariantError(PeriplusError):
    """An invariant of a state machine does not hold: a bug of ours."""
