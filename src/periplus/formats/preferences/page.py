"""All that a page says about its use, in its headers and in its head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ...model import NO_PREFERENCES, Directives, Preference, Preferences
from .content_signal import read_content_signal
from .content_usage import read_content_usage
from .tdmrep import read_reservation

HEADER_NAMES: Final = frozenset({"content-usage", "content-signal", "tdm-reservation", "tdm-policy"})
"""The headers of a response that are about use, in lower case."""
MAX_STATEMENT: Final = 200
"""Characters of a statement that are kept in `said_by`."""
MAX_HEADERS: Final = 16
"""Headers about use that are read of one response."""


def preference_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The headers of a response that are about use, their names in lower case."""
    found = [(name.lower(), value) for name, value in headers if len(name) in _LENGTHS and name.lower() in HEADER_NAMES]
    return tuple(found[:MAX_HEADERS])


_LENGTHS: Final = frozenset(map(len, HEADER_NAMES))


def of_page(
    headers: Sequence[tuple[str, str]], metas: Mapping[str, Sequence[str]], directives: Directives
) -> Preferences:
    """The preferences of a page, by its headers (see `preference_headers`), meta elements and directives.

    A list of structured fields may be sent in parts, which are one dictionary (RFC 9651 section 4.2).
    """
    found = _of_directives(directives)
    usage = ", ".join(value for name, value in headers if name == "content-usage")
    if usage:
        found = found.and_also(read_content_usage(usage, statement("header", "Content-Usage", usage)))
    for name, value in headers:
        if name == "content-signal":
            found = found.and_also(read_content_signal(value, statement("header", "Content-Signal", value)))
    return found.and_also(_reservation(headers, metas)) if headers or "tdm-reservation" in metas else found


def statement(place: str, name: str, value: str) -> str:
    """A statement as it is kept: where it was made, and what it says."""
    return f"{place} {name}: {value}"[:MAX_STATEMENT]


def _reservation(headers: Sequence[tuple[str, str]], metas: Mapping[str, Sequence[str]]) -> Preferences:
    """TDMRep: what the page says precedes what its headers say."""
    policies = [*metas.get("tdm-policy", ()), *(value for name, value in headers if name == "tdm-policy")]
    policy = f", {policies[0].strip()}" if policies else ""
    own = [("meta", value) for value in metas.get("tdm-reservation", ())]
    sent = [("header", value) for name, value in headers if name == "tdm-reservation"]
    for place, value in own + sent:
        read = read_reservation(value, statement(place, "tdm-reservation", value.strip() + policy))
        if read is not NO_PREFERENCES:
            return read
    return NO_PREFERENCES


def _of_directives(directives: Directives) -> Preferences:
    """`noai` is about training; `noimageai` is about the pictures of a page, and is only kept as a statement."""
    if not (directives.noai or directives.noimageai):
        return NO_PREFERENCES
    said = tuple(word for word in ("noai", "noimageai") if getattr(directives, word))
    return Preferences(train=Preference.DISALLOW if directives.noai else Preference.UNKNOWN, said_by=said)
