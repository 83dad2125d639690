"""Forms and what belongs to them: controls, labels, options."""

from __future__ import annotations

from typing import Final

from .anchors import find_sinks, fold_pieces
from .columns import MAX_ANCHOR, MAX_FORMS, FormElement
from .markup import Tag
from .references import decode_text
from .state import NONE, Page
from .tags import FORM_PART, NUMBERS, numbers_of, numbers_with

MAX_FORM_ELEMENTS: Final = 20_000
"""Elements of forms that are reported of a page."""
_CONTROLS: Final = numbers_of("input", "select", "textarea", "button")
_OWNERS: Final = numbers_of("label", "option", "button")
"""The innermost of these owns the text inside."""
_HOLDERS: Final = numbers_of("select", "datalist")
_OPTION: Final = NUMBERS["option"]
_LABEL: Final = NUMBERS["label"]
_FIELDSET: Final = NUMBERS["fieldset"]
_LEGEND: Final = NUMBERS["legend"]
TRACKED: Final = frozenset(numbers_with(FORM_PART)) | {_FIELDSET, _LEGEND}
"""Elements that change the state of forms where they begin and end."""
_IS_DISABLED: Final = 1
"""A flag of `Page.fieldset`: controls here are disabled."""
_IS_DISABLED_OUTSIDE: Final = 2
"""A flag of `Page.fieldset`: controls around the innermost fieldset are disabled."""
_HAS_LEGEND: Final = 4
"""A flag of `Page.fieldset`: the innermost fieldset has had its first legend."""


def add_form_element(page: Page, tag: Tag) -> int:
    """Report an element, unless it is a control of a disabled fieldset. Returns its position in the list."""
    position = len(page.forms)
    number = tag.number
    if position >= MAX_FORM_ELEMENTS or (number in _CONTROLS and page.fieldset & _IS_DISABLED):
        return NONE
    inside = page.options if number == _OPTION else page.label if number in _CONTROLS else NONE
    page.forms.append(FormElement(tag.name, tag.attributes, page.form, inside, ""))
    return position


def start_form(page: Page, tag: Tag) -> None:
    """What follows belongs to the form up to its end tag, however elements are nested."""
    page.is_form_open = True
    if page.form_count <= MAX_FORMS:
        position = add_form_element(page, tag)
        page.form = NONE if position == NONE else page.form_count
        page.form_count += 1


def end_form(page: Page) -> None:
    """`</form>`, wherever it stands."""
    page.is_form_open = False
    page.form = NONE


def enter_form_part(page: Page, tag: Tag, position: int) -> None:
    """A part of a form was put on the stack: text may be its own from here on, and what follows may be inside it."""
    number = tag.number
    page.outer.append((page.text_owner, page.label, page.options, page.fieldset))
    if number in _OWNERS:
        page.text_owner = position
        if position != NONE:
            page.form_texts[position] = []
        find_sinks(page)
    if number == _LABEL:
        page.label = position
    elif number in _HOLDERS:
        page.options = position
    elif number == _FIELDSET:
        is_disabled = page.fieldset & _IS_DISABLED
        page.fieldset = is_disabled and _IS_DISABLED_OUTSIDE
        page.fieldset |= is_disabled or ("disabled" in tag.attributes and _IS_DISABLED)
    elif number == _LEGEND and page.stack[-2] == _FIELDSET and not page.fieldset & _HAS_LEGEND:
        is_outside = page.fieldset & _IS_DISABLED_OUTSIDE
        page.fieldset = _HAS_LEGEND | (is_outside and _IS_DISABLED | _IS_DISABLED_OUTSIDE)


def leave_form_parts(page: Page, closed: bytearray) -> None:
    """The elements with these tags are closed."""
    count = sum(1 for number in closed if number in TRACKED)
    if count:
        page.text_owner, page.label, page.options, page.fieldset = page.outer[-count]
        if closed[0] == _LEGEND and page.stack[-len(closed) - 1] == _FIELDSET:
            page.fieldset |= _HAS_LEGEND
        del page.outer[-count:]
        find_sinks(page)


def add_textarea(page: Page, tag: Tag, content: bytes) -> None:
    """A textarea with its content: a first line break does not count."""
    position = add_form_element(page, tag)
    if position != NONE:
        text = decode_text(content).decode("utf-8", "replace")
        text = text.removeprefix("\r\n") if text.startswith("\r\n") else text[text[:1] in ("\n", "\r") :]
        page.forms[position] = page.forms[position]._replace(content=text[:MAX_ANCHOR])


def form_elements(page: Page) -> list[FormElement]:
    """All of them, with the texts of labels, options and buttons."""
    forms = page.forms
    texts = fold_pieces(page, list(page.form_texts.values()))
    for position, text in zip(page.form_texts, texts, strict=True):
        forms[position] = forms[position]._replace(content=text)
    return forms
