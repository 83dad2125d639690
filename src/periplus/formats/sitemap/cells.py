"""What the texts of columns mean: as entries one by one, or as columns, for whoever handles many at once.

Both say the same of every text, and refuse the same (`NotRegularError`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from math import nan
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.formats.dates import read_w3c
from periplus.model import FREQUENCY_CODES, EntryColumns, Granularity, Lastmod

from .fields import clean_changefreq, clean_priority
from .moments import SHORTEST, Reals, read_seconds
from .values import Child, Entry

Value = TypeVar("Value")
Nothing = TypeVar("Nothing")

LONGEST = 256
"""Characters of tags with the white space between them, and of values that are remembered with them."""
_REMEMBERED = 16_384
_WORTH_ARRAYS = 32
"""Dates below which reading them all at once takes longer to set up than it saves."""
_GLANCE = 32
"""Dates that are looked at to see of which kind all may be."""


class NotRegularError(Exception):
    """Something that a more careful reader should see."""


class Texts(Struct, frozen=True):
    """The texts of one field of all records: each is `tags` and then a value."""

    texts: Sequence[str]
    tags: str = ""


class Cut(Struct, frozen=True):
    """Records that were cut into columns: their URLs, which are clean, and the texts of the fields that they have."""

    urls: Sequence[str]
    fields: Mapping[str, Texts]


class _Known(dict[str, Value | Nothing], Generic[Value, Nothing]):
    """Values by the text that they were read from, behind its tags: a site's records repeat them."""

    def __init__(self, read: Callable[[str], Value | None], nothing: Nothing) -> None:
        self._read = read
        self._nothing = nothing
        self._begin("")

    def _begin(self, tags: str) -> None:
        self.clear()
        self._tags = tags
        self[tags] = self._nothing

    def __missing__(self, text: str) -> Value:
        value = self._read(text[len(self._tags) :]) if text.startswith(self._tags) else None
        if value is None:
            raise NotRegularError
        if len(self) >= _REMEMBERED:
            self._begin(self._tags)
        if len(text) <= 2 * LONGEST:
            self[text] = value
        return value

    def of(self, field: Texts) -> Iterable[Value | Nothing]:
        """The values of these, read when asked for. Tags seldom change within a document."""
        if field.tags != self._tags:
            self._begin(field.tags)
        return map(self.__getitem__, field.texts)


class Cells:
    """Reads the values of one document, remembering those that it has seen."""

    def __init__(self) -> None:
        self._lastmods = _Known(read_w3c, None)
        self._frequencies = _Known(clean_changefreq, None)
        self._priorities = _Known(clean_priority, None)
        self._codes = _Known(_frequency_code, 0)
        self._numbers = _Known(clean_priority, nan)

    def children(self, cut: Cut) -> list[Child]:
        """Each record as the sitemap that it names."""
        return list(map(Child, cut.urls, self._dates(cut)))

    def entries(self, cut: Cut) -> list[Entry]:
        """Each record as an entry."""
        frequencies, priorities = cut.fields.get("changefreq"), cut.fields.get("priority")
        return list(
            map(
                Entry,
                cut.urls,
                self._dates(cut),
                repeat(None) if frequencies is None else self._frequencies.of(frequencies),
                repeat(None) if priorities is None else self._priorities.of(priorities),
            )
        )

    def _dates(self, cut: Cut) -> Iterable[Lastmod | None]:
        field = cut.fields.get("lastmod")
        if field is None:
            return repeat(None)
        seconds = _seconds(field)
        if seconds is None:
            return self._lastmods.of(field)
        dates = map(Lastmod, seconds.tolist(), repeat(Granularity.SECOND))
        is_said = [text != field.tags for text in field.texts] if len(seconds) < len(field.texts) else []
        return [next(dates) if is_one else None for is_one in is_said] if is_said else dates

    def columns(self, cut: Cut) -> EntryColumns:
        """All records as columns."""
        count = len(cut.urls)
        at, grains = np.full(count, nan), np.zeros(count, np.uint8)
        frequencies, priorities = grains, at
        if "lastmod" in cut.fields:
            at, grains = self._moments(cut.fields["lastmod"])
        if "changefreq" in cut.fields:
            frequencies = np.frombuffer(bytes(self._codes.of(cut.fields["changefreq"])), np.uint8)
        if "priority" in cut.fields:
            priorities = np.fromiter(self._numbers.of(cut.fields["priority"]), np.float64, count)
        return EntryColumns(cut.urls, at, grains, frequencies, priorities)

    def _moments(self, field: Texts) -> tuple[Reals, NDArray[np.uint8]]:
        count = len(field.texts)
        seconds = _seconds(field)
        if seconds is None:
            dates = list(self._lastmods.of(field))
            at = np.array([None if date is None else date.at for date in dates], np.float64)
            return at, np.array([0 if date is None else date.granularity for date in dates], np.uint8)
        if len(seconds) == count:
            return seconds, np.full(count, Granularity.SECOND, np.uint8)
        is_said = np.fromiter(map(field.tags.__ne__, field.texts), np.bool_, count)
        at = np.full(count, nan)
        at[is_said] = seconds
        return at, np.where(is_said, np.uint8(Granularity.SECOND), np.uint8(0))


def _seconds(field: Texts) -> Reals | None:
    """Of those that say something, if all are times: those differ, while days repeat and are read once each."""
    texts, tags = field.texts, field.tags
    if len(texts) < _WORTH_ARRAYS or max(map(len, texts[:_GLANCE])) - len(tags) < SHORTEST:
        return None
    return read_seconds([text for text in texts if text != tags] if tags in texts else texts, tags)


def _frequency_code(text: str) -> int | None:
    frequency = clean_changefreq(text)
    return None if frequency is None else FREQUENCY_CODES[frequency]
