"""Forms and what belongs to them: controls, labels, options."""

from __future__ import annotations

from typing import Final

from .anchors import find_sinks, fold_pieces
from .columns import MAX_ANCHOR, MAX_FORMS, FormElement
from .markup import Tag
from .references import decode_text
from .state import NONE, Page
from .tags import FLAGS_OF, FORM_PART, NUMBERS, numbers_of

MAX_FORM_ELEMENTS: Final = 20_000
"""Elements of forms that are reported of a page."""
_CONTROLS: Final = numbers_of("input", "select", "textarea", "button")
_OWNERS: Final = numbers_of("label", "option", "button")
"""The innermost of these owns the text inside."""
_HOLDERS: Final = numbers_of("select", "datalist")
_OPTION: Final = NUMBERS["option"]
_LABEL: Final = NUMBERS["label"]


def add_form_element(page: Page, tag: Tag) -> int:
    """Report an element. Returns its position in the list."""
    position = len(page.forms)
    if position >= MAX_FORM_ELEMENTS:
        return NONE
    number = tag.number
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


def enter_form_part(page: Page, number: int, position: int) -> None:
    """A part of a form was put on the stack: text may be its own from here on, and what follows may be inside it."""
    page.outer.append((page.text_owner, page.label, page.options))
    if number in _OWNERS:
        page.text_owner = position
        if position != NONE:
            page.form_texts[position] = []
        find_sinks(page)
    if number == _LABEL:
        page.label = position
    elif number in _HOLDERS:
        page.options = position


def leave_form_parts(page: Page, closed: bytearray) -> None:
    """The elements with these tags are closed."""
    count = sum(1 for number in closed if FLAGS_OF[number] & FORM_PART)
    if count:
        page.text_owner, page.label, page.options = page.outer[-count]
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
