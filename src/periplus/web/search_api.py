"""Search for programs and browsers: JSON, OpenSearch, suggestions."""

from __future__ import annotations

from xml.sax.saxutils import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .rendering import json_response
from .routing import Audience, Operation, Parameter, route
from .search_answer import MAX_RESULTS, Answer, answer_of, asked_of
from .served import chosen_collection, served_of

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
                    Parameter("explain", "1: show what adds up to each score; needs an operator.", "integer"),
                    COLLECTION,
                ),
                Answer,
            ),
        ),
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
