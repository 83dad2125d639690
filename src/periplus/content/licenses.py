"""Where a page names its licence: RSL 1.0 (section 4) in `link` and inline `script` elements and `Link` headers.

Licences of Creative Commons are in links and headers of the relation `license`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from periplus.formats.rsl import (
    MAX_LICENSE_BYTES,
    MAX_NAMED,
    MEDIA_TYPE,
    NamedLicense,
    header_commons,
    header_licenses,
    linked_license,
)

from .html import read_tags

_COMMONS = b"creativecommons.org/"
_COMMENTS = re.compile(rb"<!--.*?-->", re.DOTALL)
_LINKED = re.compile(
    rb"""<(?:a|link)(?=[^<>]*\srel\s*=\s*["']?[^"'<>]*\blicense\b)[^<>]*\shref\s*=\s*["']?"""
    rb"""(https?://(?:www\.)?creativecommons\.org/[^"'\s<>]+)""",
    re.IGNORECASE,
)
_MARKS = (b"rsl+xml", b"RSL+XML")
_SEARCHED = 1 << 16
"""Bytes of a page in which licences are looked for: they are in its head."""
_MAX_SIGNS = 200
"""Plus signs that are looked at one by one: to find a single byte is ten times as fast as to find a word."""


def named_licenses(
    body: bytes, url: str, content_type: str | None = None, link_headers: Sequence[str] = ()
) -> list[NamedLicense]:
    """The licences that a page and its headers name, in this order: header, page. Nearly all pages name none."""
    found = header_licenses(link_headers, url) if any("rsl+xml" in value.lower() for value in link_headers) else []
    if _may_name(body):
        found += _in_page(body, url, content_type)
    return list(dict.fromkeys(found))[:MAX_NAMED]


def named_commons(body: bytes, url: str, link_headers: Sequence[str] = ()) -> list[NamedLicense]:
    """The licences of Creative Commons that a page and its headers name."""
    found = header_commons(link_headers, url) if any("license" in value.lower() for value in link_headers) else []
    if _COMMONS in body:
        links = _LINKED.finditer(_COMMENTS.sub(b"", body))
        found += (NamedLicense("html", match[1].decode("latin-1")) for match in links)
    return list(dict.fromkeys(found))[:MAX_NAMED]


def _may_name(body: bytes) -> bool:
    """Whether the media type of licences may be in the head of a page."""
    at, find = -1, body.find
    for _ in range(_MAX_SIGNS):
        at = find(b"+", at + 1, _SEARCHED)
        if at < 0:
            return False
        if body.startswith(_MARKS, max(at - 3, 0)):
            return True
    return any(body.find(mark, at, _SEARCHED) >= 0 for mark in _MARKS)


def _in_page(body: bytes, url: str, content_type: str | None) -> list[NamedLicense]:
    read = read_tags(body, content_type)
    found: list[NamedLicense] = []
    if read is None:
        return found
    html, listed = read
    for tag in listed.tags:
        if tag.name not in ("link", "script") or _type(tag.attributes.get("type")) != MEDIA_TYPE:
            continue
        if tag.name == "script":
            source = html[tag.start : tag.end].strip()
            if len(source) <= MAX_LICENSE_BYTES:
                found.append(NamedLicense("html", "", source))
        elif "license" in (tag.attributes.get("rel") or "").lower().split():
            named = linked_license(tag.attributes.get("href") or "", url)
            found += [named] if named is not None else []
        if len(found) >= MAX_NAMED:
            break
    return found


def _type(written: str | None) -> str:
    return (written or "").partition(";")[0].strip().lower()
