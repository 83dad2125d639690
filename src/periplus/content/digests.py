"""Digests of a page at several depths, by which changes are detected.

Of each visit four digests are kept (XXH3, 64 bits: each is compared with one other value and never searched for). Main
texts are compared with volatile words masked (`masked`), so that a clock or counter that moved does not count.

The main text depends on the rule that extracts it. The digest of the main text, the sketch and `versions.version_of`
therefore carry the number of that rule, `TEXT_RULE`. Texts of two rules are never compared: their digests differ, their
sketches resemble each other by chance only, and `changes.difference` decides by heading and links.

SimHash (Charikar 2002; Manku, Jain & Das Sarma 2007) is not used: it costs as much as the digests and the sketch
together, and on a page of 300 words it exceeds its distance of 3 bits when one word in a hundred changes. The sketch,
which is computed anyway, is more exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xxhash import xxh3_64_intdigest

from periplus.model import Digests, Links, Url

from .scan import READER
from .scan.columns import TEXT_RULE, VALUES


def masked(data: bytes) -> bytes:
    """A text in UTF-8 with every volatile word masked: words that change although the page has not changed.

    Masked are clock times ("12:30:05 pm"), dates in figures ("2026-11-14T12:30Z", "14/11/2026") and with the name of a
    month and a year ("Saturday, November 14, 2026"), numbers with a separator between thousands ("1,234,567"), counts
    ("17 comments"), ages ("3 minutes ago"), UUIDs, and tokens of 16 or more mixed letters and figures. A bare number is
    not masked: it may be a price.
    """
    return _masked(data)


def _choose() -> Callable[[bytes], bytes]:
    if READER == "python":
        from .masking import masked_in_python  # compiles large patterns, which nothing else needs

        return masked_in_python
    from .scan._native import masked as masked_natively

    return masked_natively


_masked: Final = _choose()


_MARK: Final = int.from_bytes((0x9E3779B1 * (TEXT_RULE - 1) & 0xFFFFFFFF).to_bytes(4, "little") * VALUES, "little")
"""Changes every value of a sketch, so that sketches of two rules have values in common by chance only."""


def digests_of(body: bytes, text: bytes, masked_main: bytes, targets: bytes) -> Digests:
    """The digests of a page: of its body, all its text, its masked main text, and the targets of its links."""
    return Digests(
        raw=xxh3_64_intdigest(body),
        text=xxh3_64_intdigest(text),
        main=xxh3_64_intdigest(masked_main, TEXT_RULE),
        links=xxh3_64_intdigest(targets),
    )


def sorted_targets(links: Links, own: Url) -> bytes:
    """The different targets of the links of a page with this URL, without itself unless a link writes it out."""
    targets = {*links.urls}
    if links.own and links.urls.count(own) == len(links.own):  # no other link writes out the page's URL
        targets.discard(own)
    return "\n".join(sorted(targets)).encode()


def marked_sketch(sketch: bytes) -> bytes:
    """A sketch with the mark of the rule by which its text was found. The native scanner does the same."""
    return (int.from_bytes(sketch, "little") ^ _MARK).to_bytes(len(sketch), "little") if sketch else b""


def is_same_body(digests: Digests, body: bytes) -> bool:
    """Whether a body is, byte by byte, that of the page with these digests."""
    return digests.raw == xxh3_64_intdigest(body)
