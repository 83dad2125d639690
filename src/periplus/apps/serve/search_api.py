"""Search for programs and browsers: JSON (`/api/search`), OpenSearch, and suggestions.

`asked_of` and `answer_of` turn the parameters of a request into an answer, for this API and for the search page.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from periplus.apps.search import Hit, Query, SectionHit, Sitelink, parse_query
from periplus.apps.search.query_log import LoggedQuery
from periplus.apps.search.widget import SCRIPTS
from periplus.content.text_language import primary_language

from .metrics import counters_of
from .rendering import json_response
from .routing import Audience, Operation, Parameter, route
from .served import ServedCollection, chosen_collection, served_of

MAX_RESULTS = 50
"""Results of one answer."""
MAX_DEPTH = 200
"""Results that can be reached by paging: as many candidates as the engine ranks."""
SORTS = ("", "newest")
"""By relevance, and newest first."""
_MAX_FILTER = 300
"""Characters of a filter: longer than any host name, language or media type."""


class Asked(Struct, frozen=True):
    """The parameters of a search. Empty: no such condition."""

    text: str
    page: int = 1
    count: int = 10
    site: str = ""
    language: str = ""
    media_type: str = ""
    sort: str = ""
    exact: bool = False
    """Whether no word is corrected."""

    @property
    def query(self) -> Query:
        """What was typed, with the conditions of the form."""
        typed = parse_query(self.text)
        return replace(
            typed,
            site=self.site.lower() or typed.site,
            language=primary_language(self.language) or typed.language,
            media_type=self.media_type.lower() or typed.media_type,
        )


class Found(Struct, frozen=True):
    """One result. `marks` are the places of the words in the snippet, as pairs of characters from and to."""

    url: str
    title: str
    snippet: str
    marks: tuple[tuple[int, int], ...]
    site: str
    lang: str
    fetched_at: datetime | None
    modified_at: datetime | None
    score: float
    more_from_site: int
    has_copy: bool
    """Whether `/cached` may show it."""
    breadcrumbs: tuple[str, ...]
    """The path of the page in its site by names, where the page says it."""
    link: str
    """Where the result leads: its best section, or the page."""
    sections: tuple[SectionHit, ...] = ()
    """The best sections of the page, the best first."""
    missing: tuple[str, ...] = ()
    """The words that were looked for and that the page does not have."""
    parts: Mapping[str, float] = {}
    """What adds up to the score; only with `explain=1`, which needs an operator."""


class Answer(Struct, frozen=True):
    """The results of one page of a search."""

    query: str
    notes: tuple[str, ...]
    total: int
    """Pages that have every word; `is_exact` says whether each was counted."""
    is_exact: bool
    took_ms: float
    page: int
    has_next: bool
    results: tuple[Found, ...]
    sitelinks: tuple[Sitelink, ...]
    suggestion: str
    """The query with misspelt words replaced; empty if none seems misspelt."""
    corrected: str = ""
    """What the results are of, if it is not what was typed, because a word of that is on no page."""


def asked_of(request: Request) -> Asked:
    """The parameters of a search; 400 if one is out of range."""
    values = request.query_params
    asked = Asked(
        text=" ".join(values.get("q", "").split()),
        page=_number(values, "page", 1, MAX_DEPTH),
        count=_number(values, "n", 10, MAX_RESULTS),
        site=_filter(values, "site"),
        language=_filter(values, "lang"),
        media_type=_filter(values, "type"),
        sort=values.get("sort", ""),
        exact=values.get("exact", "") == "1",
    )
    if asked.sort not in SORTS:
        raise HTTPException(400, "sort must be empty or newest.")
    if asked.page * asked.count > MAX_DEPTH:
        raise HTTPException(400, f"Only the first {MAX_DEPTH} results can be shown; page times n must not be larger.")
    return asked


def answer_of(collection: ServedCollection, asked: Asked, *, explains: bool = False) -> Answer:
    """Search a collection. `explains` adds the parts of each score."""
    began = time.perf_counter()
    with collection.index() as index:
        results = index.search(
            asked.query,
            asked.count + 1,
            skip=(asked.page - 1) * asked.count,
            by_time=asked.sort == "newest",
            exact=asked.exact,
        )
    took = (time.perf_counter() - began) * 1000
    counters_of(collection).search(took / 1000)
    if asked.page == 1 and (log := collection.query_log) is not None:
        log.add(LoggedQuery(time.time(), asked.text, results.total, results.showing))
    hits = _without_next(results.hits, asked.count)
    has_next = len(results.hits) > asked.count and (asked.page + 1) * asked.count <= MAX_DEPTH
    shows_copies = collection.shows_copies
    return Answer(
        query=asked.text,
        notes=results.notes,
        total=results.total,
        is_exact=results.is_exact,
        took_ms=round(took, 2),
        page=asked.page,
        has_next=has_next,
        results=tuple(_found(hit, explains, shows_copies) for hit in hits),
        sitelinks=results.sitelinks if asked.page == 1 else (),
        suggestion=results.suggestion,
        corrected=results.showing,
    )


def _without_next(hits: tuple[Hit, ...], count: int) -> list[Hit]:
    """The results of this page; the count of more results in the next hit is added to the last hit of its site."""
    shown = list(hits[:count])
    if len(hits) > count:
        following = hits[count]
        for place in reversed(range(count)):
            if shown[place].site == following.site:
                shown[place] = replace(shown[place], more_from_site=following.more_from_site + 1)
                break
    return shown


def _found(hit: Hit, explains: bool, shows_copies: bool) -> Found:
    return Found(
        url=hit.url,
        title=hit.title,
        snippet=hit.snippet,
        marks=hit.marks,
        site=hit.site,
        lang=hit.language,
        fetched_at=_time(hit.fetched_at),
        modified_at=_time(hit.modified_at),
        score=round(hit.score, 4),
        more_from_site=hit.more_from_site,
        has_copy=hit.may_show_copy and shows_copies,
        breadcrumbs=hit.breadcrumbs,
        link=hit.link,
        sections=hit.sections,
        missing=hit.missing,
        parts={name: round(part, 4) for name, part in hit.parts.items()} if explains else {},
    )


def _time(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(int(seconds), UTC) if seconds else None


def _number(values: Mapping[str, Any], name: str, default: int, largest: int) -> int:
    text = values.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= largest and len(text) <= 6):
        raise HTTPException(400, f"{name} must be a number from 1 to {largest}.")
    return int(text)


def _filter(values: Mapping[str, Any], name: str) -> str:
    text = str(values.get(name, "")).strip()
    if len(text) > _MAX_FILTER or not text.isprintable():
        raise HTTPException(400, f"{name} must have at most {_MAX_FILTER} printable characters.")
    return text


COLLECTION = Parameter("collection", "The name of a collection; by default the first.")
_SUGGESTIONS = 8
_MAX_BEGINNING = 100
"""Characters of which suggestions are looked up."""
_DESCRIPTION_TYPE = "application/opensearchdescription+xml"
_SUGGESTION_TYPE = "application/x-suggestions+json"
_DESCRIPTION = """\
<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>{name}</ShortName>
<Description>Search {name}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Url type="text/html" template="{base}/?q={{searchTerms}}{collection}"/>
<Url type="application/json" template="{base}/api/search?q={{searchTerms}}{collection}"/>
<Url type="application/x-suggestions+json" template="{base}/suggest?q={{searchTerms}}{collection}"/>
</OpenSearchDescription>
"""


def routes() -> list[Route]:
    """The routes of this module."""
    return [
        route(
            "/api/search",
            _search,
            audience=Audience.PUBLIC,
            is_shared=True,
            operation=Operation(
                "Search a collection.",
                (
                    Parameter("q", 'What to search for: words, "a phrase", -word, site:, lang:.', is_required=True),
                    Parameter("n", f"Results of a page, 1 to {MAX_RESULTS}; by default 10.", "integer"),
                    Parameter("page", "Which page of results, from 1.", "integer"),
                    Parameter("site", "Only pages of this host or registrable domain."),
                    Parameter("lang", "Only pages in this language, such as en."),
                    Parameter("type", "Only pages of this media type."),
                    Parameter("sort", "newest: the newest pages first; by default the best."),
                    Parameter("exact", "1: search for what was typed, although a word of it is on no page.", "integer"),
                    Parameter("explain", "1: show what adds up to each score; needs an operator.", "integer"),
                    COLLECTION,
                ),
                Answer,
            ),
        ),
        *(route(path, _script, audience=Audience.ANYONE, is_shared=True, name=path[1:]) for path in SCRIPTS),
        route(
            "/opensearch.xml",
            _description,
            audience=Audience.PUBLIC,
            operation=Operation("The search in OpenSearch, for browsers.", (COLLECTION,), _DESCRIPTION_TYPE),
        ),
        route(
            "/suggest",
            _suggest,
            audience=Audience.PUBLIC,
            is_shared=True,
            operation=Operation(
                "Completions of what was typed, as OpenSearch has them: the text, and a list.",
                (Parameter("q", "The beginning of a query.", is_required=True), COLLECTION),
                _SUGGESTION_TYPE,
            ),
        ),
    ]


def _search(request: Request) -> Response:
    collection, asked = chosen_collection(request), asked_of(request)
    explains = request.query_params.get("explain", "") == "1"
    if explains and request.state.audience < Audience.OPERATOR:
        raise HTTPException(403, "explain=1 needs the token of an operator.")
    if not asked.text:
        raise HTTPException(400, "q is missing: what to search for.")
    if not collection.has_index:
        raise HTTPException(503, "This collection has no index yet.")
    return json_response(answer_of(collection, asked, explains=explains))


def _script(request: Request) -> Response:
    """The search box for other pages."""
    return FileResponse(
        SCRIPTS[request.url.path], media_type="text/javascript", headers={"cache-control": "public, max-age=3600"}
    )


def _description(request: Request) -> Response:
    """What a browser needs to know to add this search."""
    served, collection = served_of(request), chosen_collection(request)
    base = served.settings.public_url.rstrip("/") or f"{request.url.scheme}://{request.headers.get('host', '')}"
    named = "" if collection is served.first else f"&collection={collection.name}"
    text = _DESCRIPTION.format(
        name=escape(collection.name[:16]), base=escape(base, _QUOTES), collection=escape(named, _QUOTES)
    )
    return Response(text, media_type=_DESCRIPTION_TYPE)


def _suggest(request: Request) -> Response:
    """Titles that begin with what was typed, in the form of OpenSearch: the text, and a list."""
    collection = chosen_collection(request)
    typed = request.query_params.get("q", "")[:_MAX_BEGINNING]
    found: list[str] = []
    if typed.strip() and collection.has_index:
        with collection.index() as index:
            found = index.suggest(typed, _SUGGESTIONS)
    return json_response([typed, found], media_type=_SUGGESTION_TYPE)


_QUOTES = {'"': "&quot;"}
