"""The texts of a sitemap's fields as values: URLs, dates, frequencies, priorities, numbers.

Both readers of records, the fast and the careful one, end here, so that a field means the same whichever read it.
Reasons: "relative-url" (made absolute, or dropped where it cannot be), "bad-lastmod", "odd-lastmod" (no W3C date, but
read as another), "bad-changefreq", "bad-priority" (also reported for `0,8`, which is read), "bad-value" (numbers and
dates of extensions; also reported for quotes around a URL, which are removed), "bare-ampersand", "bad-entity" (unknown;
left as written), "entity-refused" (entities that a document defines itself are never expanded: no billion laughs, no
reading of files), "too-long".
"""

from __future__ import annotations

import re
from functools import lru_cache
from html.entities import html5

from periplus.model import ChangeFreq, Lastmod
from periplus.urls import whatwg

from ..dates import read_any, read_w3c
from .outbox import Outbox
from .values import Limits

_ODD = "\u200b\u2060\ufeff"
EDGES = "".join(filter(str.isspace, map(chr, range(0x3001)))) + _ODD
"""White space of every script, and the characters without width that editors leave behind."""

ODD = re.compile(f"[{_ODD}]")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:")
QUOTED = re.compile(
    r"""["'<\u201c\u2018]\s*+([A-Za-z][A-Za-z0-9+.-]*+:[^\s"'<>\u201c-\u201d]++)\s*+["'>\u201d\u2019]"""
)
_ORIGIN = re.compile(r"(https?)://([^/?#@]++)", re.IGNORECASE)
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3}){1,4}", re.ASCII)
_REFERENCE = re.compile(r"(&(?:#(?:[0-9]{1,10}|[xX][0-9A-Fa-f]{1,8})|[A-Za-z_][\w.-]{0,40});|&+(?=&)|&)")
_PREDEFINED = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
_NUMBER = re.compile(r"[0-9]{0,12}(?:\.[0-9]{0,400})?", re.ASCII)
_FREQUENCIES = {frequency.value: frequency for frequency in ChangeFreq}
_FLAGS = {"yes": True, "true": True, "y": True, "1": True, "no": False, "false": False, "n": False, "0": False}


class EntityRefusedError(Exception):
    """A text refers to an entity that the document defines itself; it has no value then."""


class NotRegularError(Exception):
    """Something that a more careful reader should see."""


