"""Content-Type: the type that the server declares.

The grammar is RFC 9110 section 8.3; the lenience is the MIME Sniffing and Fetch standards' (several fields are one
list, whose last usable value wins, and inherits the charset of an equal type before it; what is not a parameter ends at
the next semicolon) and that of what servers really send: a missing semicolon, single quotes, a charset and no type.
Whether to believe it is for `content` to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from .fields import elements, parameters

_ESSENCE = re.compile(r"([!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+)(?![^\s;,])", re.IGNORECASE)

_NO_PARAMETER = re.compile(r"[\s;]*+[^;]*+")


class MediaType(Struct, frozen=True):
    """`mime` is in lower case and empty where only a charset was named; `charset` is a label as sent, in lower case."""

    mime: str
    charset: str | None = None
    boundary: str | None = None


def read_content_type(values: str | Iterable[str]) -> MediaType | None:
    """One value or all of them; `None` if none names a type or a charset."""
    best: MediaType | None = None
    for element in elements(values if isinstance(values, str) else ", ".join(values)):
        best = _prefer(_read_one(element), best)
    return best


def _read_one(element: str) -> MediaType | None:
    essence = _ESSENCE.match(element)
    named: dict[str, str] = {}
    for name, value in _all_parameters(element, essence.end() if essence else 0):
        value = value.strip().strip("'").strip()
        if value:
            named.setdefault(name, value)
    charset = named["charset"].lower() if "charset" in named else None
    if essence is None and charset is None:
        return None
    return MediaType(essence[1].lower() if essence else "", charset, named.get("boundary"))


def _all_parameters(element: str, start: int) -> Iterator[tuple[str, str]]:
    """The parameters, also those behind a semicolon that follows something else."""
    while start < len(element):
        found, end = parameters(element, start)
        yield from found
        start = _NO_PARAMETER.match(element, end).end()  # type: ignore[union-attr]  # an empty match is a match


def _prefer(later: MediaType | None, earlier: MediaType | None) -> MediaType | None:
    """Fetch, "extract a MIME type": the later value unless it says nothing; a charset outlives an equal type."""
    if later is None or earlier is None:
        return later or earlier
    if later.mime == "*/*":
        return earlier
    if later.mime == "":
        return MediaType(earlier.mime, earlier.charset or later.charset, earlier.boundary)
    if later.mime == earlier.mime and later.charset is None:
        return MediaType(later.mime, earlier.charset, later.boundary or earlier.boundary)
    return later
