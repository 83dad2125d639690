"""A searchable database behind GET forms: records that only result pages link to.

The words of titles are as unevenly distributed as in natural language, and a query shows at most `MOST_SHOWN` of its
matches, so that a crawler has to choose its queries (Ntoulas, Zerfos, Cho 2005; Madhavan et al. 2008).
"""

from __future__ import annotations

from functools import cached_property
from html import escape
from urllib.parse import parse_qsl, urlencode

import numpy as np
from msgspec import Struct

from .randomness import at, at_all, person, sentences, skewed_all, topics
from .sites import Site

PAGE, MOST_SHOWN = 10, 100
FIRST_YEAR, YEARS = 1960, 66
_SALT = 0x2545F4914F6CDD1D
_TITLE_WORDS = 4


class Record(Struct, frozen=True):
    """One thing in the database."""

    number: int
    title: str
    author: str
    year: int

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/record/{self.number}"


class Database:
    """The records of one site."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._key = site.key ^ _SALT

    def __len__(self) -> int:
        return self._site.records

    @cached_property
    def _words(self) -> np.ndarray[tuple[int, ...], np.dtype[np.uint16]]:
        """The numbers of the title words, a row a record."""
        counters = np.arange(len(self) * _TITLE_WORDS, dtype=np.int64)
        bits = at_all(self._key, counters) >> np.uint64(32)
        return skewed_all(bits, len(topics())).astype(np.uint16).reshape(len(self), _TITLE_WORDS)

    def record(self, number: int) -> Record:
        """A record by its number."""
        title = " ".join(topics()[word].decode() for word in self._words[number].tolist())
        bits = at(self._key, -1 - number)
        return Record(number, title.capitalize(), person(bits & 0xFFFF).decode(), FIRST_YEAR + (bits >> 40) % YEARS)

    def find(self, title: str = "", author: str = "", year: str = "") -> list[Record]:
        """Every record that has the word in its title, the word in its author's name, and the year."""
        if not (title or author or year):
            return []
        numbers = range(len(self))
        found = [self.record(number) for number in (self._with_word(title.lower()) if title else numbers)]
        return [
            record
            for record in found
            if (not author or author.lower() in record.author.lower().split())
            and (not year or year == str(record.year))
        ]

    def _with_word(self, word: str) -> list[int]:
        try:
            wanted = topics().index(word.encode())
        except ValueError:
            return []
        rows: list[int] = np.flatnonzero((self._words == wanted).any(axis=1)).tolist()
        return rows

    # -- pages

    def form_page(self) -> bytes:
        """The form, and nothing else to follow."""
        years = "".join(f'<option value="{year}">{year}</option>' for year in range(FIRST_YEAR, FIRST_YEAR + YEARS))
        return _page(
            "Search our records",
            f"<p>{len(self)} records. Try <i>{escape(self.record(0).title.split()[0].lower())}</i>.</p>"
            '<form action="/find" method="get">'
            '<label>Title <input type="text" name="title"></label>'
            '<label>Author <input type="text" name="author"></label>'
            f'<label>Year <select name="year"><option value="">any</option>{years}</select></label>'
            '<input type="submit" value="Find"></form>',
        )

    def result_page(self, query: str) -> bytes:
        """Ten of what was found, and the way to the next ten."""
        fields = dict(parse_qsl(query)[:8])
        number = fields.pop("page", "1")
        page = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else 1
        wanted = {name: fields.get(name, "")[:64] for name in ("title", "author", "year")}
        found = self.find(**wanted)
        shown = found[:MOST_SHOWN][PAGE * (page - 1) : PAGE * page]
        items = "".join(f'<li><a href="{r.path}">{escape(r.title)}</a> ({r.year})</li>\n' for r in shown)
        more = ""
        if PAGE * page < min(len(found), MOST_SHOWN):
            query = urlencode({**{name: value for name, value in wanted.items() if value}, "page": page + 1})
            more = f'<p><a href="/find?{escape(query)}">Next</a></p>'
        hint = "<p>Too many: please refine.</p>" if len(found) > MOST_SHOWN else ""
        return _page(f"{len(found)} records found", f"<ol>\n{items}</ol>{more}{hint}")

    def record_page(self, number: str) -> bytes | None:
        """A record."""
        if not (number.isascii() and number.isdigit() and len(number) < 8 and int(number) < len(self)):
            return None
        record = self.record(int(number))
        bits = at(self._key, -1 - record.number)
        pool = sentences()
        text = b"".join(pool[at(bits, place) % len(pool)] for place in range(12)).decode()
        return _page(record.title, f"<p>By {escape(record.author)}, {record.year}.</p><p>{text}</p>")


def _page(title: str, main: str) -> bytes:
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n</head>\n'
        f"<body>\n<main>\n<h1>{escape(title)}</h1>\n{main}\n</main>\n</body>\n</html>\n"
    ).encode()
