"""The stack of open elements: blocks, cells, lists, forms, ...; inline elements are not on it.

No tree is built. The parsing algorithm of the HTML Standard is followed where its stack decides which element text and
links belong to: implied end tags, and elements beyond which an end tag does not reach.
"""

from __future__ import annotations

from typing import Final

from .columns import EventKind
from .elements import TRACKED, close_anchor, enter_form_part, leave_form_parts
from .markup import IN_FALLBACK, Tag
from .state import HAS_EVENT, IS_FOREIGN, NONE, PageScan, WrittenEvent
from .tags import BARRIER, FLAGS_OF, HEAD, NAMES, NUMBERS, SPECIAL, numbers_of, numbers_with

MAX_OPEN: Final = 512
"""Elements on the stack, the body included; deeper ones are not put there: such pages are mistakes or attacks."""
MAX_EVENTS: Final = 500_000

_EVERY: Final = bytes(range(256))
_P: Final = NUMBERS["p"]
_BUTTON: Final = NUMBERS["button"]
_TABLE: Final = NUMBERS["table"]
_OPTION: Final = NUMBERS["option"]
_LI: Final = NUMBERS["li"]
_HEADINGS: Final = numbers_of("h1", "h2", "h3", "h4", "h5", "h6")
_FOREIGN: Final = numbers_of("svg", "math", "annotation")
_TABLE_PARTS: Final = numbers_of("table", "tbody", "thead", "tfoot", "tr", "td", "th", "caption")
_NO_EVENTS: Final = numbers_of("body", "foreignobject", "desc", "annotation", "frameset", "frame")
_SAME_PART: Final = {
    number: part
    for part in (numbers_of("td", "th"), numbers_of("tr"), numbers_of("tbody", "thead", "tfoot"))
    for number in part
}
"""What a cell, a row or a group of rows ends, if it is open."""


def _but(numbers: bytes, *names: str) -> bytes:
    """All tags but some: what is deleted from a part of the stack to see whether one of the others is left."""
    return bytes(set(_EVERY) - set(numbers) | set(numbers_of(*names)))


_ALL_BUT_P_STOPS: Final = _but(numbers_with(BARRIER) + bytes((_BUTTON,)))
_ALL_BUT_ITEM_STOPS: Final = _but(numbers_with(SPECIAL), "address", "div", "p")


def _stops(ended: int) -> bytes:
    """All tags but those beyond which an end tag does not reach."""
    stops = bytes((_TABLE,)) if ended in _TABLE_PARTS else numbers_with(BARRIER)
    if not FLAGS_OF[ended] & SPECIAL:
        stops += numbers_with(SPECIAL)
    if ended == _P:
        stops += bytes((_BUTTON,))
    if ended == _LI:
        stops += numbers_of("ol", "ul")
    return _but(stops)


_ALL_BUT_STOPS: Final = tuple(_stops(number) for number in range(len(NAMES)))


def push(page: PageScan, tag: Tag, position: int = NONE) -> None:
    """Open an element. `position` is that of a part of a form in the list of these."""
    stack = page.stack
    if len(stack) >= MAX_OPEN:
        return
    number = len(page.elements)
    page.elements.append((page.element, tag))
    page.element = number
    stack.append(tag.number)
    if tag.is_plain and not page.wants_events:
        page.levels.append((page.region, number, False, False))
    else:
        _enter(page, tag, position)


def _enter(page: PageScan, tag: Tag, position: int) -> None:
    """Apply the effects of elements that are more than a block."""
    region = page.region | tag.region
    if region != page.region:
        cross_region(page, region)
    page.is_foreign = tag.number in _FOREIGN
    if tag.number in TRACKED:
        enter_form_part(page, tag, position)
    has_event = page.wants_events and add_open_event(page, tag)
    page.levels.append((region, page.element, page.is_foreign, has_event))


def pop_to(page: PageScan, size: int) -> None:
    """Close elements until `size` are open."""
    stack, levels = page.stack, page.levels
    if page.outer:
        leave_form_parts(page, stack[size:])
    if page.wants_events:
        for place in range(len(stack) - 1, size - 1, -1):
            if levels[place][HAS_EVENT]:
                add_event(page, WrittenEvent(EventKind.CLOSE, NAMES[stack[place]], None, NONE))
    if size < page.link_depth and page.link != NONE:
        if FLAGS_OF[stack[page.link_depth - 1]] & BARRIER:
            close_anchor(page)
        else:
            page.is_split = True
            page.link_depth = 0
    del stack[size:], levels[size:]
    region, page.element, page.is_foreign, _ = levels[-1]
    if region != page.region:
        cross_region(page, region)


def cross_region(page: PageScan, region: int) -> None:
    """End the block of text where the main part, navigation, a header or a form begins or ends."""
    page.block += bool((page.region ^ region) & ~IN_FALLBACK)
    page.region = region
    page.update_visibility()


def close_paragraph(page: PageScan) -> None:
    """End the open paragraph, if there is one in reach."""
    at = page.stack.rfind(_P)
    if at > 0 and not page.stack[at + 1 :].translate(None, _ALL_BUT_P_STOPS):
        pop_to(page, at)


def close_item(page: PageScan, ended: bytes) -> None:
    """Close the list item, term or description before a new one."""
    at = max(map(page.stack.rfind, ended))
    if at > 0 and not page.stack[at + 1 :].translate(None, _ALL_BUT_ITEM_STOPS):
        pop_to(page, at)


def close_table_part(page: PageScan, started: int) -> None:
    """Close the cell before a new cell, the row before a row, the group of rows before a group."""
    at = max(map(page.stack.rfind, _SAME_PART[started]))
    if at > page.stack.rfind(_TABLE) and at > 0:
        pop_to(page, at)


def close_option(page: PageScan) -> None:
    """Close the option before a new option or group of options."""
    if page.stack[-1] == _OPTION:
        pop_to(page, len(page.stack) - 1)


def close_element(page: PageScan, ended: int) -> None:
    """Close the element of an end tag. That of a heading closes whichever heading is open."""
    stack = page.stack
    at = stack.rfind(ended)
    if at <= 0 and ended in _HEADINGS:
        ended = next((heading for heading in _HEADINGS if heading in stack), ended)
        at = stack.rfind(ended)
    if at > 0 and (at == len(stack) - 1 or not stack[at + 1 :].translate(None, _ALL_BUT_STOPS[ended])):
        pop_to(page, at)


def leave_foreign(page: PageScan) -> None:
    """Leave a drawing or a formula at a tag of HTML."""
    size = len(page.levels)
    while size > 1 and page.levels[size - 1][IS_FOREIGN]:
        size -= 1
    pop_to(page, size)


def has_events(page: PageScan, number: int) -> bool:
    """Whether writers may care about an element."""
    is_reported = bool(number) and not FLAGS_OF[number] & HEAD and number not in _NO_EVENTS
    return is_reported and not page.is_in_noscript and not page.region & IN_FALLBACK


def add_open_event(page: PageScan, tag: Tag) -> bool:
    """Report that an element begins; false if it is not reported."""
    return has_events(page, tag.number) and add_event(
        page, WrittenEvent(EventKind.OPEN, tag.name, tag.event_attributes(), NONE)
    )


def add_event(page: PageScan, event: WrittenEvent) -> bool:
    """Report something, if there is room."""
    has_room = len(page.events) < MAX_EVENTS
    if has_room:
        page.events.append(event)
    return has_room
