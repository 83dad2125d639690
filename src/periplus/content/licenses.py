"""Where a page names its licence (RSL 1.0 section 4): `link` elements, inline `script` elements, and `Link` headers."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.formats.rsl import MAX_LICENSE_BYTES, MAX_NAMED, MEDIA_TYPE, NamedLicense, header_licenses, linked_license

from .html import read_tags

_MARK = b"rsl+xml"


def named_licenses(
    body: bytes, url: str, content_type: str | None = None, link_headers: Sequence[str] = ()
) -> list[NamedLicense]:
    """The licences that a page and its headers name, in this order: header, page. Nearly all pages name none."""
    found = header_licenses(link_headers, url) if any("rsl+xml" in value.lower() for value in link_headers) else []
    if _MARK in body or _MARK.upper() in body:
        found += _in_page(body, url, content_type)
    return list(dict.fromkeys(found))[:MAX_NAMED]


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
