"""What sites say about the use of pages, as the crawl recorded it in the table `pages`: robots.txt included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from periplus.model import NO_PREFERENCES, Preference, Preferences, Url, UseLimit
from periplus.urls import fingerprint

from ..tables import Spooled, scan

_COLUMNS = ["url", "read_at", "search", "ai_input", "train", "use", "tdm", "said_by"]


class StatedPreferences:
    """The preferences of the last version of every page about which anything was ever said.

    Memory grows with those pages by two numbers each; equal preferences are kept once.
    """

    def __init__(self, tables: Path, spooled: Sequence[Spooled] = ()) -> None:
        self._values: dict[Preferences, Preferences] = {}
        self._stated: dict[int, tuple[float, Preferences]] = {}
        for is_stated in (True, False):
            for batch in scan(tables, "pages", spooled=spooled, columns=_COLUMNS):
                self._read(batch.to_pylist(), is_stated=is_stated)

    def of(self, url: Url) -> Preferences:
        """What is said about a page."""
        return self._stated.get(fingerprint(url), (0.0, NO_PREFERENCES))[1]

    def _read(self, rows: list[dict[str, Any]], *, is_stated: bool) -> None:
        """First the rows that say something; then those that say nothing, for pages about which something was said."""
        for row in rows:
            if bool(row["said_by"]) is not is_stated:
                continue
            key, at = fingerprint(row["url"]), row["read_at"].timestamp()
            known = self._stated.get(key)
            if (known is None and is_stated) or (known is not None and known[0] <= at):
                said = preferences_of(row)
                self._stated[key] = at, self._values.setdefault(said, said)


def preferences_of(row: dict[str, Any]) -> Preferences:
    """The preferences in a row of `pages`."""
    if not row["said_by"]:
        return NO_PREFERENCES
    return Preferences(
        search=Preference(row["search"] or "unknown"),
        ai_input=Preference(row["ai_input"] or "unknown"),
        train=Preference(row["train"] or "unknown"),
        use=UseLimit(row["use"]) if row["use"] else None,
        tdm=Preference(row["tdm"] or "unknown"),
        said_by=tuple(row["said_by"]),
    )
