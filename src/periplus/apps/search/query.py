"""What a person types, as a value. Every string is a query: what cannot be understood becomes words, and a note.

words  "a phrase"  -word  -"a phrase"  site:  lang:  type:  intitle:  inurl:  after:2026-01-01  before:

`--word` and `-x` are options of programs, which people look up: words, not exclusions.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, datetime

from msgspec import Struct

from periplus.content.text_language import is_unspaced, primary_language, words_of

MAX_LENGTH = 512
"""Characters of a query that are read."""
MAX_WORDS = 32
"""Words of a query that are looked up; each costs a walk over its postings."""
MAX_PHRASES = 4
"""Phrases of a query that are looked up; each reads positions, which cost more than words."""

_PART = re.compile(r'(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))', re.IGNORECASE)
_JOINED = re.compile(r"[^\W_]+(?:[_.\-:/]+[^\W_]+)+")
"""Words that punctuation joins, such as `os.path` and `data-type`: they mean more together."""
_NAME = re.compile(r"[^\W_][_.:/]+[^\W_]|^-")
"""What makes joined words a name (`log_hostname`, `os.path`, `--enable-shared`): it is written in one way only."""


class Query(Struct, frozen=True):
    """Words and phrases to find, conditions every result meets, and what could not be understood."""

    text: str
    words: tuple[str, ...] = ()
    """Each once."""
    times: tuple[int, ...] = ()
    """How often each word was typed."""
    phrases: tuple[tuple[str, ...], ...] = ()
    joined: tuple[tuple[str, ...], ...] = ()
    """Words that were typed as one, with punctuation between them. A result need not have them together."""
    names: tuple[tuple[str, ...], ...] = ()
    """Those of `joined` that are names, and words of scripts without blanks: a result should have them together."""
    without: tuple[tuple[str, ...], ...] = ()
    in_title: tuple[str, ...] = ()
    in_url: tuple[str, ...] = ()
    site: str = ""
    language: str = ""
    media_type: str = ""
    after: float | None = None
    before: float | None = None
    """Seconds since 1970: results modified (or, if that is unknown, fetched) at that time or later, or before it."""
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to rank results by."""
        return not (self.words or self.phrases or self.in_title or self.in_url)


def parse_query(text: str) -> Query:
    """Read a query. Never fails."""
    reader = _Reader()
    text = " ".join(text.split())
    if len(text) > MAX_LENGTH:
        reader.notes.append(f"Only the first {MAX_LENGTH} characters were read.")
    for match in _PART.finditer(text[:MAX_LENGTH]):
        minus, field, phrase, word = match.groups()
        value = word if phrase is None else phrase
        is_option = phrase is None and not field and (value.startswith("-") or len(value) == 1)
        reader.read(bool(minus) and not is_option, (field or "").lower(), value, phrase is not None)
    return reader.query(text[:MAX_LENGTH])


class _Reader:
    def __init__(self) -> None:
        self.words: list[str] = []
        self.phrases: list[tuple[str, ...]] = []
        self.joined: list[tuple[str, ...]] = []
        self.names: list[tuple[str, ...]] = []
        self.without: list[tuple[str, ...]] = []
        self.lists: dict[str, list[str]] = {"intitle": [], "inurl": []}
        self.only: dict[str, str] = {}
        self.times: dict[str, float] = {}
        self.notes: list[str] = []

    def read(self, is_excluded: bool, field: str, value: str, is_quoted: bool) -> None:
        """Read one part of the query."""
        known = field in self.lists or field in ("site", "lang", "type", "after", "before")
        if field and not known:  # such as std::string or http://…: words, not a condition
            value, field = f"{field}:{value}", ""
        if not field:
            self._read_words(is_excluded, value, is_quoted)
        elif is_excluded:
            self.notes.append(f"“-{field}:” cannot be excluded and was left out.")
        elif field in self.lists:
            self.lists[field] += words_of(value)
        elif field in ("after", "before"):
            self._read_day(field, value)
        else:
            self.only[field] = value.lower()

    def _read_words(self, is_excluded: bool, value: str, is_quoted: bool) -> None:
        words = tuple(words_of(value))
        if not words:
            return
        if is_excluded:
            self.without.append(words)
        elif is_quoted and len(words) > 1:
            self.phrases.append(words)
            self.words += words
        else:
            self.words += words
            is_word = all(map(is_unspaced, words))
            if len(words) > 1 and (is_word or _JOINED.search(value)):
                self.joined.append(words)
                if is_word or _NAME.search(value):
                    self.names.append(words)

    def _read_day(self, field: str, value: str) -> None:
        try:
            day = date.fromisoformat(value)
        except ValueError:
            self.notes.append(f"“{field}:{value}” is not a date such as 2026-01-31 and was left out.")
            return
        self.times[field] = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()

    def query(self, text: str) -> Query:
        """What was read, within the bounds."""
        times = Counter(self.words)
        words = list(times)
        if len(words) > MAX_WORDS:
            self.notes.append(f"Only the first {MAX_WORDS} words were looked up.")
        if len(self.phrases) > MAX_PHRASES:
            self.notes.append(f"Only the first {MAX_PHRASES} phrases were looked up.")
        return Query(
            text=text,
            words=tuple(words[:MAX_WORDS]),
            times=tuple(times[word] for word in words[:MAX_WORDS]),
            phrases=tuple(phrase[:MAX_WORDS] for phrase in self.phrases[:MAX_PHRASES]),
            joined=tuple(words[:MAX_WORDS] for words in self.joined[:MAX_PHRASES]),
            names=tuple(words[:MAX_WORDS] for words in self.names[:MAX_PHRASES]),
            without=tuple(words[:MAX_WORDS] for words in self.without[:MAX_WORDS]),
            in_title=tuple(self.lists["intitle"][:MAX_WORDS]),
            in_url=tuple(self.lists["inurl"][:MAX_WORDS]),
            site=self.only.get("site", ""),
            language=primary_language(self.only.get("lang", "")),
            media_type=self.only.get("type", ""),
            after=self.times.get("after"),
            before=self.times.get("before"),
            notes=tuple(dict.fromkeys(self.notes)),
        )
