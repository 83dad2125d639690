"""The sections of a page: its headings and terms of definitions, each with what leads to it.

The anchor of a section is the id of its heading or term, else the first id inside it, else the last one before it with
no text in between: that of an empty `<a>`, or of the element around the heading. `native/sections.h` does the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .columns import EventKind, ScannedSection
from .folding import WIDE_SPACES, Folded
from .state import PageScan, WrittenEvent
from .tokens import decode_text

TERM: Final = 7
"""The level of a term; headings have theirs."""
_LEVELS: Final = {**{f"h{level}": level for level in range(1, TERM)}, "dt": TERM}
_IS_SEEN: Final = re.compile(rb"[^\x00-\x20]")


class _Open:
    """A heading or term. `first` and `end` are numbers of blocks of text."""

    def __init__(self, level: int, first: int, anchor: str, *, has_own: bool) -> None:
        self.level = level
        self.first = first
        self.end = first + 1
        self.anchor = anchor
        self.has_own = has_own
        """Whether the anchor is its own, or inside of it."""


def sections_of(page: PageScan, folded: Folded, is_main: Sequence[bool]) -> list[ScannedSection]:
    """The sections whose titles are main text; the events of the page were asked for."""
    starts = _starts_in_main(folded, is_main)
    found = _found(page, folded)
    sections = []
    for place, section in enumerate(found):
        end = section.first
        while end < min(section.end, len(is_main)) and is_main[end]:
            end += 1
        is_last = place + 1 == len(found) or found[place + 1].first != section.first
        if end > section.first and is_last:
            start = starts[section.first]
            size = starts[end - 1] + folded.ends[end - 1] - folded.starts[end - 1] - start
            sections.append(ScannedSection(start, size, section.level, section.anchor))
    return sections


def _starts_in_main(folded: Folded, is_main: Sequence[bool]) -> list[int]:
    """Where each block of the main text begins in it."""
    starts, at = [], 0
    for start, end, is_chosen in zip(folded.starts, folded.ends, is_main, strict=True):
        starts.append(at)
        at += (end - start + 1) * is_chosen
    return starts


def _found(page: PageScan, folded: Folded) -> list[_Open]:
    found: list[_Open] = []
    open_section: _Open | None = None
    before = ""
    """The last anchor, if there is no text behind it."""
    blocks = 0
    for event in page.events:
        if event.kind is EventKind.TEXT:
            if _is_seen(page.runs[event.run][0]):
                before = ""
            blocks = max(blocks, folded.block_of_run[event.run] + 1 if folded.block_of_run else 0)
            continue
        level = _LEVELS.get(event.value, 0)
        if event.kind is EventKind.CLOSE:
            if open_section and level:
                open_section.end = blocks
                open_section = None
            continue
        anchor = _anchor(event)
        if level:
            open_section = _Open(level, blocks, anchor or before, has_own=bool(anchor))
            found.append(open_section)
        elif anchor and open_section and not open_section.has_own:
            open_section.anchor, open_section.has_own = anchor, True
        before = anchor or before
    return found


def _anchor(event: WrittenEvent) -> str:
    attributes = event.attributes or {}
    anchor = attributes.get("id") or ""
    return anchor or (attributes.get("name") or "" if event.value == "a" else "")


def _is_seen(source: bytes) -> bool:
    text = decode_text(source)
    for space in WIDE_SPACES:
        text = text.replace(space, b"")
    return _IS_SEEN.search(text) is not None