class Fields:
    """Reads the fields of one document, relative to its `url`, and complains to its outbox."""

    def __init__(self, url: str, outbox: Outbox, limits: Limits) -> None:
        self.complain = outbox.complain
        self.limits = limits
        self._base = url
        origin = _ORIGIN.match(url)
        self._scheme = origin[1] if origin else ""
        self._hosts = ("www.", f"{origin[2].lower()}/") if origin else ()
        self._refuses_entities = False

    def refuse_entities(self) -> None:
        """From here on, what is not one of XML's five is not looked up: the document defines its own."""
        self._refuses_entities = True

    def decoded(self, raw: str) -> str:
        """Text between tags with its references resolved, and lines ended as XML 1.0 section 2.11 says."""
        if "\r" in raw:
            raw = raw.replace("\r\n", "\n").replace("\r", "\n")
        if "&" not in raw:
            return raw
        try:
            return clean_text(raw)
        except NotRegularError:
            return _REFERENCE.sub(self._resolved, raw)

    def _resolved(self, match: re.Match[str]) -> str:
        reference = match[0]
        if reference[-1] == "&":
            self.complain("bare-ampersand", match.string[match.start() : match.start() + 40])
            return reference
        if reference in _PREDEFINED:
            return _PREDEFINED[reference]
        if reference[1] == "#":
            return self._character(reference)
        if self._refuses_entities:
            raise EntityRefusedError(reference)
        known = html5.get(reference[1:])
        self.complain("bad-entity", reference)
        return reference if known is None else known

    def _character(self, reference: str) -> str:
        character = _character(reference)
        if not character:
            self.complain("bad-entity", reference)
        return character or "\ufffd"

    def url(self, text: str, base: str = "") -> str | None:
        """An absolute URL, spelled as it was; `None` for nothing, or nothing that could be one.

        A relative one is relative to `base`, where the document names one.
        """
        text = text.strip(EDGES)
        if len(text) > self.limits.text:
            self.complain("too-long", text)
            return None
        if not text or _ABSOLUTE.match(text):
            return text or None
        if quoted := QUOTED.fullmatch(text):
            self.complain("bad-value", text)
            return quoted[1]
        self.complain("relative-url", text)
        if text.lower().startswith(self._hosts):  # no folder is called `www.`: only the scheme is missing
            return f"{self._scheme}://{text}"
        return self.resolved(text, base)

    def resolved(self, text: str, base: str = "") -> str | None:
        """A relative URL made absolute, if that can be done."""
        base = base or self._base
        return whatwg(text, base) if base else None

    def lastmod(self, text: str) -> Lastmod | None:
        """A W3C date, or one in a form that is common enough to be understood."""
        text = text.strip(EDGES)
        if not text:
            return None
        lastmod = read_w3c(text)
        if lastmod is None:
            lastmod = read_any(text)
            self.complain("bad-lastmod" if lastmod is None else "odd-lastmod", text)
        return lastmod

    def feed_date(self, text: str) -> Lastmod | None:
        """A date as feeds write it."""
        text = text.strip(EDGES)
        date = read_any(text)
        if date is None and text:
            self.complain("bad-lastmod", text)
        return date

    def changefreq(self, text: str) -> ChangeFreq | None:
        """One of the seven words, in any letter case."""
        text = text.strip(EDGES)
        frequency = _FREQUENCIES.get(text.lower())
        if frequency is None and text:
            self.complain("bad-changefreq", text)
        return frequency

    def priority(self, text: str) -> float | None:
        """A number from 0 to 1; a decimal comma is read as a point."""
        text = text.strip(EDGES)
        if not text:
            return None
        priority = _number(text)
        if priority is None or priority > 1:
            self.complain("bad-priority", text)
            return None
        if "," in text:
            self.complain("bad-priority", text)
        return priority

    def text(self, text: str) -> str | None:
        """A text without the white space around it; `None` for an empty one."""
        text = text.strip(EDGES)
        if len(text) > self.limits.text:
            self.complain("too-long", text)
            text = text[: self.limits.text]
        return text or None

    def words(self, text: str, separator: str | None = ",") -> tuple[str, ...]:
        """A list in one text."""
        words = (word.strip(EDGES) for word in text[: self.limits.text].split(separator))
        return tuple(word for word in words if word)

    def number(self, text: str) -> float | None:
        """A number that is not negative."""
        text = text.strip(EDGES)
        number = _number(text) if text else None
        if number is None and text:
            self.complain("bad-value", text)
        return number

    def integer(self, text: str) -> int | None:
        """A whole number that is not negative, with commas between the thousands or not."""
        text = text.strip(EDGES)
        number = self.number(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
        return None if number is None else int(number)

    def flag(self, text: str) -> bool | None:
        """Parse a yes or no."""
        text = text.strip(EDGES)
        flag = _FLAGS.get(text.lower())
        if flag is None and text:
            self.complain("bad-value", text)
        return flag

    def date(self, text: str) -> Lastmod | None:
        """The date of an extension."""
        text = text.strip(EDGES)
        date = read_any(text)
        if date is None and text:
            self.complain("bad-value", text)
        return date


def clean_text(raw: str) -> str:
    """A text with its references resolved, if there is nothing to say against any; else raises `NotRegularError`.

    The text is split at its references: a call for each would cost a hundred times what reading their letters does.
    """
    if raw.count("&") == raw.count("&amp;"):
        return raw.replace("&amp;", "&")
    parts = _REFERENCE.split(raw)
    parts[1::2] = map(_clean_reference, parts[1::2])
    return "".join(parts)


@lru_cache(maxsize=4096)
def _clean_reference(reference: str) -> str:
    character = _PREDEFINED.get(reference) or (_character(reference) if reference.startswith("&#") else "")
    if not character:
        raise NotRegularError
    return character


def _character(reference: str) -> str:
    """The character that a number stands for; nothing if there is none."""
    digits = reference[2:-1]
    code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    return chr(code) if 0 < code < 0xD800 or 0xE000 <= code < 0x110000 else ""


def clean_changefreq(text: str) -> ChangeFreq | None:
    """A `changefreq` that there is nothing to say against."""
    return _FREQUENCIES.get(text.strip().lower())


def clean_priority(text: str) -> float | None:
    """A `priority` that there is nothing to say against."""
    priority = None if "," in text else _number(text.strip())
    return None if priority is None or priority > 1 else priority


def _number(text: str) -> float | None:
    text = text.replace(",", ".", 1)
    if text.strip(".") and _NUMBER.fullmatch(text):
        return float(text)
    return None
