"""The search page: a form, results with snippets, and links to the next page of them; no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .rendering import page
from .routing import Audience, Link, route
from .search_api import Asked, answer_of, asked_of
from .served import ServedCollection, chosen_collection

_MOST_SITES = 100
"""Sites that one can choose from; where there are more, the name is typed, and these are suggested."""

NAVIGATION = (Link("Search", "/", Audience.PUBLIC),)


def routes() -> list[Route]:
    """The routes of this module."""
    return [route("/", _search, audience=Audience.PUBLIC, is_page=True)]


def _search(request: Request) -> Response:
    collection, asked = chosen_collection(request), asked_of(request)
    is_operator = request.state.audience >= Audience.OPERATOR
    explains = is_operator and request.query_params.get("explain") == "1"
    has_index = collection.has_index
    answer = answer_of(collection, asked, explains=explains) if asked.text and has_index else None
    return page(
        request,
        "search.html",
        collection=collection,
        asked=asked,
        answer=answer,
        has_index=has_index,
        languages=_languages(collection) if has_index else [],
        sites=collection.sites()[: _MOST_SITES + 1] if has_index else [],
        most_sites=_MOST_SITES,
        parameters=_parameters(asked, explains),
        explains=explains,
        marked=marked,
        trail=trail,
    )


def _languages(collection: ServedCollection) -> list[str]:
    """Languages to choose from, the most frequent first; unknown ones are not a choice."""
    return [language for language in collection.languages() if len(language) == 2 and language != "xx"]


def _parameters(asked: Asked, explains: bool) -> dict[str, object]:
    """What links to other pages of the results keep."""
    return {
        "q": asked.text,
        "n": asked.count if asked.count != 10 else "",
        "site": asked.site,
        "lang": asked.language,
        "type": asked.media_type,
        "sort": asked.sort,
        "exact": "1" if asked.exact else "",
        "explain": "1" if explains else "",
    }


def trail(url: str, breadcrumbs: Sequence[str] = ()) -> str:
    """A URL as people read it: the host and the names of its path, or its folders, without what every address has."""
    parts = urlsplit(url)
    if breadcrumbs:
        return " \u203a ".join([parts.netloc.removeprefix("www."), *breadcrumbs])
    folders = [unquote(part) for part in parts.path.split("/") if part]
    return " \u203a ".join([parts.netloc.removeprefix("www."), *folders]) + (f"?{parts.query}" if parts.query else "")


def marked(text: str, marks: Sequence[tuple[int, int]]) -> Markup:
    """A snippet with the words that were looked for in `<mark>`; everything else is escaped."""
    parts, place = [], 0
    for start, end in marks:
        if start < place:
            continue
        parts += [escape(text[place:start]), Markup("<mark>"), escape(text[start:end]), Markup("</mark>")]
        place = end
    return Markup("").join([*parts, escape(text[place:])])
