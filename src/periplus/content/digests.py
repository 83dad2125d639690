"""Has a page changed, and how much? Digests of a page at several depths, and the level of change between two visits.

Of each visit four digests are kept (XXH3, 64 bits: each is compared with one other value and never searched for), the
sketch, the title and the canonical URL. A page whose clock or counter moved has another body and the same main text
once volatile words are masked (see `volatile`).

SimHash (Charikar 2002; Manku, Jain & Das Sarma 2007) is not among them. Summing 64 signs a shingle costs as much as
the rest of this file and the sketch together, and for a page of 300 words its distance of 3 bits is passed already when
one word in a hundred changes; the sketch, which is there anyway, tells the same more exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import xxhash
from msgspec import Struct

from ..model import ChangeLevel, Digests, Page, Url
from .sketch import resemblance
from .volatile import masked

MINOR_RESEMBLANCE: Final = 0.98
_HEADING: Final = 8


class Snapshot(Struct, frozen=True):
    """What is kept of a page to tell later whether it changed."""

    digests: Digests
    sketch: bytes
    title: str
    canonical: Url | None


def digests_of(body: bytes, text: bytes, main: bytes, links: Iterable[str]) -> Digests:
    """The digests of a page: of its body, all its text, its main text, and its links."""
    return Digests(
        raw=xxhash.xxh3_64_intdigest(body),
        text=xxhash.xxh3_64_intdigest(text),
        main=xxhash.xxh3_64_intdigest(masked(main)),
        links=xxhash.xxh3_64_intdigest("\n".join(sorted(set(links))).encode()),
    )


def is_same_body(digests: Digests, body: bytes) -> bool:
    """Whether a body is, byte by byte, that of the page with these digests."""
    return digests.raw == xxhash.xxh3_64_intdigest(body)


def snapshot(page: Page) -> Snapshot:
    """What to keep of a page."""
    return Snapshot(page.digests, page.sketch, page.title, page.canonical)


def version_of(page: Page) -> bytes:
    """What to keep of a page besides its digests, in few bytes: of the title and canonical URL that they were these."""
    return _heading(page.title, page.canonical) + page.sketch


def change_since(digests: Digests, version: bytes, page: Page) -> ChangeLevel:
    """`change_level` between what was kept of a version (`version_of`) and a page that was just read."""
    if digests.raw == page.digests.raw:
        return ChangeLevel.SAME
    if not is_heading_same(version, page) or digests.links != page.digests.links:
        return ChangeLevel.MAJOR
    return _of_text(digests, version[_HEADING:], page.digests, page.sketch)


def likeness(old: bytes, new: bytes) -> float:
    """How much the main text of one version (`version_of`) resembles that of another: the common share of shingles."""
    return resemblance(old[_HEADING:], new[_HEADING:])


def is_heading_same(version: bytes, page: Page) -> bool:
    """Whether a page bears the title and the canonical URL of a version that was kept."""
    return version[:_HEADING] == _heading(page.title, page.canonical)


def _heading(title: str, canonical: Url | None) -> bytes:
    return xxhash.xxh3_64_digest(f"{title}\n{canonical}".encode("utf-8", "replace"))


def change_level(old: Snapshot, new: Snapshot) -> ChangeLevel:
    """How much a page changed between two visits.

    SAME: the same bytes. RAW_ONLY: other bytes, but what the page says and where it leads are the same. MINOR: the
    main text differs in at most about one shingle in fifty. MAJOR: anything more, or another title, canonical URL or
    set of links.
    """
    if old.digests.raw == new.digests.raw:
        return ChangeLevel.SAME
    if (old.title, old.canonical, old.digests.links) != (new.title, new.canonical, new.digests.links):
        return ChangeLevel.MAJOR
    return _of_text(old.digests, old.sketch, new.digests, new.sketch)


def _of_text(old: Digests, old_sketch: bytes, new: Digests, new_sketch: bytes) -> ChangeLevel:
    if old.main == new.main:
        return ChangeLevel.RAW_ONLY
    is_minor = resemblance(old_sketch, new_sketch) >= MINOR_RESEMBLANCE
    return ChangeLevel.MINOR if is_minor else ChangeLevel.MAJOR
