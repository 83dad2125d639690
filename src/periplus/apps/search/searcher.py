"""Answers queries from an engine and the file of documents: understand, find, order, cut what is shown.

One searcher is for one query; it keeps nothing but where to look and how to weigh.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from periplus.content.text_language import UNKNOWN, is_stop_word, words_of

from .analysis import terms_of
from .documents import NO_TEXTS, Documents, Record, StoredTexts
from .engine import Found, Question, SearchEngine, Weights
from .evaluation import looked_up, question_of
from .expansion import related_terms
from .names import typed_names, with_capitals_apart
from .query import Query, parse_query
from .ranking import (
    EXACT_COUNT,
    Candidate,
    Hit,
    Ranked,
    Results,
    SectionHit,
    grouped,
    rank,
    rarity,
    rounded,
    site_looked_for,
    sitelinks,
)
from .reranking import AskedTerms, reranked
from .sections import ReadPage, best_sections, best_stretch, read_pages
from .snippets import LENGTH, Snippet, snippet_of
from .spelling import corrected, with_replaced
from .term_numbers import NO_TERMS, PageTerms
from .vectors import VectorModel, similarities

_LANGUAGES = 4
"""Languages in which the words of a query are looked up."""
_COMPLETIONS = 5
"""Names that the beginning of one may stand for."""
_LEAST_PREFIX = 3
"""Letters of a word that may be the beginning of another."""
_RARE = 3
"""Documents with a word up to which it may be misspelt in them."""
_FEEDBACK_PAGES = 5
"""Pages whose words expand a query."""


class _Answer(Struct):
    """What was found for a question."""

    question: Question
    found: Found
    ranked: list[Ranked]
    asked_terms: AskedTerms
    pages: Mapping[int, PageTerms]
    """The terms of the pages that were read closely."""


Vocabulary = tuple[SearchEngine, Documents]
"""Where the documents with a term are counted."""


class Searcher:
    """Searches an index with the given weights."""

    def __init__(
        self,
        engine: SearchEngine,
        documents: Documents,
        weights: Weights,
        beside: Sequence[Vocabulary] = (),
        vectors: VectorModel | None = None,
    ) -> None:
        """`beside`: indexes, this one among them, whose results are compared: how rare a word is in all of them.

        `vectors`: what the vectors of the index were made with, if it has some.
        """
        self._engine = engine
        self._documents = documents
        self._weights = weights
        self._vocabularies = beside or [(engine, documents)]
        self._vectors = vectors

    def search(
        self, asked: Query, k: int, skip: int, *, by_time: bool = False, expand: bool = False, exact: bool = False
    ) -> Results:
        """The `k` best documents after the first `skip`."""
        if asked.is_empty:
            return Results(asked.text, (), 0, notes=(*asked.notes, "Type at least one word."))
        languages = self._languages_of(asked)
        better, is_missing = self._corrected(asked, languages)
        showing = better if is_missing and not exact else ""
        used = _with_text(asked, showing) if showing else asked
        answer = self._answer(used, languages, k + skip, by_time=by_time, expand=expand)
        shown, more = grouped(answer.ranked, skip + k)
        hits = self._hits(shown[skip:], answer, used)
        notes = list(asked.notes)
        if hits and not answer.found.total and len(answer.question.words) > 1:
            notes.append("No page has all of these words; these have some.")
        site = site_looked_for(shown, used.words) if not skip and not asked.site else ""
        return Results(
            query=asked.text,
            hits=tuple(_with_more(hits, more)),
            total=rounded(answer.found.total),
            is_exact=answer.found.total <= EXACT_COUNT,
            notes=tuple(notes),
            suggestion=better,
            showing=showing,
            sitelinks=sitelinks(self._documents.sitelinks_of(site), [hit.url for hit in hits[:1]]) if site else (),
        )

    def correction_of(self, asked: Query) -> str:
        """The query with words that are on no page replaced; empty if none is."""
        better, is_missing = self._corrected(asked, self._languages_of(asked))
        return better if is_missing else ""

    def rank(self, asked: Query, k: int, *, expand: bool = False) -> list[Candidate]:
        """The `k` best documents in order of score, without grouping by site and without snippets."""
        if asked.is_empty:
            return []
        languages = self._languages_of(asked)
        better = self.correction_of(asked)
        used = _with_text(asked, better) if better else asked
        ranked = self._answer(used, languages, k, by_time=False, expand=expand).ranked
        return [one.candidate for one in ranked[:k]]

    def _answer(self, asked: Query, languages: list[str], depth: int, *, by_time: bool, expand: bool) -> _Answer:
        weights = replace(self._weights, candidates=max(self._weights.candidates, depth))
        question = self._completed(asked, question_of(asked, languages, weights), languages)
        if len(question.words) > weights.short:
            weights = replace(weights, all_words=0.0)
        answer = self._found(asked, question, weights, by_time=by_time)
        if expand:
            related = self._related(answer)
            answer = self._found(asked, replace(question, related=related), weights, by_time=by_time)
        return answer

    def _found(self, asked: Query, question: Question, weights: Weights, *, by_time: bool) -> _Answer:
        found = self._comparable(self._engine.find(question, weights), question)
        standing = self._documents.standing_of([match.id for match in found.matches])
        candidates = [Candidate(match, *standing[match.id]) for match in found.matches if match.id in standing]
        ranked = rank(candidates, asked.words, now=time.time(), weights=weights, by_time=by_time)
        terms = AskedTerms(question.words, self._rarities(question, self._vocabularies))
        pages: dict[int, PageTerms] = {}
        if weights.reranking.results and question.words and ranked and not by_time:
            first = [one.candidate.match.id for one in ranked[: weights.reranking.results]]
            is_short = weights.all_words > 0
            pages = self._documents.terms_of(first)
            similar = self._similarities(asked, first)
            ranked = reranked(ranked, terms, pages, weights.reranking, is_short=is_short, similar=similar)
        return _Answer(question, found, ranked, terms, pages)

    def _similarities(self, asked: Query, ids: Sequence[int]) -> dict[int, float]:
        """How near pages are to the query in meaning, as far as the index knows."""
        if self._vectors is None:
            return {}
        return similarities(self._vectors.vectors_of([asked.text])[0], self._documents.vectors_of(ids))

    def _related(self, answer: _Answer) -> tuple[tuple[str, float], ...]:
        """Words of the best pages, by RM3."""
        best = answer.ranked[:_FEEDBACK_PAGES]
        ids = [one.candidate.match.id for one in best]
        records, texts = self._documents.get_many(ids), self._documents.texts_of(ids)
        pages = []
        for one in best:
            record = records[one.candidate.match.id]
            words = [
                word
                for word in words_of(texts.get(record.id, NO_TEXTS).body)
                if not is_stop_word(word, [record.language])
            ]
            pages.append((one.candidate.match.score, terms_of(" ".join(words), record.language)))
        return related_terms(pages, len(answer.question.words))

    def _comparable(self, found: Found, question: Question) -> Found:
        """What was found with scores as if the words were as rare here as in all indexes that are searched."""
        if len(self._vocabularies) < 2:
            return found
        here = sum(self._rarities(question, [(self._engine, self._documents)])) or 1.0
        scale = sum(self._rarities(question, self._vocabularies)) / here
        return Found([replace(match, score=scale * match.score) for match in found.matches], found.total)

    def _rarities(self, question: Question, vocabularies: Sequence[Vocabulary]) -> list[float]:
        total = sum(number for _, documents in vocabularies for _, number in documents.languages())
        return [rarity(_count_with(word, vocabularies), total) for word in question.words]

    def _languages_of(self, asked: Query) -> list[str]:
        """The language asked for, or those that at least one document in a hundred has, the most frequent first."""
        if asked.language:
            return [asked.language]
        counted = self._documents.languages()
        total = sum(number for _, number in counted)
        return [language for language, number in counted if number * 100 >= total][:_LANGUAGES] or [UNKNOWN]

    # words that are not there

    def _completed(self, asked: Query, question: Question, languages: list[str]) -> Question:
        """The question with names completed of which a beginning was typed."""
        words = looked_up(asked, languages)
        options: dict[str, list[str]] = {}
        names = {}
        for name in typed_names(asked.text):
            known = self._documents.names_with_prefix(name, _COMPLETIONS)
            if known and name not in known:
                typed = words_of(name)
                options[typed[-1]] = [words_of(one)[len(typed) - 1] for one in known]
                names[tuple(terms_of(name, languages[0]))] = tuple(terms_of(known[0], languages[0]))
        for word, terms in zip(words, question.words, strict=True):
            if word not in options and len(word) >= _LEAST_PREFIX and not any(map(self._engine.count_with, terms)):
                options[word] = self._documents.words_with_prefix(word, _COMPLETIONS)
        if not any(options.values()):
            return question
        more = {
            word: [term for other in others for term in terms_of(other, languages[0])]
            for word, others in options.items()
        }
        return replace(
            question,
            words=tuple(
                tuple(dict.fromkeys((*terms, *more.get(word, ()))))
                for word, terms in zip(words, question.words, strict=True)
            ),
            joined=tuple(names.get(name, name) for name in question.joined),
            names=tuple(names.get(name, name) for name in question.names),
        )

    def _corrected(self, asked: Query, languages: list[str]) -> tuple[str, bool]:
        """The query with misspelt words replaced, empty if there are none; and whether one of them is on no page."""
        question = question_of(asked, languages, self._weights)
        quoted = {word for phrase in asked.phrases for word in phrase}
        beginnings = {words_of(name)[-1] for name in typed_names(asked.text)}
        replaced: dict[str, str] = {}
        is_missing = False
        for word, terms in zip(looked_up(asked, languages), question.words, strict=True):
            number = _count_with(terms, self._vocabularies)
            if number > _RARE or word in quoted or word in beginnings or (number and self._documents.is_named(word)):
                continue
            if not number and len(word) >= _LEAST_PREFIX and self._documents.words_with_prefix(word, 1):
                continue  # the beginning of a word
            better = _apart(asked.text, word) if not number else ""
            better = better or corrected(word, self._documents.use_of, self._documents.words_like) or ""
            if better:
                replaced[word] = better
                is_missing |= not number
        return (with_replaced(asked.text, replaced), is_missing) if replaced else ("", False)

    # what is shown

    def _hits(self, shown: Sequence[Ranked], answer: _Answer, asked: Query) -> list[Hit]:
        question = answer.question
        terms = {term for word in question.words for term in word} | set(question.in_title)
        ids = [one.candidate.match.id for one in shown]
        records, texts = self._documents.get_many(ids), self._documents.texts_of(ids)
        pages = {**answer.pages, **self._documents.terms_of([id_ for id_ in ids if id_ not in answer.pages])}
        read = read_pages(answer.asked_terms, [pages.get(id_, NO_TERMS) for id_ in ids])
        endings = {site: self._documents.title_ending_of(site) for site in {one.site for one in records.values()}}
        missing = self._missing(shown, question, asked)
        return [
            self._hit(
                records[id_],
                texts.get(id_, NO_TEXTS),
                one,
                terms,
                answer.asked_terms,
                page,
                asked.text,
                endings[records[id_].site],
                tuple(word for word, lacking in missing if id_ in lacking),
            )
            for id_, one, page in zip(ids, shown, read, strict=True)
        ]

    def _missing(self, shown: Sequence[Ranked], question: Question, asked: Query) -> list[tuple[str, set[int]]]:
        """Each word that was looked up, with those of the results that do not have it."""
        partial = {one.candidate.match.id for one in shown if not one.candidate.match.has_all_words}
        words = zip(looked_up(asked, self._languages_of(asked)), question.words, strict=True) if partial else ()
        return [(word, partial - self._engine.with_word(terms, sorted(partial))) for word, terms in words]

    def _hit(
        self,
        record: Record,
        texts: StoredTexts,
        ranked: Ranked,
        terms: set[str],
        asked: AskedTerms,
        page: ReadPage,
        typed: str,
        ending: str,
        missing: tuple[str, ...],
    ) -> Hit:
        allowed = LENGTH if record.max_snippet is None else min(LENGTH, record.max_snippet)

        def cut(text: str) -> Snippet:
            return snippet_of(text, terms, record.language, allowed, typed) if allowed > 0 else Snippet("")

        body, known = texts.body, texts.sections
        best = best_sections(asked, page, known, typed) if len(asked) else []
        sections = []
        for one in best:
            snippet = Snippet("") if one.is_page else cut(body[one.section.offset : one.end if one.end >= 0 else None])
            address = record.url if one.is_page else f"{record.url}#{one.section.anchor}"
            sections.append(SectionHit(address, one.section.anchor, one.section.title, snippet.text, snippet.marks))
        if best and not best[0].is_page:
            snippet = Snippet(sections[0].snippet, sections[0].marks)
        else:
            begin, end = best_stretch(asked, page, known)
            snippet = cut(body[begin:end])
        title = record.title.removesuffix(ending) if ending else record.title
        return Hit(
            url=record.url,
            title=title or record.title or record.url,
            snippet=snippet.text or record.description[: max(0, allowed)],
            score=ranked.score,
            marks=snippet.marks,
            site=record.site,
            language=record.language,
            fetched_at=record.fetched_at,
            modified_at=record.modified_at,
            parts=ranked.parts,
            may_show_copy=not record.is_hidden,
            breadcrumbs=tuple(filter(None, record.breadcrumbs.split("\n"))),
            full_title=record.title,
            link=sections[0].url if sections else record.url,
            sections=tuple(one for one, chosen in zip(sections, best, strict=True) if not chosen.is_page),
            missing=missing,
        )


def _count_with(terms: Sequence[str], vocabularies: Sequence[Vocabulary]) -> int:
    """The number of documents with one of the terms of a word, at most."""
    return sum(engine.count_with(term) for engine, _ in vocabularies for term in terms)


def _with_text(asked: Query, text: str) -> Query:
    """The query with other words and the same conditions."""
    read = parse_query(text)
    return replace(
        asked, text=text, words=read.words, times=read.times, phrases=read.phrases, joined=read.joined, names=read.names
    )


def _apart(text: str, word: str) -> str:
    """The parts of a word that was typed with capitals inside (`HTTP Server`); empty if it was not."""
    typed = next((each for each in text.split() if each.lower() == word), word)
    apart = with_capitals_apart(typed)
    return apart if apart != typed else ""


def _with_more(hits: list[Hit], more: Mapping[str, int]) -> list[Hit]:
    """Say on the last result of each site how many more the site has."""
    last = {hit.site: place for place, hit in enumerate(hits)}
    return [
        replace(hit, more_from_site=more.get(hit.site, 0)) if last[hit.site] == place else hit
        for place, hit in enumerate(hits)
    ]
