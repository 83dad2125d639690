"""Pages from templates, and JSON from values.

Templates are in `pages/`; everything is escaped unless a template says otherwise, which none does with what came from
the web. Besides the values that are given, a template has:

- `request`, its `audience`, `Audience`, `collection` (the one that is shown) and `collections` (all names);
- `navigation`, the links that this audience may follow;
- `link(path, **parameters)`, a path with parameters that keeps the collection, for every link to our own pages;
- `outside(url)`, a URL from the web as a target of `href`: `#` unless it is http or https. Such links have
  `rel="noopener nofollow noreferrer"`;
- `csrf_field()`, a hidden field for forms that are posted;
- filters: `number` (1,234), `moment` (seconds since 1970 or a datetime, as UTC), `bytes` (1.2 MB), `breakable` (a URL
  that breaks after its slashes).
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from periplus.view.html import breakable

from .auth import Audience, auth_of
from .routing import CSRF_FIELD
from .served import ServedCollection, served_of

HERE = Path(__file__).parent
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def page(
    request: Request, template: str, *, status: int = 200, collection: ServedCollection | None = None, **values: object
) -> HTMLResponse:
    """Render a template of `pages/`. `collection` is the one that the page is about, by default the first."""
    served = served_of(request)
    shown = collection or served.first
    audience = getattr(request.state, "audience", Audience.ANYONE) or auth_of(request).visitor(request)

    def link(path: str, **parameters: object) -> str:
        given = {name: value for name, value in parameters.items() if value not in (None, "", False)}
        if shown is not served.first:
            given["collection"] = shown.name
        return f"{path}?{urlencode(given)}" if given else path

    def csrf_field() -> Markup:
        token = auth_of(request).csrf_token(request)
        return Markup('<input type="hidden" name="{}" value="{}">').format(CSRF_FIELD, token)

    text = _TEMPLATES.get_template(template).render(
        request=request,
        audience=audience,
        Audience=Audience,
        collection=shown,
        collections=tuple(served.collections),
        navigation=[each for each in request.app.state.navigation if audience >= each.audience],
        needs_token=auth_of(request).needs_token,
        link=link,
        outside=outside,
        csrf_field=csrf_field,
        **values,
    )
    return HTMLResponse(text, status)


def json_response(value: object, status: int = 200, media_type: str = "application/json") -> Response:
    """A msgspec value, or plain values, as JSON."""
    return Response(msgspec.json.encode(value), status, media_type=media_type)


def outside(url: str) -> str:
    """A URL from the web as the target of a link; `#` if it is not http or https."""
    return url if url.lower().startswith(("http://", "https://")) else "#"


def number(value: float | None) -> str:
    """A number with commas between thousands; a dash if it is unknown."""
    return "–" if value is None else f"{value:,}"


def moment(value: float | datetime | None) -> str:
    """A time in UTC, to the minute; a dash if it is unknown."""
    if value is None:
        return "–"
    when = value if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def size(value: float | None) -> str:
    """Bytes in the largest unit that leaves a number of at least 1."""
    if value is None:
        return "–"
    place = 0
    while value >= 1000 and place < len(_UNITS) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.0f} {_UNITS[place]}" if place == 0 else f"{value:.1f} {_UNITS[place]}"


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": number, "moment": moment, "bytes": size}
    made.filters["breakable"] = lambda url: Markup(breakable(url))  # noqa: S704 - it escapes
    return made


_TEMPLATES: Any = _environment()
