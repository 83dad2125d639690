"""Reads header fields: names and values, the grammar that fields share, Content-Type and Link.

The grammar of lists, tokens, quoted strings and parameters is RFC 9110 section 5. The patterns cannot fail once they
have begun, so they pass over a value once, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from periplus.urls import whatwg

LONGEST_VALUE = 65_536
"""Characters of a field's value that are looked at."""

_ELEMENT = re.compile(r'(?:[^,"]+|"(?:[^"\\]|\\.?)*"?)*', re.DOTALL)
_PARAMETER = re.compile(
    r"""[\s;]*+ (?P<name>[^\s;,="<>]++)
        (?: \s*+ = \s*+ (?: "(?P<quoted>(?:[^"\\]|\\.?)*)"? | (?P<plain>[^\s;,"]*+) ) )?""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNWRITABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Headers:
    """The fields of one response, in order, found by name in any case."""

    __slots__ = ("_by_name", "fields")

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self.fields = tuple(fields)
        by_name: dict[str, list[str]] = {}
        for name, value in self.fields:
            by_name.setdefault(name.lower(), []).append(value)
        self._by_name = by_name

    def get(self, name: str) -> str | None:
        """The first value of that name, without the white space around it."""
        values = self._by_name.get(name.lower())
        return values[0].strip() if values else None

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of that name, in order, as sent."""
        return tuple(self._by_name.get(name.lower(), ()))

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._by_name

    def __repr__(self) -> str:
        return f"Headers({self.fields!r})"


def elements(value: str) -> Iterator[str]:
    """The parts of a comma-separated list that are not empty; commas in quotes divide nothing."""
    value, start = value[:LONGEST_VALUE], 0
    while start < len(value):
        end = end_of_element(value, start)
        element = value[start:end].strip()
        if element:
            yield element
        start = end + 1


def end_of_element(value: str, start: int) -> int:
    """Where the element that begins at `start` ends: at a comma outside quotes, or with the value."""
    match = _ELEMENT.match(value, start)
    return len(value) if match is None else match.end()


def parameters(text: str, start: int = 0) -> tuple[list[tuple[str, str]], int]:
    """`name=value` pairs from `start` on, names in lower case, and the position after the last pair.

    Reading stops at a comma outside quotes, where the next element of a list begins.
    """
    found: list[tuple[str, str]] = []
    while match := _PARAMETER.match(text, start):
        quoted, plain = match["quoted"], match["plain"]
        found.append((match["name"].lower(), _ESCAPE.sub(r"\1", quoted) if quoted is not None else plain or ""))
        start = match.end()
    return found, start


def quoted(text: str) -> str:
    """A value as it may stand after `=`: bare where it is a token, else in quotes, never with a line break."""
    if _TOKEN.fullmatch(text):
        return text
    escaped = _UNWRITABLE.sub(" ", text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_ESSENCE = re.compile(r"([!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+)(?![^\s;,])", re.IGNORECASE)

_NO_PARAMETER = re.compile(r"[\s;]*+[^;]*+")


class MediaType(Struct, frozen=True):
    """`mime` is in lower case and empty where only a charset was named; `charset` is a label as sent, in lower case."""

    mime: str
    charset: str | None = None
    boundary: str | None = None


def read_content_type(values: str | Iterable[str]) -> MediaType | None:
    """The type that the server declares, from one value or all of them; `None` if none names a type or a charset.

    The grammar is RFC 9110 section 8.3, read as leniently as in the MIME Sniffing and Fetch standards: several fields
    are one list, whose last usable value wins and inherits the charset of an equal type before it, and an invalid
    parameter ends at the next semicolon. A missing semicolon, single quotes and a charset without a type are accepted
    too. `content` decides whether to believe the result.
    """
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


MOST_LINKS = 1_000
"""Links of one response that are read; more are not."""

_TARGET = re.compile(r"\s*+<([^<>]*+)>")


class WebLink(Struct, frozen=True):
    """`rel` and `hreflang` are in lower case. `anchor` is what the link leads from; empty for the response itself."""

    url: str
    rel: tuple[str, ...] = ()
    hreflang: tuple[str, ...] = ()
    type: str = ""
    media: str = ""
    title: str = ""
    anchor: str = ""


def read_links(values: str | Iterable[str], base: str = "") -> list[WebLink]:
    """Every typed link (RFC 8288) of one value or all of them whose target is a URL.

    Targets and anchors are resolved against `base`, the URL of the response; without it they stay as written. A link
    with an anchor is about that resource and not about the response. A `title*` (RFC 8187) is preferred to a `title`.
    """
    links: list[WebLink] = []
    for value in (values,) if isinstance(values, str) else values:
        value, at = value[:LONGEST_VALUE], 0
        while at < len(value) and len(links) < MOST_LINKS:
            target = _TARGET.match(value, at)
            if target is not None:
                found, at = parameters(value, target.end())
                link = _link(target[1].strip(), found, base)
                if link is not None:
                    links.append(link)
            at = end_of_element(value, at) + 1
    return links


def _link(target: str, found: list[tuple[str, str]], base: str) -> WebLink | None:
    url = whatwg(target, base) if base else target
    if url is None:
        return None
    first: dict[str, str] = {}
    for name, value in found:
        first.setdefault(name, value.strip())
    anchor = first.get("anchor", "")
    return WebLink(
        url=url,
        rel=tuple(first.get("rel", "").strip("'").lower().split()),
        hreflang=tuple(value.strip().lower() for name, value in found if name == "hreflang"),
        type=first.get("type", "").lower(),
        media=first.get("media", ""),
        title=_extended(first.get("title*", "")) or first.get("title", ""),
        anchor=(whatwg(anchor, base) or anchor) if base and anchor else anchor,
    )


def _extended(text: str) -> str:
    """`UTF-8'en'caf%C3%A9` (RFC 8187); empty for what is not in that form or in a charset that it does not allow."""
    charset, quote, rest = text.partition("'")
    _, second_quote, value = rest.partition("'")
    if not quote or not second_quote or charset.lower() not in ("utf-8", "iso-8859-1"):
        return ""
    return unquote_to_bytes(value).decode(charset, "replace")
