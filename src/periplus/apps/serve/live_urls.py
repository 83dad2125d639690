"""The URLs behind a count of the live page: those that failed, were not fetched, or were refused, for one reason."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from periplus.insight.reasons import explained

from .rendering import page
from .routing import Audience, route
from .served import chosen_collection

MOST = 500
"""URLs on a page; `periplus query` has all of them."""

_SQL = {
    "errors": """
        select url, max(ended_at) as seen_at, any_value(detail) as detail from fetches
        where purpose = 'page' and (reason = $reason or (outcome = 'fetched' and 'http-' || status = $reason))
        group by url order by seen_at desc limit $most""",
    "excluded": """
        select url, max(ended_at) as seen_at, any_value(rule) as detail from fetches
        where outcome = 'excluded' and reason = $reason group by url order by seen_at desc limit $most""",
    "refused": """
        select url, max(found_at) as seen_at, any_value(rule) as detail from discoveries
        where refused = $reason group by url order by seen_at desc limit $most""",
}
KINDS = tuple(_SQL)
"""Tables of the live page whose reasons link to lists of URLs."""


def routes() -> list[Route]:
    """The route of the page, which is the same for all kinds."""
    return [route("/live/urls", _urls, audience=Audience.VIEWER, is_page=True)]


def _urls(request: Request) -> Response:
    collection = chosen_collection(request)
    kind, reason = request.query_params.get("kind", ""), request.query_params.get("reason", "")
    if kind not in _SQL:
        raise HTTPException(404, "There is no such list.")
    with collection.views() as views:
        rows: list[dict[str, Any]] = views.rows(_SQL[kind], {"reason": reason, "most": MOST})
    return page(
        request,
        "live_urls.html",
        collection=collection,
        kind=kind,
        reason=reason,
        meaning=explained(reason),
        rows=rows,
        most=MOST,
    )
