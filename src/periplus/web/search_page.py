"""The search page: a form, results with snippets, and links to the next page of them; no scripts."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .rendering import page
from .routing import Audience, Link, route
from .served import chosen_collection

NAVIGATION = (Link("Search", "/", Audience.PUBLIC),)


def routes() -> list[Route]:
    """The routes of this module."""
    return [route("/", _search, audience=Audience.PUBLIC)]


def _search(request: Request) -> Response:
    collection = chosen_collection(request)
    query = request.query_params.get("q", "")
    results = None
    if query and collection.has_index:
        with collection.index() as index:
            results = index.search(query)
    return page(request, "search.html", collection=collection, query=query, results=results)
