"""An index of plain files for hosts without a server, searched in the browser by `widget/static.js`.

A query loads `index.json`, and of each word a file of words and a file of postings, then the passages that are shown:
some kilobytes each, whatever the size of the collection. The same index gives the same bytes.

    index.json       where each file below begins; levels of PageRank; stop words
    words/N.json     "word term weight" in order: what a typed word stands for, completions, neighbours of typos
    ends/N.json      "drow weight": words from behind, for typos in their first half
    terms/N.json     postings by term: pages, how much the term counts there, and the best passages
    texts/D/N.json   passages: page, fragment, heading, text

Pages are numbered by what they count whatever was typed, so that `index.json` has a few levels of it. A word
stands for the terms that `analysis` made of it when pages were indexed: no stemmer is needed in the browser.
"""

from __future__ import annotations

import hashlib
import heapq
import re
import shutil
import tempfile
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from math import log1p
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from periplus.content.text_language import STOP_WORDS, words_of
from periplus.model import PageSection, Url, UsageError
from periplus.urls import site_of

from .analysis import term_of, terms_of, without_accents
from .index import Document, Index
from .names import names_in, parts_of_name
from .widget import write_widget

VERSION: Final = 1
MAX_PASSAGE: Final = 800
"""Characters of a passage: four snippets, and near enough that its words belong together."""
MAX_SHOWN: Final = 60_000
"""Characters of a page that are kept in passages; its other words are found, without a passage."""
_PASSAGES_A_FILE: Final = 3
_PAGES_AT_THAT: Final = 2_000
"""Pages up to which a file has that many passages; with more pages more, so that there are not too many files."""
_TERMS_BYTES, _WORDS_BYTES = 4_500, 3_500
"""Of a file; more in large indexes, so that `_MOST_FILES` are enough and index.json stays small."""
_MOST_FILES: Final = 2_000
_PASSAGES_OF_TERM: Final = 6
"""Passages of one page that a posting names: with the term in their heading, then with the most of it."""
_RUN: Final = 4_000_000
"""Numbers that are held in memory before they are written to a run: some 100 MB with their keys."""
_K1, _B = 1.2, 0.75
_TITLE_TIMES, _HEADING_TIMES = 5, 2
"""A word of a title or heading counts as this many in the text."""
_RANK, _LENGTH, _SPAM, _LISTING = 1.2, 1.5, 2.0, 15.0
_LETTERS: Final = 6
"""Of a word, with the blank after it."""
_LEVELS: Final = 0.1
"""Steps in which what a page counts whatever was typed is kept."""
_NAMED: Final = 10
"""How many pages a page is worth that has a word in its title, a heading or a link to it."""
_MAX_NAME: Final = 60
_SIGNS: Final = "".join(map(chr, (*range(35, 92), *range(93, 126))))
"""Signs of a number that JSON writes as they are."""
_HALF: Final = len(_SIGNS) // 2
_MOST_LEVEL: Final = len(_SIGNS) // 4 - 1
_SCALE: Final = 10
"""Steps of BM25 up to `_MOST_LEVEL`; a sign has one of them, and whether the title and links have the term."""
_NAME: Final = re.compile(r"[^\W_]+(?:[_.:-]+[^\W_]+)+")
_FOLDERS: Final = ("words", "ends", "terms", "texts")
_MANIFEST: Final = "index.json"


class StaticIndex(Struct, frozen=True):
    """What was written."""

    pages: int
    passages: int
    files: int
    bytes: int


class StaticPassage(Struct, frozen=True):
    """A part of a page: the fragment and heading of its section, and its text. `is_first`: the section begins here."""

    anchor: str
    heading: str
    text: str
    is_first: bool


Entry = tuple[str, str]
"""What a file is sorted by, and what it has."""


def write_static_index(index: Index, out: Path) -> StaticIndex:
    """Write the pages of an index, and the scripts that search it, into a folder. One that is there is replaced."""
    _make_room(out)
    with tempfile.TemporaryDirectory(prefix="periplus-static-") as scratch:
        return _Writer(index, out, Path(scratch)).write()


