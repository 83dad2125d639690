"""The effect of each tag on the state of a pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .elements import (
    add_form_element,
    add_head_element,
    add_medium,
    add_other_link,
    close_anchor,
    end_form,
    start_anchor,
    start_form,
)
from .markup import Act, Tag
from .stack import (
    close_element,
    close_item,
    close_option,
    close_paragraph,
    close_table_part,
    cross_region,
    pop_to,
    push,
)
from .state import NONE, PageScan
from .tags import (
    BLOCK,
    CLOSES_P,
    FLAGS,
    FORM_PART,
    HEAD_PART,
    MEDIA,
    NUMBERS,
    PUSH,
    RAW,
    RCDATA,
    SPACED,
    numbers_of,
)
from .tokens import is_complete

_P: Final = NUMBERS["p"]
_MAX_KNOWN: Final = 4096
"""Maximum number of tags cached between pages. Beyond it the cache is cleared."""
_MAX_SOURCE: Final = 256
"""Maximum bytes of a cached tag."""
_TABLE_PARENTS: Final = numbers_of("table", "tbody", "thead", "tfoot", "tr")
_ITEMS: Final = {
    NUMBERS["li"]: numbers_of("li"),
    NUMBERS["dd"]: numbers_of("dd", "dt"),
    NUMBERS["dt"]: numbers_of("dd", "dt"),
}


def _start_block(page: PageScan, tag: Tag) -> None:
    if tag.flags & CLOSES_P and _P in page.stack:
        close_paragraph(page)
    page.block += 1
    push(page, tag)


def _start_item(page: PageScan, tag: Tag) -> None:
    if _P in page.stack:
        close_paragraph(page)
    close_item(page, _ITEMS[tag.number])
    page.block += 1
    push(page, tag)


def _start_table_part(page: PageScan, tag: Tag) -> None:
    close_table_part(page, tag.number)
    page.block += 1
    push(page, tag)


def _start_inline(page: PageScan, tag: Tag) -> bool | None:
    """An element that is on the stack, but not a block: a drawing, an object, ..."""
    push(page, tag)
    return page.is_foreign


def _start_film(page: PageScan, tag: Tag) -> None:
    add_medium(page, tag)
    push(page, tag)


def _start_drawing(page: PageScan, tag: Tag) -> bool:
    if not tag.is_self_closing:
        push(page, tag)
    return page.is_foreign


def _start_rule(page: PageScan, _: Tag) -> None:
    if _P in page.stack:
        close_paragraph(page)
    page.block += 1


def _start_body(page: PageScan, _: Tag) -> None:
    page.block += 1


def _start_form(page: PageScan, tag: Tag) -> None:
    """A form in a form is ignored; one among the rows of a table is not a parent of anything."""
    if page.is_form_open:
        return
    if _P in page.stack:
        close_paragraph(page)
    page.block += 1
    parent = page.stack[-1]
    start_form(page, tag)
    if parent not in _TABLE_PARENTS:
        push(page, tag)


def _start_form_part(page: PageScan, tag: Tag) -> None:
    position = add_form_element(page, tag)
    if tag.flags & PUSH:
        push(page, tag, position)


def _start_option(page: PageScan, tag: Tag) -> None:
    close_option(page)
    page.block += 1
    push(page, tag, add_form_element(page, tag))


def _start_option_group(page: PageScan, tag: Tag) -> None:
    close_option(page)
    push(page, tag)


def _start_noscript(page: PageScan, _: Tag) -> None:
    page.is_in_noscript = True
    page.is_visible = False


def _end_noscript(page: PageScan, _: Tag) -> None:
    page.is_in_noscript = False
    page.update_visibility()


def _stop(_: PageScan, __: Tag) -> bool:
    return True


def _end_block(page: PageScan, tag: Tag) -> bool:
    page.block += 1
    stack = page.stack
    if stack[-1] != tag.number:
        close_element(page, tag.number)
    elif page.link != NONE or page.outer or page.wants_events:
        pop_to(page, len(stack) - 1)
    else:  # most end tags: `pop_to` without what has nothing to do
        del stack[-1], page.levels[-1]
        region, page.element, page.is_foreign, _ = page.levels[-1]
        if region != page.region:
            cross_region(page, region)
    return page.is_foreign


def _end_inline(page: PageScan, tag: Tag) -> bool:
    close_element(page, tag.number)
    return page.is_foreign


def _end_form(page: PageScan, tag: Tag) -> bool:
    end_form(page)
    return _end_block(page, tag)


_START_ACTS: Final[dict[str, Act | None]] = {
    "a": start_anchor,
    "area": add_other_link,
    "frame": add_other_link,
    "body": _start_body,
    "hr": _start_rule,
    "form": _start_form,
    "option": _start_option,
    "optgroup": _start_option_group,
    "noscript": _start_noscript,
    "template": _stop,
    "plaintext": _stop,
    "svg": _start_drawing,
    "math": _start_drawing,
    "li": _start_item,
    "dd": _start_item,
    "dt": _start_item,
    **dict.fromkeys(("td", "th", "tr", "tbody", "thead", "tfoot"), _start_table_part),
}
_END_ACTS: Final[dict[str, Act | None]] = {
    "a": close_anchor,
    "noscript": _end_noscript,
    "form": _end_form,
    "annotation": _end_inline,
    "title": _end_inline,
    "body": None,
}


def add_gap(page: PageScan) -> None:
    """What follows is another word, though no blank be written."""
    page.runs.append((b" ", page.element, page.block, False))


def _with_gap(act: Act | None) -> Act:
    def act_behind_gap(page: PageScan, tag: Tag) -> bool | None:
        add_gap(page)
        return act(page, tag) if act else None

    return act_behind_gap


def _start_act(name: str, flags: int) -> Act | None:
    if name in _START_ACTS:
        return _START_ACTS[name]
    if flags & (RAW | RCDATA):
        return _stop
    if flags & HEAD_PART:
        return add_head_element
    if flags & MEDIA and flags & PUSH:
        return _start_film
    if flags & MEDIA:
        return add_medium
    if flags & FORM_PART:
        return _start_form_part
    if flags & BLOCK:
        return _start_block
    return _start_inline if flags & PUSH else None


def _end_act(name: str, flags: int) -> Act | None:
    if name in _END_ACTS:
        return _END_ACTS[name]
    if flags & PUSH:
        return _end_block if flags & BLOCK else _end_inline
    return _start_body if flags & BLOCK else None


def _acts(act_of: Callable[[str, int], Act | None]) -> tuple[Act | None, ...]:
    """The acts of tags by number, 0 being every unknown tag."""
    acts = ((act_of(name, flags), flags) for name, flags in FLAGS.items())
    return (None, *(_with_gap(act) if flags & SPACED else act for act, flags in acts))


_STARTS: Final = _acts(_start_act)
_ENDS: Final = _acts(_end_act)

known: dict[bytes, Tag] = {}
"""Tags by what is between their brackets, from page to page: those of a site have most in common."""


def tag_of(source: bytes) -> Tag | None:
    """The tag with this between its brackets, if it is a complete tag."""
    return new_tag(source) if is_complete(source) else None


def new_tag(source: bytes) -> Tag:
    """A tag that is not known yet."""
    tag = Tag(source)
    tag.act = (_ENDS if tag.is_end else _STARTS)[tag.number]
    if len(source) <= _MAX_SOURCE:
        if len(known) >= _MAX_KNOWN:
            known.clear()
        known[source] = tag
    return tag
