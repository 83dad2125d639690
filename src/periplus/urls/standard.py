"""The URL standard: what a browser makes of a string.

Here is the parser and serialiser of https://url.spec.whatwg.org/ as one function, with every scheme, and the result as
the standard spells it. Our own, narrower form of a URL is in `canonical`.

The work is done by ada (Lemire & Nizipli, "Parsing millions of URLs per second", 2023), in time linear in the input.
It sets one bound that the standard does not: a host of more than 16 KiB that is not plain ASCII is a failure.
"""

from __future__ import annotations

from ada_url import join_url, normalize_url

from .legacy import with_query_in

_ENCODED = ("http:", "https:", "ftp:", "file:")
"""The schemes whose queries are in the encoding of the document."""


def whatwg(url: str, base: str | None = None, encoding: str = "utf-8") -> str | None:
    """The serialised URL, as `new URL(url, base).href` gives it in a browser; `None` where that throws.

    A `base` that is itself no URL is a failure even for an absolute `url`, as in the standard. `encoding` is that of
    the document in which the URL was found (see `legacy`).
    """
    url = _scalars(url)
    if base is not None:
        base = _scalars(base)
    href = _parse(url, base)
    if href is None or url.isascii() or not href.startswith(_ENCODED):
        return href
    encoded = with_query_in(url, encoding)
    return href if encoded == url else _parse(encoded, base)


def _parse(url: str, base: str | None) -> str | None:
    try:
        href: str = normalize_url(url) if base is None else join_url(base, url)
    except ValueError:
        return None
    return href


def _scalars(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, as WebIDL's `USVString` asks of every input."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
