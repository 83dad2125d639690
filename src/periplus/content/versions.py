"""What is kept of a page, so that its next version can be compared with it (`changes`).

A version has a digest of title and canonical URL, a byte that says by which rule the text was found and what the page
was read from, a profile, and a byte of each value of the sketch. The profile has counters of words, a byte each by the
word's hash: of the main text with volatile words masked, and of all text without words that begin with a digit. It has
the number of words of the main text, and of links, title, canonical URL, language alternates and structured data the
sum of their hashes. Counters and sums of two versions can be subtracted: what a banner adds is the same on all pages,
whatever else they say and wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from xxhash import xxh3_64_digest, xxh3_64_intdigest

from periplus.model import Digests, ParsedPage, ReadFrom, Relations

from .digests import masked
from .scan import READER
from .scan.columns import TEXT_RULE, VALUES

COUNTERS: Final = 128
"""Counters of words, a byte each. Words that share one hide each other only if one was gained and the other lost."""
SUMS: Final = (1 << 64) - 1
"""Sums of hashes are kept modulo this, plus one."""
_ORIGIN_SHIFT: Final = 6
"""Bits of a version's second part that are the text rule; the upper two say what the page was read from."""
_HEADING: Final = 8
"""Bytes of the digest of title and canonical URL."""
_PROFILE: Final = 4 + 8 + 2 * COUNTERS + 3 * 8
_LENGTH: Final = _HEADING + 1 + _PROFILE + VALUES
_HASH_FACTORS: Final = (0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
_STRUCTURED: Final = re.compile(rb"<script[^>]{0,200}application/ld\+json[^>]{0,200}>", re.IGNORECASE)
_SCRIPT_END: Final = re.compile(rb"</script", re.IGNORECASE)
_MOST_STRUCTURED, _LONGEST_STRUCTURED = 100, 100_000
"""Pieces of structured data of a page that are compared, and bytes of one; longer ones are not."""


class PageVersion(NamedTuple):
    """What is kept of a page: its digests, `version_of` it, and its blocks, if they were read."""

    digests: Digests
    version: bytes
    blocks: bytes = b""


class PageProfile(NamedTuple):
    """The profile of a version: words of the main text, sums of hashes, and counters of words."""

    size: int
    links: int
    main: bytes
    text: bytes
    title: int
    canonical: int
    marks: int


def profile_of(text: bytes, masked_main: bytes, targets: bytes, title: str, relations: Relations, body: bytes) -> bytes:
    """The profile of a page, packed. `targets` are those of its links, a newline between two."""
    canonical = relations.canonical
    marks = [f"{one.hreflang}\n{one.url}".encode() for one in relations.alternates if one.hreflang]
    if _has_json_ld(body):
        marks += [piece for one in islice(_structured(body), _MOST_STRUCTURED) for piece in masked(one).split(b",")]
    sums = (
        _sum(masked(title.encode("utf-8", "replace")).split()),
        _sum(canonical.encode("utf-8", "replace").split(b"/")) if canonical else 0,
        _sum(marks) if marks else 0,
    )
    return _counted(text, masked_main, targets) + b"".join([one.to_bytes(8, "little") for one in sums])


def _structured(body: bytes) -> Iterator[bytes]:
    """The pieces of structured data of a page. However many begin, what ends them is looked for once."""
    at, end = 0, -1
    while begin := _STRUCTURED.search(body, at):
        if end < begin.end():
            ended = _SCRIPT_END.search(body, begin.end())
            if ended is None:
                return
            end = ended.start()
        at = begin.start() + 1
        if end - begin.end() <= _LONGEST_STRUCTURED:
            yield body[begin.end() : end]
            at = end


def _sum(parts: Iterable[bytes]) -> int:
    return sum([xxh3_64_intdigest(part) for part in parts if part]) & SUMS


def counted_in_python(text: bytes, masked_main: bytes, links: bytes) -> bytes:
    """The first part of a profile, without the native scanner (`scan/native/profile.h`); a test compares the two."""
    words = [word for word in masked_main.split(b" ") if word]
    links_sum = sum([_hash_line(link) for link in links.split(b"\n") if link]) & SUMS
    everything = [word for word in text.split(b" ") if word and not word[:1].isdigit()]
    return b"".join(
        (len(words).to_bytes(4, "little"), links_sum.to_bytes(8, "little"), _counters(words), _counters(everything))
    )


def _counters(words: Iterable[bytes]) -> bytes:
    counters = [0] * COUNTERS
    for word in words:
        counters[_hash_word(word) >> 57] += 1
    return bytes([count & 0xFF for count in counters])


@lru_cache(1 << 16)
def _hash_word(word: bytes) -> int:
    first, last = int.from_bytes(word[:8], "little"), int.from_bytes(word[-8:], "little") if len(word) > 8 else 0
    return first * _HASH_FACTORS[0] + (last + len(word) & SUMS) * _HASH_FACTORS[1] & SUMS


@lru_cache(1 << 16)
def _hash_line(line: bytes) -> int:
    hashed = len(line)
    for at in range(0, len(line), 8):
        hashed = (hashed ^ hashed >> 32 ^ int.from_bytes(line[at : at + 8], "little")) * _HASH_FACTORS[0] & SUMS
    return hashed


def has_json_ld_in_python(body: bytes) -> bool:
    """Whether a page may have structured data, without the native scanner."""
    return b"ld+json" in body


if READER == "python":
    _counted, _has_json_ld = counted_in_python, has_json_ld_in_python
else:
    from .scan import _native

    # a module that was built from older sources does not have them
    _counted = getattr(_native, "profile", counted_in_python)
    _has_json_ld = getattr(_native, "has_json_ld", has_json_ld_in_python)


def version_of(page: ParsedPage) -> bytes:
    """Encode what is kept of a page besides digests and blocks."""
    brief = page.sketch[::4] or bytes(VALUES)
    return b"%b%c%b%b" % (_heading(page), TEXT_RULE | page.read_from << _ORIGIN_SHIFT, page.profile, brief)


def page_version(page: ParsedPage) -> PageVersion:
    """All that is kept of a page."""
    return PageVersion(page.digests, version_of(page), page.blocks)


def read_from(version: bytes) -> ReadFrom:
    """The source from which the page of a version was read."""
    return ReadFrom(version[_HEADING] >> _ORIGIN_SHIFT) if _is_numbered(version) else ReadFrom.SERVER


def has_text_rule(version: bytes) -> bool:
    """Whether a version was kept under the present `TEXT_RULE`. Those of the first rule do not hold its number."""
    return _is_numbered(version) and version[_HEADING] & (1 << _ORIGIN_SHIFT) - 1 == TEXT_RULE


def _is_numbered(version: bytes) -> bool:
    return len(version) > _HEADING and (len(version) - _HEADING) % 4 == 1


def is_heading_same(before: bytes, after: bytes) -> bool:
    """Whether two versions have the same title and canonical URL."""
    return before[:_HEADING] == after[:_HEADING]


def has_profile(version: bytes) -> bool:
    """Whether a version has a profile, of whatever text rule."""
    return len(version) == _LENGTH


def unpack_profile(version: bytes) -> PageProfile | None:
    """The profile of a version; `None` for one of another text rule, or from before there were profiles."""
    if not has_profile(version) or not has_text_rule(version):
        return None
    at = _HEADING + 1
    main, text, sums = at + 12, at + 12 + COUNTERS, at + 12 + 2 * COUNTERS
    return PageProfile(
        int.from_bytes(version[at : at + 4], "little"),
        int.from_bytes(version[at + 4 : main], "little"),
        version[main:text],
        version[text:sums],
        *(int.from_bytes(version[place : place + 8], "little") for place in range(sums, sums + 24, 8)),
    )


def likeness(old: bytes, new: bytes) -> float:
    """The resemblance of the main texts of two versions; 1 where they cannot be compared."""
    if not (has_profile(old) and has_profile(new) and old[_HEADING] == new[_HEADING]):
        return 1.0
    return sum([one == other for one, other in zip(old[-VALUES:], new[-VALUES:], strict=True)]) / VALUES


def _heading(page: ParsedPage) -> bytes:
    return xxh3_64_digest(f"{page.title}\n{page.canonical}".encode("utf-8", "replace"))
