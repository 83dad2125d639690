"""What the texts of regular records mean: as entries one by one, or as columns, for callers that handle many at once.

Both say the same of every text, and refuse the same (`NotRegularError`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from math import nan
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from periplus.formats.dates import read_w3c
from periplus.model import FREQUENCY_CODES, ChangeFreq, EntryColumns, Lastmod

from .fields import ODD, NotRegularError, clean_changefreq, clean_priority, clean_text
from .moments import SHORTEST, Moments, Reals, read_moments
from .plain_extensions import Extensions
from .values import Child, Entry

Value = TypeVar("Value")

_REMEMBERED = 16_384
"""Maximum number of texts of one kind whose values are cached."""

LONGEST = 256
"""Characters of tags with the white space between them, and of values that are remembered with them."""

_SPACES = "".join(filter(str.isspace, map(chr, range(128))))

_WORTH_ARRAYS = 32
"""Dates below which reading them all at once takes longer to set up than it saves."""


class Texts(Struct, frozen=True):
    """The texts of one field of all records: each is `tags` and then a value; `tags` alone if there is none."""

    texts: Sequence[str]
    tags: str = ""


class Cut(Struct, frozen=True):
    """Records that were cut into columns: the texts of their URLs, without tags, and of the fields that they have."""

    urls: Sequence[str]
    fields: Mapping[str, Texts]


class _Known(dict[str, Value | None], Generic[Value]):
    """Values by the text that they were read from, behind its tags: a site's records repeat them."""

    def __init__(self, read: Callable[[str], Value | None]) -> None:
        self._read = read
        self._begin("")

    def _begin(self, tags: str) -> None:
        self.clear()
        self._tags = tags
        self[tags] = None

    def __missing__(self, text: str) -> Value:
        value = self._read(text[len(self._tags) :]) if text.startswith(self._tags) else None
        if value is None:
            raise NotRegularError
        if len(self) >= _REMEMBERED:
            self._begin(self._tags)
        if len(text) <= 2 * LONGEST:
            self[text] = value
        return value

    def of(self, field: Texts) -> Iterable[Value | None]:
        """The values of these, read when asked for. Tags seldom change within a document."""
        if field.tags != self._tags:
            self._begin(field.tags)
        return map(self.__getitem__, field.texts)


class Cells:
    """Reads the values of one document, remembering those that it has seen."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._lastmods = _Known(read_w3c)
        self._frequencies = _Known(clean_changefreq)
        self._priorities = _Known(clean_priority)

    def children(self, cut: Cut) -> list[Child]:
        """Each record as the sitemap that it names."""
        return list(map(Child, clean_urls(cut.urls, self._longest), self._dates(cut)))

    def entries(self, cut: Cut, extensions: Sequence[Extensions] = ()) -> list[Entry]:
        """Each record as an entry, with its extensions if there are any."""
        urls = clean_urls(cut.urls, self._longest)
        columns = (urls, self._dates(cut), *self._hints(cut))
        if not extensions:
            return list(map(Entry, *columns))
        images, news, alternates = zip(*map(astuple, extensions), strict=True)
        return list(map(Entry, *columns, repeat(None), images, repeat(()), news, alternates))

    def _hints(self, cut: Cut) -> tuple[Iterable[ChangeFreq | None], Iterable[float | None]]:
        frequencies, priorities = cut.fields.get("changefreq"), cut.fields.get("priority")
        return (
            repeat(None) if frequencies is None else self._frequencies.of(frequencies),
            repeat(None) if priorities is None else self._priorities.of(priorities),
        )

    def _dates(self, cut: Cut) -> Iterable[Lastmod | None]:
        field = cut.fields.get("lastmod")
        if field is None:
            return repeat(None)
        moments = _moments(field)
        if moments is None:
            return self._lastmods.of(field)
        dates = map(Lastmod, moments.seconds.tolist(), repeat(moments.granularity))
        if len(moments.seconds) == len(field.texts):
            return dates
        return [None if text == field.tags else next(dates) for text in field.texts]

    def columns(self, cut: Cut) -> EntryColumns:
        """All records as columns."""
        count = len(cut.urls)
        at, grains = np.full(count, nan), np.zeros(count, np.uint8)
        frequencies, priorities = grains, at
        if "lastmod" in cut.fields:
            at, grains = self._date_columns(cut.fields["lastmod"])
        if "changefreq" in cut.fields:
            values = self._frequencies.of(cut.fields["changefreq"])
            frequencies = np.frombuffer(bytes(map(FREQUENCY_CODES.__getitem__, values)), np.uint8)
        if "priority" in cut.fields:
            priorities = np.array(list(self._priorities.of(cut.fields["priority"])), np.float64)
        return EntryColumns(clean_urls(cut.urls, self._longest), at, grains, frequencies, priorities)

    def _date_columns(self, field: Texts) -> tuple[Reals, NDArray[np.uint8]]:
        count, moments = len(field.texts), _moments(field)
        if moments is None:
            dates = list(self._lastmods.of(field))
            at = np.array([None if date is None else date.at for date in dates], np.float64)
            return at, np.array([0 if date is None else date.granularity for date in dates], np.uint8)
        if len(moments.seconds) == count:
            return moments.seconds, np.full(count, moments.granularity, np.uint8)
        is_said = np.fromiter(map(field.tags.__ne__, field.texts), np.bool_, count)
        at = np.full(count, nan)
        at[is_said] = moments.seconds
        return at, np.where(is_said, np.uint8(moments.granularity), np.uint8(0))


def _moments(field: Texts) -> Moments | None:
    """Of those that say something, if all are times: those differ, while days repeat and are read once each."""
    texts, tags = field.texts, field.tags
    if tags in texts:
        texts = [text for text in texts if text != tags]
    if not texts or len(texts) < _WORTH_ARRAYS or len(texts[0]) - len(tags) < SHORTEST:
        return None
    return read_moments(texts, tags)


def clean_urls(urls: Sequence[str], longest: int) -> Sequence[str]:
    """URLs as written with references resolved, if there is nothing else to say of any.

    All are checked at once: each begins with its scheme, none is longer than `longest`, and there is no white space in
    any but at its ends.
    """
    joined = "".join(urls)
    if "&" in joined:
        urls = [clean_text(url) if "&" in url else url for url in urls]
        joined = "".join(urls)
    if _has_space(joined):
        urls = [url.strip() for url in urls]
        joined = "".join(urls)
    if "<" in joined or _has_space(joined) or (not joined.isascii() and ODD.search(joined)):
        raise NotRegularError
    joined = "<".join(("", *urls))
    absolute = joined.count("<https://")
    if absolute != len(urls) and absolute + joined.count("<http://") != len(urls):
        raise NotRegularError
    if _has_longer(joined, longest):
        raise NotRegularError
    return urls


def _has_space(text: str) -> bool:
    """Whether there is white space; in ASCII that is found faster by looking for one character after the other."""
    return any(map(text.__contains__, _SPACES)) if text.isascii() else text.split(None, 1) != [text]


def _has_longer(joined: str, longest: int) -> bool:
    """Whether a URL is longer than `longest`. The search goes from the start of one to the last start within reach."""
    start = 0
    while len(joined) - start > longest:
        start = joined.rfind("<", start, start + longest + 1) + 1
        if not start:
            return True
    return False
