"""The URL standard, exactly: what a browser makes of a string.

Here is the parser and serialiser of https://url.spec.whatwg.org/ as one function, with every scheme, and the result as
the standard spells it. Our own, narrower form of a URL is in `canonical`.

The work is done by ada (Lemire & Nizipli, "Parsing millions of URLs per second", 2023). We call its C functions
ourselves because the Python wrapper refuses what the standard accepts: strings with lone surrogates.
"""

from __future__ import annotations

from ada_url._ada_wrapper import ffi, lib

_parse = lib.ada_parse
_parse_with_base = lib.ada_parse_with_base
_is_valid = lib.ada_is_valid
_get_href = lib.ada_get_href
_free = lib.ada_free
_buffer = ffi.buffer


def whatwg(url: str, base: str | None = None) -> str | None:
    """The serialised URL, as `new URL(url, base).href` gives it in a browser; `None` where that throws.

    A `base` that is itself no URL is a failure even for an absolute `url`, as in the standard.
    """
    raw = _encode(url)
    if base is None:
        parsed = _parse(raw, len(raw))
    else:
        raw_base = _encode(base)
        parsed = _parse_with_base(raw, len(raw), raw_base, len(raw_base))
    try:
        if not _is_valid(parsed):
            return None
        href = _get_href(parsed)
        return bytes(_buffer(href.data, href.length)).decode("ascii")
    finally:
        _free(parsed)


def _encode(text: str) -> bytes:
    """UTF-8 of a string, which may hold surrogates: pairs are joined, lone ones become U+FFFD (WebIDL `USVString`)."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
