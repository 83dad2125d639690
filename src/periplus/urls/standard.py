"""The URL standard, exactly: what a browser makes of a string.

Here is the parser and serialiser of https://url.spec.whatwg.org/ as one function, with every scheme, and the result as
the standard spells it. Our own, narrower form of a URL is in `canonical`.

The work is done by ada (Lemire & Nizipli, "Parsing millions of URLs per second", 2023), in time linear in the input.
Its one difference, shared with browsers: a host of more than 16 KiB outside ASCII is a failure.
"""

from __future__ import annotations

from ada_url import join_url, normalize_url


def whatwg(url: str, base: str | None = None) -> str | None:
    """The serialised URL, as `new URL(url, base).href` gives it in a browser; `None` where that throws.

    A `base` that is itself no URL is a failure even for an absolute `url`, as in the standard.
    """
    try:
        href: str = normalize_url(_scalars(url)) if base is None else join_url(_scalars(base), _scalars(url))
    except ValueError:
        return None
    return href


def _scalars(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, as WebIDL's `USVString` asks of every input."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
