"""The fastest reader of sitemaps, for windows in which all records have the same fields in the same order.

Most programs write such records. `ColumnCutter` cuts a window into columns of texts; `Cells` reads the texts as entries
one by one, or as columns for callers that handle many at once. Both give the same values and refuse the same texts
(`NotRegularError`), and the reader in `regular` looks closer at what is refused. `read_moments` reads many dates at
once, in a fifth of the time of `dates.read_w3c`, which gets all other forms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from math import nan
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from periplus.model import FREQUENCY_CODES, ChangeFreq, EntryColumns, Granularity, Lastmod

from ..dates import read_w3c
from .extensions import EntryExtensions
from .fields import ODD, NotRegularError, clean_changefreq, clean_priority, clean_text
from .values import Child, Entry

SHORTEST = len("0000-00-00T00:00:00Z")
"""Characters of the shortest date that is read here."""

Bytes = NDArray[np.uint8]
Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

_TIME = "0000-00-00T00:00:00"
_FRACTIONS = ("", ".000", ".000000")
"""What may follow the seconds: nothing, or as many digits as JavaScript or Python write."""
_ZONE = "+00:00\n"

_MINUS = ord("+") ^ ord("-")
_YEAR_1000 = -30_610_224_000
_YEAR_9999 = 253_370_764_800
"""In the first and last years a zone can lead out of the calendar."""


class Moments(Struct, frozen=True):
    """POSIX seconds of dates that are all equally fine."""

    seconds: Reals
    granularity: Granularity


class _Form(Struct, frozen=True):
    """The form of a date behind its tags.

    `spread` is how far each byte may differ from the `expected` one, as XOR, which of a digit and `0` is its value.
    """

    expected: Bytes
    spread: Bytes
    fraction: str


def read_moments(texts: Sequence[str], tags: str = "") -> Moments | None:
    """Dates behind `tags` that all have one form, with a time to the second or finer.

    Some may have `Z` and others a numeric zone. `None` if one has another form, or another number of digits. The form
    is checked here, since numpy would accept others; numpy checks that the day and the time exist.
    """
    joined = "\n".join(texts) + "\n"
    if "Z" in joined:
        joined = joined.replace("Z\n", _ZONE)
    width, rest = divmod(len(joined), len(texts))
    form = _form(tags, width)
    if rest or form is None or not joined.isascii():
        return None
    rows = np.frombuffer(joined.encode("ascii"), np.uint8).reshape(-1, width)
    found = rows ^ form.expected
    if (found > form.spread).any():
        return None
    time = len(tags), len(tags) + len(_TIME)
    local, east = _local_seconds(rows[:, slice(*time)]), _seconds_east(found[:, -len(_ZONE) : -1])
    if local is None or east is None:
        return None
    if form.fraction:
        return _finer(local, east, found[:, time[1] + 1 : -len(_ZONE)])
    return Moments((local - east).astype(np.float64), Granularity.SECOND)


@lru_cache(maxsize=64)
def _form(tags: str, width: int) -> _Form | None:
    """The form whose texts are so wide, if there is one."""
    for fraction in _FRACTIONS:
        date = _TIME + fraction + _ZONE
        if len(tags) + len(date) == width and tags.isascii():
            spread = bytes(len(tags)) + bytes({"0": 9, "+": _MINUS}.get(character, 0) for character in date)
            expected = (tags + date).encode("ascii")
            return _Form(np.frombuffer(expected, np.uint8), np.frombuffer(spread, np.uint8), fraction)
    return None


def _local_seconds(times: Bytes) -> Integers | None:
    """Seconds up to times of the day in a zone of their own; `None` if one is not in the calendar, or near its ends."""
    try:
        local = np.ascontiguousarray(times).view(f"S{len(_TIME)}").ravel().astype("datetime64[s]")
    except ValueError:
        return None
    seconds = local.astype(np.int64)
    return None if seconds.min() < _YEAR_1000 or seconds.max() >= _YEAR_9999 else seconds


def _seconds_east(zones: Bytes) -> Integers | None:
    """How far each local time is ahead of UTC, from the differences to `+00:00`; one row of nothing if all are UTC."""
    if not zones.any():
        return np.zeros(1, np.int64)
    digits = zones.astype(np.int64)
    sign, hours, minutes = digits[:, 0], digits[:, 1] * 10 + digits[:, 2], digits[:, 4] * 10 + digits[:, 5]
    if hours.max() > 23 or minutes.max() > 59 or ((sign != 0) & (sign != _MINUS)).any():
        return None
    return np.where(sign == 0, 1, -1) * (hours * 3600 + minutes * 60)


def _finer(local: Integers, east: Integers, fraction: Bytes) -> Moments:
    """Times with a fraction. It is added to the second first, as `dates` does: the sum is the same to the last bit."""
    digits = fraction.shape[1]
    second = local % 60
    parts = (fraction @ 10 ** np.arange(digits)[::-1]) / 10**digits
    return Moments((local - second) + ((second - east) + parts), Granularity.FRACTION)


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

    def entries(self, cut: Cut, extensions: Sequence[EntryExtensions] = ()) -> list[Entry]:
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
    """URLs as written with references resolved, if none of them has a problem.

    All are checked at once: each begins with its scheme, none is longer than `longest`, and none has white space except
    at its ends.
    """
    joined = "".join(urls)
    if "<" in joined:  # a tag
        raise NotRegularError
    if "&" in joined:
        urls = [clean_text(url) if "&" in url else url for url in urls]
        joined = "".join(urls)
    if _has_space(joined):
        urls = [url.strip() for url in urls]
        joined = "".join(urls)
    if _has_space(joined) or (not joined.isascii() and ODD.search(joined)):
        raise NotRegularError
    joined = "\n".join(("", *urls))
    absolute = joined.count("\nhttps://")
    if absolute != len(urls) and absolute + joined.count("\nhttp://") != len(urls):
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
        start = joined.rfind("\n", start, start + longest + 1) + 1
        if not start:
            return True
    return False


class ColumnCutter:
    """Cuts windows of one document, of whose records only these `fields` are known.

    Split at `</`, a window has one piece for each end tag, and every n-th piece, with n end tags in a record, belongs
    to one column: the same tags, then a value. A few operations in C thus extract all values and prove that the rest of
    the window is nothing but those tags. Any doubt is a `NotRegularError`.
    """

    def __init__(self, prefix: str, record: str, fields: Collection[str]) -> None:
        self._prefix = prefix
        self._fields = fields
        self._end = f"{prefix}{record}>"
        p = re.escape(prefix)
        self._first = re.compile(rf"<{p}{record}>\s*+<{p}loc>")
        self._others = re.compile(rf"{p}{record}>\s*+<{p}{record}>\s*+<{p}loc>")
        self._next = re.compile(rf"{p}(\w++)>\s*+<{p}(\w++)>")

    def cut(self, window: str) -> Cut:
        """All values of a window that begins with a record and ends with one."""
        pieces = window.split("</")
        width = window.count("</", 0, window.index(f"</{self._end}") + 2)
        height = len(pieces) // width
        if height < 2 or len(pieces) != height * width + 1 or pieces.pop() != self._end:
            raise NotRegularError
        urls = self._urls(pieces[::width])
        name, fields = "loc", dict[str, Texts]()
        for index in range(1, width - 1):
            column = pieces[index::width]
            tags = self._next.match(column[0])
            if tags is None or tags[1] != name or tags.end() > LONGEST:
                raise NotRegularError
            name = tags[2]
            if name not in self._fields or name in fields:
                raise NotRegularError
            fields[name] = Texts(column, tags[0])
        last = pieces[width - 1 :: width]
        if last.count(last[0]) != height or last[0].rstrip() != f"{self._prefix}{name}>":
            raise NotRegularError
        return Cut(urls, fields)

    def _urls(self, column: list[str]) -> list[str]:
        """The first column: tags known from its second piece, and URLs. Other tags stay, and are seen later."""
        first, others = self._first.match(column[0]), self._others.match(column[1])
        if first is None or others is None:
            raise NotRegularError
        urls = list(map(str.removeprefix, column, repeat(others[0])))
        urls[0] = column[0][first.end() :]
        return urls