def _make_room(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any((out / name).exists() for name in _FOLDERS):
            if not _is_ours(out / _MANIFEST):
                raise UsageError(
                    f"{out} has files of something else ({', '.join(_FOLDERS)})", hint="Give another folder."
                )
            (out / _MANIFEST).unlink()
            for name in _FOLDERS:
                shutil.rmtree(out / name, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}", hint="Give a folder that can be written.") from error


def _is_ours(manifest: Path) -> bool:
    try:
        return isinstance(msgspec.json.decode(manifest.read_bytes())["periplus"], int)
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return False


def passages_of(text: str, sections: Sequence[PageSection], most: int = MAX_PASSAGE) -> list[StaticPassage]:
    """The passages of a text: parts of its sections of at most `most` characters, cut between words."""
    starts = [PageSection(0, "", 0, ""), *sections]
    ends = [section.offset for section in sections] + [len(text)]
    found = []
    for section, end in zip(starts, ends, strict=True):
        pieces = list(_pieces(" ".join(text[section.offset : end].split()), most))
        if section.title and not pieces:
            pieces = [""]
        found += [StaticPassage(section.anchor, section.title, piece, place == 0) for place, piece in enumerate(pieces)]
    return found or [StaticPassage("", "", "", True)]


def _pieces(text: str, most: int) -> Iterator[str]:
    while len(text) > most:
        cut = text.rfind(" ", most // 2, most)
        cut = cut if cut > 0 else most
        yield text[:cut]
        text = text[cut:].lstrip()
    if text:
        yield text


class _Runs:
    """Numbers by key, sorted by key in the end, of which no more than a run is in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir()
        self._held: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        self._size = 0
        self._runs: list[Path] = []
        self.numbers = 0

    def add(self, key: str, numbers: Iterable[int]) -> None:
        """Append numbers to those of a key."""
        held = self._held[key]
        before = len(held)
        held.extend(numbers)
        added = len(held) - before
        self.numbers += added
        self._size += added + (8 if not before else 0)
        if self._size >= _RUN:
            self._spill()

    def _spill(self) -> None:
        path = self._folder / str(len(self._runs))
        with path.open("wb") as file:
            for key in sorted(self._held, key=_order):
                data = msgspec.msgpack.encode((key, self._held[key].tobytes()))
                file.write(len(data).to_bytes(4, "big") + data)
        self._runs.append(path)
        self._held.clear()
        self._size = 0

    def merged(self) -> Iterator[tuple[str, array[int]]]:
        """Every key in order with all its numbers, in the order in which they were added."""
        held = ((key, self._held[key]) for key in sorted(self._held, key=_order))
        files = [path.open("rb") for path in self._runs]
        try:
            together = heapq.merge(*map(_read, files), held, key=lambda pair: _order(pair[0]))
            for key, group in groupby(together, key=lambda pair: pair[0]):
                numbers = array("I")
                for _, part in group:
                    numbers.extend(part)
                yield key, numbers
        finally:
            for file in files:
                file.close()


def _read(file: IO[bytes]) -> Iterator[tuple[str, array[int]]]:
    while size := file.read(4):
        key, data = msgspec.msgpack.decode(file.read(int.from_bytes(size, "big")), type=tuple[str, bytes])
        numbers = array("I")
        numbers.frombytes(data)
        yield key, numbers


def _order(key: str) -> bytes:
    """The order of strings in JavaScript."""
    return key.encode("utf-16-be", "surrogatepass")


class _Output:
    """Files of the index, counted and hashed as they are written."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.hash = hashlib.blake2s(digest_size=5)
        self.files = self.bytes = 0

    def put(self, name: str, value: object) -> None:
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = msgspec.json.encode(value)
        path.write_bytes(data)
        self.hash.update(data)
        self.files += 1
        self.bytes += len(data)

    def put_sorted(
        self, kind: str, entries: Iterable[Entry], target: int, made: Callable[[list[Entry]], object]
    ) -> list[str]:
        """Write entries in files of about `target` bytes; where each file begins. A key is never in two files."""
        beginnings: list[str] = []
        held: list[Entry] = []
        size, last = 0, ""

        def write() -> None:
            self.put(f"{kind}/{len(beginnings)}.json", made(held))
            beginnings.append(_between(last, held[0][0]) if beginnings else "")

        for key, text in entries:
            if size >= target and held[-1][0] != key:
                write()
                held, size, last = [], 0, held[-1][0]
            held.append((key, text))
            size += len(text.encode()) + len(key) + 6
        write()
        return beginnings


def _between(last: str, first: str) -> str:
    """The shortest beginning of a key that is behind the last key of the file before."""
    return next(first[:size] for size in range(1, len(first) + 1) if _order(first[:size]) > _order(last))


@lru_cache(maxsize=200_000)
def _parts_in(token: str) -> tuple[str, ...]:
    """The parts of names in what stands between two blanks."""
    return tuple(part for name in names_in(token) for part in parts_of_name(name))


class _PageTerms:
    """The terms of one page: how often, in which passages, and the words that they were."""

    def __init__(self, language: str) -> None:
        self._language = language
        self.of_word: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.named: set[str] = set()
        """Words of the title, of headings, and of links to the page."""
        self._places: defaultdict[str, dict[int, list[int]]] = defaultdict(dict)

    def add(self, text: str, times: int, passage: int, *, is_name: bool = False, is_link: bool = False) -> None:
        """Count the words of a text that is in a passage, or is its heading."""
        words = words_of(text)
        for word in words:
            term = self.of_word.get(word)
            if term is None:
                term = self.of_word[word] = term_of(word, self._language)
            if term:
                self.counts[term] += times
                place = self._places[term].setdefault(passage, [0, 0])
                place[0] |= is_name
                place[1] += 1
        if is_name or is_link:
            self.named.update(words)

    def add_names(self, passage: StaticPassage, place: int) -> None:
        """Count names such as `os.path.join` as terms of their own, and the parts of those with capitals inside."""
        tokens = dict.fromkeys(f"{passage.heading} {passage.text}".split())
        self.add(" ".join(part for token in tokens for part in _parts_in(token)), 1, place)
        heading = passage.heading.lower()
        for name in {match.group() for match in _NAME.finditer(f"{heading} {passage.text.lower()}")}:
            if len(name) <= _MAX_NAME:
                self.counts[name] += 1
                self._places[name][place] = [int(name in heading), 1]

    def passages_of(self, term: str, first: int) -> list[int]:
        """The best passages with a term in order, each number twice, plus one if the term is in the heading."""
        best = sorted(self._places[term].items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
        return [(first + place) * 2 + is_heading for place, (is_heading, _) in sorted(best[:_PASSAGES_OF_TERM])]


class _Writer:
    """Reads every page once, then writes what was collected in order."""

    def __init__(self, index: Index, out: Path, scratch: Path) -> None:
        self._index = index
        self._output = _Output(out)
        self._postings = _Runs(scratch / "postings")
        self._words = _Runs(scratch / "words")
        self._ends = _Runs(scratch / "ends")
        self._lengths = array("f")
        self._levels: list[list[float]] = []
        self._passages: list[tuple[int, str, str, str]] = []
        self._titles: dict[int, tuple[str, str]] = {}
        self._passage_count = 0
        self._file = 0
        self._order = sorted((-_prior(document), document.url) for document in index.documents())
        self._base = _shared_beginning(url for _, url in self._order)
        self._endings: dict[str, str] = {}
        self._a_file = max(_PASSAGES_A_FILE, _PASSAGES_A_FILE * len(index) // _PAGES_AT_THAT)

    def write(self) -> StaticIndex:
        known = (self._index.document(url) for _, url in self._order)
        for number, document in enumerate(each for each in known if each is not None):
            self._add(number, document)
        self._flush(is_last=True)
        average = sum(self._lengths) / max(1, len(self._lengths))
        target = max(_TERMS_BYTES, self._postings.numbers * 2 // _MOST_FILES)
        postings = ((term, self._coded(numbers, average)) for term, numbers in self._postings.merged())
        terms = self._output.put_sorted("terms", postings, target, dict)
        target = max(_WORDS_BYTES, self._words.numbers * 10 // _MOST_FILES)
        words = self._output.put_sorted("words", self._lines(), target, _texts)
        ends = self._output.put_sorted("ends", self._end_lines(), target, _texts)
        languages = [language for language, _ in self._index.languages()[:2]]
        manifest = {
            "periplus": VERSION,
            "id": self._output.hash.hexdigest(),
            "pages": len(self._lengths),
            "base": self._base,
            "units": self._a_file,
            "priors": self._levels,
            "stop": sorted({word for language in languages for word in STOP_WORDS.get(language, ())}),
            "words": words,
            "ends": ends,
            "terms": terms,
        }
        scripts = write_widget(self._output.out)
        self._output.put(_MANIFEST, manifest)
        written = sum(path.stat().st_size for path in scripts)
        return StaticIndex(
            pages=len(self._lengths),
            passages=self._passage_count,
            files=self._output.files + len(scripts),
            bytes=self._output.bytes + written,
        )

    def _add(self, number: int, document: Document) -> None:
        """Collect the postings and words of a page, and write its passages."""
        self._count_level(document)
        shown, rest = document.text[:MAX_SHOWN], document.text[MAX_SHOWN:]
        passages = passages_of(shown, [each for each in document.sections if each.offset < len(shown)])
        terms = _PageTerms(document.language or "")
        terms.add(document.title, _TITLE_TIMES, 0, is_name=True)
        titled = set(terms.counts)
        terms.add(" ".join(document.anchors), 1, 0, is_link=True)
        linked = {term for anchor in document.anchors for term in terms_of(anchor, document.language or "")}
        for place, passage in enumerate(passages):
            if passage.is_first:
                terms.add(passage.heading, _HEADING_TIMES, place, is_name=True)
            terms.add(passage.text, 1, place)
        terms.add(rest, 1, 0)
        self._lengths.append(float(terms.counts.total()))
        for place, passage in enumerate(passages):
            terms.add_names(passage, place)
        for word, term in terms.of_word.items():
            if term:
                self._count_word(word, term, word in terms.named)
        for term, times in terms.counts.items():
            units = terms.passages_of(term, self._passage_count)
            self._postings.add(term, (number, times, (term in titled) + 2 * (term in linked), len(units), *units))
        self._keep(number, document, passages)

    def _count_level(self, document: Document) -> None:
        level = _prior(document)
        if not self._levels or self._levels[-1][0] != level:
            self._levels.append([level, 0])
        self._levels[-1][1] += 1

    def _count_word(self, word: str, term: str, is_named: bool) -> None:
        weight = _NAMED if is_named else 1
        self._words.add(f"{word} {term}", (weight,))
        if not word.isascii() and (plain := without_accents(word)) != word:
            self._words.add(f"{plain} {term}", (weight,))

    def _keep(self, number: int, document: Document, passages: Sequence[StaticPassage]) -> None:
        """Keep the passages of a page for the files of texts, as far as the page lets them be shown."""
        most = MAX_PASSAGE if document.max_snippet is None else max(0, document.max_snippet)
        for passage in passages:
            self._titles[number] = (document.url.removeprefix(self._base), self._title(document))
            self._passages.append((number, passage.anchor, passage.heading, passage.text[:most]))
            self._passage_count += 1
            self._flush()

    def _title(self, document: Document) -> str:
        """The title without what all titles of the site share."""
        site = site_of(Url(document.url))
        if site not in self._endings:
            self._endings[site] = self._index.title_ending_of(site)
        return document.title.removesuffix(self._endings[site]) or document.title or document.url

    def _flush(self, *, is_last: bool = False) -> None:
        if not self._passages or (len(self._passages) < self._a_file and not is_last):
            return
        name = f"texts/{self._file // 1000}/{self._file}.json"
        titles = {str(number): each for number, each in self._titles.items()}
        self._output.put(name, {"pages": titles, "units": self._passages})
        self._passages, self._titles = [], {}
        self._file += 1

    def _coded(self, numbers: Sequence[int], average: float) -> str:
        """Postings as `static.js` reads them."""
        parts = []
        page = unit = -1
        place = 0
        while place < len(numbers):
            number, times, flags, count = numbers[place : place + 4]
            length = self._lengths[number] / average
            impact = times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length))
            level = min(_MOST_LEVEL, round(impact * _SCALE))
            parts += [_coded(number - page - 1), _SIGNS[level * 4 + flags], _coded(count)]
            page = number
            for each in numbers[place + 4 : place + 4 + count]:
                parts.append(_coded((each // 2 - unit) * 2 + each % 2))
                unit = each // 2
            place += 4 + count
        return "".join(parts)

    def _lines(self) -> Iterator[tuple[str, str]]:
        for key, weights in self._words.merged():
            word, _, term = key.partition(" ")
            weight = sum(weights)
            if weight > 1:
                self._ends.add(word[::-1], (weight,))
            yield word, f"{word} {term if term != word else ''} {weight}"

    def _end_lines(self) -> Iterator[tuple[str, str]]:
        return ((word, f"{word} {sum(weights)}") for word, weights in self._ends.merged())


def _prior(document: Document) -> float:
    """What a page counts whatever was typed: its PageRank and length; less if it is spam or lists others."""
    value = _RANK * log1p(max(0.0, document.page_rank)) - _SPAM * document.spam - _LISTING * document.is_listing
    value += _LENGTH * log1p(len(document.text) / _LETTERS)
    return round(round(value / _LEVELS) * _LEVELS, 2)


def _texts(entries: list[Entry]) -> list[str]:
    return [text for _, text in entries]


def _coded(number: int) -> str:
    signs = ""
    while number >= _HALF:
        number, digit = divmod(number, _HALF)
        signs += _SIGNS[_HALF + digit]
    return signs + _SIGNS[number]


def _shared_beginning(urls: Iterable[str]) -> str:
    """What all URLs begin with, up to a slash."""
    first, last = "", ""
    for url in urls:
        first, last = min(first or url, url), max(last, url)
    shared = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[: first.rfind("/", 0, shared) + 1]
