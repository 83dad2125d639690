"""What an index keeps of each document beside its terms: address, texts to show, ranks. One SQLite file."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import xxhash
import zstandard
from msgspec import Struct

from periplus.model import PageSection

from .term_numbers import PageTerms, as_bytes, from_bytes

_SCHEMA = """
create table if not exists documents (
    id integer primary key, url text not null, site text not null, domain text not null, language text not null,
    media_type text not null, time integer not null, fetched_at real not null, modified_at integer,
    title text not null, description text not null, is_home integer not null, is_hidden integer not null,
    max_snippet integer, anchors_hash integer not null, page_rank real not null, spam real not null,
    breadcrumbs text not null, is_listing integer not null);
create index if not exists documents_of_site on documents (site);
create index if not exists documents_of_language on documents (language);
create table if not exists texts (id integer primary key, anchors text not null, sections blob not null,
    body blob not null);
create table if not exists term_numbers (id integer primary key, packed blob not null);
create table if not exists passages (id integer primary key, vectors blob not null);
create table if not exists words (word text primary key, documents integer not null, named integer not null)
    without rowid;
create table if not exists names (name text primary key, number integer not null) without rowid;
create table if not exists title_endings (site text primary key, ending text not null) without rowid;
create table if not exists titles (title text primary key, number integer not null) without rowid;
create table if not exists sitelinks (site text primary key, links blob not null) without rowid;
create table if not exists facts (name text primary key, value blob not null) without rowid;
"""
_LEVEL = 3
"""Of compression: a third of the size of a text at 100 MB a second."""
_CACHE_KB = 16_000
"""Memory for pages of the file: the upper levels of the trees of a million documents, and what a query reads."""
_MAPPED = 1 << 30
"""Bytes of the file that are read in place: texts and terms are not copied first."""
_LANGUAGES = "languages"
_LONGEST_WORD = 24
"""Letters of a word that is kept for corrections; longer ones are names in code."""
_COMPARED = 3_000
"""Titles with a prefix that are compared for suggestions: some milliseconds, whatever the size of the index."""
_LAST = "\U0010ffff"
"""What sorts behind every text that begins with what is before it."""
_COMPARED_TITLES = 40
"""Titles of a site that are compared to see what they share."""
_MOST = 0.8
"""Share of the titles of a site that end in the same way from which that is the name of the site."""
_LEAST_TITLES = 3
_SEPARATOR = re.compile(r"\s+(?:[|\u2013\u2014\u00b7\u00bb\u00ab-]|::)\s+")
_NAMED = 10
"""How many pages that have a word in their text are worth one that it is the name of."""
_FEW = 5
"""Pages whose texts have a word from which it is used, although nothing is called so."""
_SUGGESTED_ANCHORS = 3
"""Texts of links to a document that may be suggested, those of most pages."""


class Record(Struct, frozen=True):
    """A document as it is shown. Times are seconds since 1970."""

    id: int
    url: str
    site: str
    domain: str
    language: str
    media_type: str
    time: int
    fetched_at: float
    modified_at: int | None
    title: str
    description: str
    is_home: bool
    is_hidden: bool
    """Whether the page asks not to be shown as a copy (`noarchive`)."""
    max_snippet: int | None
    """Characters of text the page allows to be shown; None if it sets no limit."""
    anchors_hash: int = 0
    """`hash_of` the texts of links to it: whether they changed is seen without reading them."""
    page_rank: float = 1.0
    spam: float = 0.0
    breadcrumbs: str = ""
    """The path of the page in its site, a line for each name."""
    is_listing: bool = False


class StoredTexts(NamedTuple):
    """The texts of a document: of links to it, its sections in order, and its body."""

    anchors: tuple[str, ...]
    sections: list[PageSection]
    body: str


NO_TEXTS = StoredTexts((), [], "")
_SECTIONS = msgspec.msgpack.Decoder(list[tuple[int, str, int, str]])
_COLUMNS = ", ".join(Record.__struct_fields__)
_STANDING = "id, url, site, page_rank, spam, time, is_home, is_listing"
_MARKS = ", ".join("?" * len(Record.__struct_fields__))
_FLAGS = [place for place, field in enumerate(msgspec.structs.fields(Record)) if field.type is bool]


def id_of(url: str) -> int:
    """The number of a URL, the same in every index: a crash between two files can then not confuse documents."""
    return xxhash.xxh3_64_intdigest(url.encode()) >> 1


def hash_of(anchors: Sequence[str]) -> int:
    """A number for the texts of links to a page, the same in every process."""
    return xxhash.xxh3_64_intdigest("\n".join(anchors).encode("utf-8", "replace")) >> 1


class Documents:
    """The file. One process writes, any number read."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.executescript(
            f"pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -{_CACHE_KB};"
            f"pragma mmap_size = {_MAPPED};" + _SCHEMA
        )
        self._pack = zstandard.ZstdCompressor(level=_LEVEL).compress
        self._pack_fast = zstandard.ZstdCompressor(level=1).compress
        self._titles: Counter[str] = Counter()
        self._sites: set[str] = set()

    def put(
        self, record: Record, anchors: Sequence[str], sections: Sequence[PageSection], body: str, terms: PageTerms
    ) -> None:
        """Add a document or replace the one with the same id."""
        self._sites.add(record.site)
        self._forget_titles([record.id])
        self._titles.update(_suggestions(record.title, anchors))
        values = msgspec.structs.astuple(record)
        self._database.execute(f"insert or replace into documents ({_COLUMNS}) values ({_MARKS})", values)  # noqa: S608 - names of ours
        texts = (
            self._pack(msgspec.msgpack.encode(list(map(msgspec.structs.astuple, sections)))),
            self._pack(body.encode("utf-8", "replace")),
        )
        self._database.execute(
            "insert or replace into texts values (?, ?, ?, ?)", (record.id, "\n".join(anchors), *texts)
        )
        self._database.execute(
            "insert or replace into term_numbers values (?, ?)", (record.id, self._pack_fast(as_bytes(terms)))
        )

    def delete(self, ids: Iterable[int]) -> None:
        """Remove documents."""
        rows = [(id_,) for id_ in ids]
        self._forget_titles([id_ for (id_,) in rows])
        self._database.executemany("delete from documents where id = ?", rows)
        self._database.executemany("delete from texts where id = ?", rows)
        self._database.executemany("delete from term_numbers where id = ?", rows)
        self._database.executemany("delete from passages where id = ?", rows)

    def add_words(self, words: Mapping[str, int], named: Mapping[str, int]) -> None:
        """Count in how many documents words occur, and in how many as names of pages and sections or in links."""
        self._database.executemany(
            "insert into words values (?, ?, ?) on conflict (word) do update set"
            " documents = documents + excluded.documents, named = named + excluded.named",
            (
                (word, words.get(word, 0), named.get(word, 0))
                for word in words.keys() | named.keys()
                if len(word) <= _LONGEST_WORD and word.isalpha()
            ),
        )

    def add_names(self, names: Mapping[str, int]) -> None:
        """Count how often names such as `os.path.join` are defined: to complete them."""
        self._database.executemany(
            "insert into names values (?, ?) on conflict (name) do update set number = number + excluded.number",
            names.items(),
        )

    def names_with_prefix(self, prefix: str, count: int) -> list[str]:
        """Defined names that begin so, the most frequent first."""
        return self._with_prefix("names", "name", "number", prefix, count)

    def words_with_prefix(self, prefix: str, count: int) -> list[str]:
        """Words of names and links that begin so, the most frequent first."""
        return self._with_prefix("words", "word", "named", prefix, count)

    def _with_prefix(self, table: str, column: str, number: str, prefix: str, count: int) -> list[str]:
        sql = (
            f"select {column} from (select * from {table} where {column} >= ? and {column} < ? limit ?)"  # noqa: S608
            f" where {number} > 0 order by {number} desc, {column} limit ?"
        )
        return [row[0] for row in self._database.execute(sql, (prefix, prefix + _LAST, _COMPARED, count))]

    def is_named(self, word: str) -> bool:
        """Whether a page, a section or a link is called so."""
        row = self._database.execute("select named from words where word = ?", (word,)).fetchone()
        return bool(row and row[0])

    def words_like(self, word: str) -> dict[str, int]:
        """Words of names and links with the same first letter and about as long, and how often they are used."""
        sql = (
            "select word, named from words where word >= ? and word < ? and named > 0 and length(word) between ? and ?"
            " limit ?"
        )
        values = (word[0], word[0] + _LAST, len(word) - 2, len(word) + 2, _COMPARED)
        return dict(self._database.execute(sql, values))

    def _forget_titles(self, ids: Iterable[int]) -> None:
        """Take back what these documents suggest."""
        sql = "select title, anchors from documents join texts using (id) where id = ?"
        for id_ in ids:
            for title, anchors in self._database.execute(sql, (id_,)):
                self._titles.subtract(_suggestions(title, anchors.split("\n")))

    def _save_titles(self) -> None:
        self._database.executemany(
            "insert into titles values (?, ?) on conflict (title) do update set number = number + excluded.number",
            ((title, number) for title, number in self._titles.items() if number),
        )
        gone = [(title,) for title, number in self._titles.items() if number < 0]
        self._database.executemany("delete from titles where title = ? and number <= 0", gone)
        self._titles.clear()

    def set_sitelinks(self, links: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Keep the most useful links of sites: URLs with titles."""
        rows = [(site, msgspec.json.encode(found)) for site, found in links.items()]
        self._database.executemany("insert or replace into sitelinks values (?, ?)", rows)

    def sitelinks_of(self, site: str) -> list[tuple[str, str]]:
        """The useful links of a site that are in the index."""
        row = self._database.execute("select links from sitelinks where site = ?", (site,)).fetchone()
        links = msgspec.json.decode(row[0], type=list[tuple[str, str]]) if row else []
        there = self.standing_of([id_of(url) for url, _ in links])
        return [(url, title) for url, title in links if id_of(url) in there]

    def pages_of_site(self, site: str) -> Iterator[tuple[str, str]]:
        """URL and title of every document of a site."""
        yield from self._database.execute("select url, title from documents where site = ? order by url", (site,))

    def names_of_site(self, site: str) -> Iterator[tuple[str, str]]:
        """URL and last breadcrumb of every document of a site that has some."""
        sql = "select url, breadcrumbs from documents where site = ? and breadcrumbs <> ''"
        for url, breadcrumbs in self._database.execute(sql, (site,)):
            yield url, breadcrumbs.rpartition("\n")[2]

    def site_sizes(self) -> list[tuple[str, int]]:
        """Sites with their number of documents, the largest first."""
        sql = "select site, count(*) as number from documents group by site order by number desc, site"
        return self._database.execute(sql).fetchall()

    def set_ranks(self, ranks: Iterable[tuple[str, float, float]]) -> None:
        """Set PageRank (times the number of pages) and the probability of spam of URLs."""
        rows = [(page_rank, spam, id_of(url)) for url, page_rank, spam in ranks]
        self._database.executemany("update documents set page_rank = ?, spam = ? where id = ?", rows)

    def get_many(self, ids: Sequence[int]) -> dict[int, Record]:
        """The documents with these ids, as far as they are there."""
        found: dict[int, Record] = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ", ".join("?" * len(part))
            sql = f"select {_COLUMNS} from documents where id in ({marks})"  # noqa: S608 - names of ours
            found |= {row[0]: _record(row) for row in self._database.execute(sql, tuple(part))}
        return found

    def texts_of(self, ids: Sequence[int]) -> dict[int, StoredTexts]:
        """The texts of documents, as far as they are there."""
        marks = ", ".join("?" * len(ids))
        sql = f"select id, anchors, sections, body from texts where id in ({marks})"  # noqa: S608 - question marks only
        unpack = zstandard.ZstdDecompressor().decompress
        return {
            id_: StoredTexts(
                tuple(anchors.split("\n")) if anchors else (),
                [PageSection(*each) for each in _SECTIONS.decode(unpack(sections))],
                unpack(body).decode(),
            )
            for id_, anchors, sections, body in self._database.execute(sql, tuple(ids))
        }

    def terms_of(self, ids: Sequence[int]) -> dict[int, PageTerms]:
        """The terms of documents, as far as they are there."""
        marks = ", ".join("?" * len(ids))
        sql = f"select id, packed from term_numbers where id in ({marks})"  # noqa: S608 - question marks only
        unpack = zstandard.ZstdDecompressor().decompress
        return {id_: from_bytes(unpack(data)) for id_, data in self._database.execute(sql, tuple(ids))}

    def put_vectors(self, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Keep the vectors of documents' passages, by id."""
        self._database.executemany("insert or replace into passages values (?, ?)", vectors)

    def vectors_of(self, ids: Sequence[int]) -> dict[int, bytes]:
        """The vectors of documents' passages, as far as they are there."""
        marks = ", ".join("?" * len(ids))
        sql = f"select id, vectors from passages where id in ({marks})"  # noqa: S608 - question marks only
        return dict(self._database.execute(sql, tuple(ids)))

    def standings(self) -> Iterator[tuple[int, float, int, float]]:
        """Id, time of the fetch, `anchors_hash` and PageRank of every document."""
        yield from self._database.execute("select id, fetched_at, anchors_hash, page_rank from documents")

    def urls_of(self, ids: Iterable[int]) -> list[str]:
        """The URLs with these ids, as far as they are there."""
        rows = (self._database.execute("select url from documents where id = ?", (id_,)).fetchone() for id_ in ids)
        return [row[0] for row in rows if row is not None]

    def count(self) -> int:
        """The number of documents."""
        return int(self._database.execute("select count(*) from documents").fetchone()[0])

    def languages(self) -> list[tuple[str, int]]:
        """Languages with their number of documents at the last commit, the most frequent first."""
        kept = self.fact(_LANGUAGES)
        return msgspec.json.decode(kept, type=list[tuple[str, int]]) if kept else []

    def standing_of(self, ids: Sequence[int]) -> dict[int, tuple[str, str, float, float, int, bool, bool]]:
        """URL, site, PageRank, spam, time, whether it is a home page or lists others, by id: what the order needs."""
        found = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ", ".join("?" * len(part))
            sql = f"select {_STANDING} from documents where id in ({marks})"  # noqa: S608 - names of ours
            for id_, url, site, page_rank, spam, moment, is_home, is_listing in self._database.execute(
                sql, tuple(part)
            ):
                found[id_] = (url, site, page_rank, spam, moment, is_home == 1, is_listing == 1)
        return found

    def use_of(self, words: Sequence[str]) -> dict[str, int]:
        """How much each of these words is used, as far as it is: what pages or links call something counts most.

        A word that only the texts of a few pages have may be misspelt there, and is not used.
        """
        marks = ", ".join("?" * len(words))
        sql = (
            f"select word, {_NAMED} * named + documents from words where word in ({marks})"  # noqa: S608 - numbers and marks
            f" and (named > 0 or documents >= {_FEW})"
        )
        return dict(self._database.execute(sql, tuple(words)))

    def titles_with_prefix(self, prefix: str, count: int) -> list[str]:
        """Titles and texts of links that begin so, the most frequent first, of at most `_COMPARED`."""
        return self._with_prefix("titles", "title", "number", prefix, count)

    def fact(self, name: str) -> bytes | None:
        """A value kept under a name."""
        row = self._database.execute("select value from facts where name = ?", (name,)).fetchone()
        return row[0] if row else None

    def set_fact(self, name: str, value: bytes) -> None:
        """Keep a value under a name, with the next commit."""
        self._database.execute("insert or replace into facts values (?, ?)", (name, value))

    def title_ending_of(self, site: str) -> str:
        """What the titles of a site end with, such as ` | Example`; empty if they share nothing."""
        row = self._database.execute("select ending from title_endings where site = ?", (site,)).fetchone()
        return row[0] if row else ""

    def _save_title_endings(self) -> None:
        """Compare titles of the sites that changed; ids are hashes, so the first are a random sample."""
        sql = "select title from documents where site = ? and title <> '' order by id limit ?"
        rows = []
        for site in self._sites:
            titles = [title for (title,) in self._database.execute(sql, (site, _COMPARED_TITLES))]
            rows.append((site, shared_ending(titles)))
        self._database.executemany("insert or replace into title_endings values (?, ?)", rows)
        self._sites.clear()

    def commit(self) -> None:
        """Make all changes durable."""
        self._save_titles()
        self._save_title_endings()
        sql = "select language, count(*) as number from documents group by language order by number desc, language"
        self.set_fact(_LANGUAGES, msgspec.json.encode(self._database.execute(sql).fetchall()))
        self._database.commit()

    def close(self) -> None:
        """Release the file."""
        self._database.close()


def _record(row: tuple[Any, ...]) -> Record:
    values = list(row)
    for place in _FLAGS:
        values[place] = bool(values[place])
    return Record(*values)


def _suggestions(title: str, anchors: Sequence[str]) -> set[str]:
    """What a document adds to suggestions, in lower case."""
    texts = (title, *anchors[:_SUGGESTED_ANCHORS])
    return {text.lower()[:100] for text in texts if text}


def shared_ending(titles: Sequence[str]) -> str:
    """What most titles end with, from a separator on; empty if they do not."""
    if len(titles) < _LEAST_TITLES:
        return ""
    endings = Counter(title[match.start() :] for title in titles for match in _SEPARATOR.finditer(title))
    most = [ending for ending, number in endings.items() if number >= _MOST * len(titles)]
    return max(most, key=len, default="")
