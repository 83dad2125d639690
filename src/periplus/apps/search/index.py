"""An index in a folder: documents go in, queries are answered.

    index = Index.open("index")
    index.add([{"url": "https://example.org/", "title": "Example", "text": "..."}])
    index.commit()
    for hit in index.search("example", k=10):
        print(hit.score, hit.url, hit.title, hit.snippet)

Terms are in an engine (`engine`), what is shown of a document in a file of its own (`documents`). The engine commits
first: after a crash between the two it knows documents that the file does not, which are left out of results, and their
source adds them again.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np
import zstandard
from msgspec import Struct

from periplus.content.text_language import language_of, plain_text, words_of
from periplus.content.vocabulary import WordTable
from periplus.engine.plugins import load_plugin
from periplus.model import CollectionDamaged, CollectionInUse, PageSection, Url, UsageError
from periplus.urls import domain_of, site_of

from . import analysis
from .analysis import terms_of, terms_of_words
from .documents import NO_TEXTS, Documents, Record, hash_of, id_of
from .engine import IndexEntry, SearchEngine, Weights
from .names import beginnings_of, defined_name, is_name, names_in, parts_of_name, without_number
from .query import Query, parse_query
from .ranking import Candidate, Results
from .searcher import Searcher, Vocabulary
from .term_numbers import DEFINITION, PageTerms, names_of, number_of_word
from .vectors import VECTORS, VectorModel, packed, passages_of

MAX_TEXT = 200_000
"""Characters of a text that are indexed; what follows is rarely prose."""
MAX_ANCHORS = 1_000
"""Texts of links to a document that are indexed."""
MAX_SECTIONS = 2_000
"""Sections of a document that are indexed."""
_SITE_IN_TITLE = re.compile(r" (?:[\u2014|]) ")
"""What the name of a site follows in a title."""
_AGAIN = "For a collection: periplus index DIR --rebuild. Else delete the folder and add the documents again."
_KEPT_WORDS = 400_000
"""Words of a language whose terms are kept: as many as stems are."""
_ADDED_AT_ONCE = 256
"""Documents handed to the engine in one call."""


class Document(Struct, frozen=True, kw_only=True):
    """A document to be indexed. Only `url` is needed; times are seconds since 1970."""

    url: str
    title: str = ""
    text: str = ""
    description: str = ""
    anchors: tuple[str, ...] = ()
    """Texts of links to it."""
    sections: tuple[PageSection, ...] = ()
    """Headings and definitions in the text, which a result may lead to."""
    is_listing: bool = False
    """Whether it mostly lists other pages."""
    language: str | None = None
    """As declared; it is checked against the text."""
    media_type: str = "text/html"
    fetched_at: float = 0.0
    modified_at: float | None = None
    breadcrumbs: tuple[str, ...] = ()
    """Its path in the site, by names."""
    page_rank: float = 1.0
    spam: float = 0.0
    max_snippet: int | None = None
    may_show_copy: bool = True


class IndexOutdated(UsageError):  # noqa: N818 - reads as what is the case
    """The index was made by other rules and must be made again."""


class Index:
    """Documents that can be searched. One process may change an index at a time, any number may search it."""

    def __init__(
        self,
        folder: Path,
        engine: SearchEngine,
        documents: Documents,
        weights: Weights,
        vectors: VectorModel | None = None,
    ) -> None:
        self.folder = folder
        self._vectors = vectors
        self._passages: list[tuple[int, list[str]]] = []
        self.weights = weights
        self._engine = engine
        self._documents = documents
        self._lock: int | None = None
        self._added: list[IndexEntry] = []
        self._words: Counter[str] = Counter()
        self._vocabularies: dict[str, WordTable] = {}
        self._named: Counter[str] = Counter()
        self._names: Counter[str] = Counter()

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        engine: str | None = None,
        weights: Weights | None = None,
        vectors: str | None = None,
    ) -> Self:
        """Open the index in a folder; an empty one is made if there is none.

        `engine` is `tantivy` or `sqlite`; by default the one the index was made with, and for a new index tantivy where
        it is installed. `vectors` names what makes vectors of passages (`wordllama`, `module:function`; empty: no
        vectors); by default what the index was made with, unless that is a function: an index runs none by itself.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        with _damage_in(place):
            documents = Documents(place / "documents.sqlite")
            made_with, made_by = documents.fact("engine"), documents.fact("analysis")
        chosen = made_with.decode() if made_with else engine or ("tantivy" if find_spec("tantivy") else "sqlite")
        if engine is not None and engine != chosen:
            raise UsageError(
                f"the index in {place} was made with {chosen}, not {engine}",
                hint="Leave the engine out, or use another folder.",
            )
        had = (documents.fact("vectors") or b"").decode()
        if vectors is not None and made_by is not None and vectors != had:
            raise IndexOutdated(f"the index in {place} was made with other vectors", hint=_AGAIN)
        if made_by is not None and int(made_by) != analysis.VERSION:
            raise IndexOutdated(f"the index in {place} was made by another version of Periplus", hint=_AGAIN)
        with _damage_in(place):
            opened = _engine(chosen, place, weights or Weights())
        chosen = ("" if ":" in had else had) if vectors is None else vectors
        return cls(place, opened, documents, weights or Weights(), _vector_model(chosen))

    def add(self, documents: Iterable[Document | Mapping[str, Any]]) -> int:
        """Add documents, or replace those with the same URL; the number of them. Searches find them after `commit`."""
        self._begin()
        number = 0
        for given in documents:
            document = given if isinstance(given, Document) else msgspec.convert(given, Document, strict=False)
            self._add(document)
            number += 1
        return number

    def delete(self, urls: Iterable[str]) -> None:
        """Remove the documents with these URLs; others are ignored."""
        self._begin()
        self._flush()
        ids = [id_of(url) for url in urls]
        with _damage_in(self.folder):
            self._engine.delete(ids)
            self._documents.delete(ids)

    def commit(self) -> None:
        """Make all changes durable and visible to searches."""
        self._begin()
        with _damage_in(self.folder):
            self._flush()
            self._engine.commit()
            self._count_words()
            self._documents.add_words(self._words, self._named)
            self._documents.add_names(self._names)
            self._words, self._named, self._names = Counter(), Counter(), Counter()
            self._documents.set_fact("engine", self._engine.name.encode())
            self._documents.set_fact("analysis", str(analysis.VERSION).encode())
            self._documents.set_fact("vectors", self._vectors.name.encode() if self._vectors else b"")
            self._documents.commit()

    def set_ranks(self, ranks: Iterable[tuple[str, float, float]]) -> None:
        """Set PageRank times the number of pages and the probability of spam, by URL; no text is indexed again."""
        self._begin()
        self._documents.set_ranks(ranks)

    def set_anchors(self, anchors: Mapping[str, Sequence[str]]) -> int:
        """Set the texts of links to documents, by URL, from the text that the index has; the number of documents set.

        A document whose text is not kept here has to be added again instead.
        """
        self._begin()
        self._flush()
        done = 0
        for url, texts in anchors.items():
            if record := self._documents.get_many([id_of(url)]).get(id_of(url)):
                changed = msgspec.structs.replace(record, anchors_hash=hash_of(texts))
                kept = self._documents.texts_of([record.id]).get(record.id, NO_TEXTS)
                self._put(changed, texts[:MAX_ANCHORS], kept.sections, kept.body)
                done += 1
        return done

    def set_sitelinks(self, links: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Set the most useful links of sites, as URL and title: shown below a home page that was looked for."""
        self._begin()
        self._documents.set_sitelinks(links)

    def pages_of_site(self, site: str) -> Iterator[tuple[str, str]]:
        """URL and title of every document of a site."""
        return self._documents.pages_of_site(site)

    def names_of_site(self, site: str) -> Iterator[tuple[str, str]]:
        """URL and last breadcrumb of every document of a site that has some."""
        return self._documents.names_of_site(site)

    def site_sizes(self) -> list[tuple[str, int]]:
        """Sites with their number of documents, the largest first."""
        return self._documents.site_sizes()

    def documents(self, at_most: int | None = None) -> Iterator[Document]:
        """Every document, or a sample of them: to make another index of the same pages."""
        ids = sorted(id_ for id_, _, _, _ in self._documents.standings())  # hashes: the first are a random sample
        return (document for id_ in ids[:at_most] if (document := self._document(id_)) is not None)

    def document(self, url: str) -> Document | None:
        """The document with this URL, if it is there."""
        return self._document(id_of(url))

    def _document(self, id_: int) -> Document | None:
        record = self._documents.get_many([id_]).get(id_)
        if record is None:
            return None
        texts = self._documents.texts_of([id_]).get(id_, NO_TEXTS)
        return Document(
            url=record.url,
            title=record.title,
            text=texts.body,
            description=record.description,
            anchors=texts.anchors,
            sections=tuple(texts.sections),
            is_listing=record.is_listing,
            language=record.language,
            media_type=record.media_type,
            fetched_at=record.fetched_at,
            modified_at=record.modified_at,
            breadcrumbs=tuple(filter(None, record.breadcrumbs.split("\n"))),
            page_rank=record.page_rank,
            spam=record.spam,
            max_snippet=record.max_snippet,
            may_show_copy=not record.is_hidden,
        )

    def title_ending_of(self, site: str) -> str:
        """What the titles of a site end with, such as ` | Example`; empty if they share nothing."""
        return self._documents.title_ending_of(site)

    def standings(self) -> dict[int, tuple[float, int, float]]:
        """When each document was fetched, `hash_of` the texts of links to it, and its PageRank, by `id_of` its URL."""
        with _damage_in(self.folder):
            return {id_: (at, anchors, page_rank) for id_, at, anchors, page_rank in self._documents.standings()}

    def urls_of(self, ids: Iterable[int]) -> list[str]:
        """The URLs of documents."""
        return self._documents.urls_of(ids)

    def search(
        self,
        query: str | Query,
        k: int = 10,
        *,
        skip: int = 0,
        by_time: bool = False,
        expand: bool = False,
        exact: bool = False,
        beside: Sequence[Index] = (),
    ) -> Results:
        """The `k` best documents after the first `skip`.

        `expand` searches a second time with words of the best documents: more of a topic, less exactly what was typed.
        `exact` corrects no word. `beside` are indexes whose results these are compared with (see `search_many`).
        """
        with _damage_in(self.folder):
            return self._searcher(beside).search(_parsed(query), k, skip, by_time=by_time, expand=expand, exact=exact)

    def correction_of(self, query: str | Query, beside: Sequence[Index] = ()) -> str:
        """The query with words replaced that neither this index nor those beside it have; empty if none can be."""
        with _damage_in(self.folder):
            return self._searcher(beside).correction_of(_parsed(query))

    def rank(self, query: str, k: int = 10, *, expand: bool = False) -> list[Candidate]:
        """The `k` best documents in order of score, without grouping by site and without snippets."""
        return self._searcher().rank(parse_query(query), k, expand=expand)

    def _searcher(self, beside: Sequence[Index] = ()) -> Searcher:
        vocabularies = [one._vocabulary for one in beside]
        return Searcher(self._engine, self._documents, self.weights, vocabularies, self._vectors)

    @property
    def _vocabulary(self) -> Vocabulary:
        return self._engine, self._documents

    def suggest(self, beginning: str, count: int = 8) -> list[str]:
        """Titles that begin with what has been typed so far."""
        prefix = " ".join(beginning.lower().split())
        return self._documents.titles_with_prefix(prefix, count) if prefix else []

    def languages(self) -> list[tuple[str, int]]:
        """Languages with their number of documents, the most frequent first."""
        return self._documents.languages()

    def __len__(self) -> int:
        return self._documents.count()

    def __contains__(self, url: str) -> bool:
        return bool(self._documents.get_many([id_of(url)]))

    def close(self) -> None:
        """Release files and locks; changes since the last commit are lost."""
        self._engine.close()
        self._documents.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> None:
        """Take the writer lock of the index."""
        if self._lock is not None:
            return
        lock = os.open(self.folder / "writer.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 32).decode("ascii", "replace").strip()
            os.close(lock)
            raise CollectionInUse(
                f"process {holder} is writing the index in {self.folder}", hint="Wait for it to end, or stop it."
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        self._lock = lock

    def _add(self, document: Document) -> None:
        text, title = document.text[:MAX_TEXT], " ".join(document.title.split())
        site, anchors = site_of(Url(document.url)), document.anchors[:MAX_ANCHORS]
        sections = [section for section in document.sections if section.offset < len(text)][:MAX_SECTIONS]
        language = language_of(text or title, document.language or "")
        moment = int(document.modified_at or document.fetched_at)
        record = Record(
            id=id_of(document.url),
            url=document.url,
            site=site,
            domain=_domain_of(site),
            language=language,
            media_type=document.media_type,
            time=moment,
            fetched_at=document.fetched_at,
            modified_at=None if document.modified_at is None else int(document.modified_at),
            title=title[:300],
            description=document.description[:500],
            is_home=_is_home(document.url),
            is_hidden=not document.may_show_copy,
            max_snippet=document.max_snippet,
            anchors_hash=hash_of(document.anchors),
            page_rank=document.page_rank,
            spam=document.spam,
            breadcrumbs="\n".join(document.breadcrumbs),
            is_listing=document.is_listing,
        )
        if self._vectors is not None:
            self._passages.append((record.id, passages_of(title, text)))
        self._put(record, anchors, sections, text, is_new=True)

    def _put(
        self,
        record: Record,
        anchors: Sequence[str],
        sections: Sequence[PageSection],
        text: str,
        *,
        is_new: bool = False,
    ) -> None:
        """Hand a document to its file and to the engine; the words of a new one are counted."""
        language = record.language
        words = self._vocabulary_of(language).read(text, [each.offset for each in sections], is_counted=is_new)
        own = [
            defined_name(each.title) if each.level == DEFINITION else without_number(each.title) for each in sections
        ]
        ids = [each.anchor if each.level == DEFINITION and is_name(each.anchor) else "" for each in sections]
        names = {*names_in(" ".join((record.title, *own))), *filter(None, ids)}
        title = without_number(_SITE_IN_TITLE.split(record.title)[0])
        title_terms, title_words = names_of([title], language)
        section_terms, section_words = names_of(own, language)
        anchor_terms, anchor_words = names_of([without_number(anchor) for anchor in anchors], language)
        page_terms = PageTerms(
            title=title_terms,
            sections=section_terms,
            ids=names_of(ids, language)[0],
            anchors=anchor_terms,
            levels=np.array([each.level for each in sections], np.uint32),
            starts=np.array(words.starts, np.uint32),
            body=np.frombuffer(words.numbers, np.uint32),
        )
        self._documents.put(record, anchors, sections, text, page_terms)
        self._named.update({*title_words, *section_words, *anchor_words})
        self._names.update(set(beginnings_of({*names, *filter(_is_one_word, own)})))
        extra = {part for name in names for part in parts_of_name(name)}
        self._added.append(
            IndexEntry(
                id=record.id,
                title=" ".join(terms_of(record.title, language)),
                anchors=" ".join(terms_of_words(anchor_words, language)),
                body=" ".join(([words.terms] if words.numbers else []) + list(terms_of_words(extra, language))),
                url_words=" ".join(words_of(record.url)),
                site=record.site,
                domain=record.domain,
                language=language,
                media_type=record.media_type,
                time=record.time,
            )
        )
        if len(self._added) >= _ADDED_AT_ONCE:
            self._flush()

    def _vocabulary_of(self, language: str) -> WordTable:
        """Its words are kept while there is room for them."""
        known = self._vocabularies.get(language)
        if known is None or len(known) > _KEPT_WORDS:
            self._count_words()
            known = WordTable(partial(number_of_word, language=language), words_of, plain_text)
            self._vocabularies[language] = known
        return known

    def _count_words(self) -> None:
        for vocabulary in self._vocabularies.values():
            self._words.update(vocabulary.take_counts())

    def _flush(self) -> None:
        if self._added:
            self._engine.add(list({entry.id: entry for entry in self._added}.values()))
            self._added = []
        if self._passages and self._vectors is not None:
            vectors = self._vectors.vectors_of([text for _, texts in self._passages for text in texts])
            ends = np.cumsum([len(texts) for _, texts in self._passages])
            of_pages = zip(self._passages, np.split(vectors, ends[:-1]), strict=True)
            self._documents.put_vectors((id_, packed(found)) for (id_, _), found in of_pages)
            self._passages = []


@contextmanager
def _damage_in(folder: Path) -> Iterator[None]:
    """Turn what an engine or SQLite raises for files that cannot be read into an error of ours."""
    try:
        yield
    except (sqlite3.DatabaseError, ValueError, OSError, zstandard.ZstdError) as error:
        raise CollectionDamaged(f"the index in {folder} cannot be read: {error}", hint=_AGAIN) from error


def _engine(name: str, folder: Path, weights: Weights) -> SearchEngine:
    if name == "sqlite":
        from .sqlite_engine import SqliteEngine

        return SqliteEngine(folder)
    try:
        from .tantivy_engine import TantivyEngine
    except ImportError:
        raise UsageError(f"{name} is not installed", hint="Install it with: pip install 'periplus[search]'") from None
    return TantivyEngine(folder / "tantivy", weights)


def _vector_model(name: str) -> VectorModel | None:
    embed = load_plugin(VECTORS, name) if name else None
    return None if embed is None else VectorModel(name, embed)


@lru_cache(maxsize=1024)
def _domain_of(site: str) -> str:
    return domain_of(site) or site


def _is_home(url: str) -> bool:
    _, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    return bool(host) and path in ("", "index.html", "index.htm", "index.php")


def _is_one_word(text: str) -> bool:
    """Whether the name of a definition is one word or more joined by punctuation, not a heading in words."""
    return bool(text) and " " not in text


def _parsed(query: str | Query) -> Query:
    return parse_query(query) if isinstance(query, str) else query
