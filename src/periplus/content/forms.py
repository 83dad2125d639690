"""Forms: action, method and fields, with the visible label of each.

A control belongs to the form that its `form` attribute names by id, otherwise to the form that was open where it
stands, also if a table or a block has moved it out of the form's element (HTML Standard, 4.10.18.3). A group of radio
buttons is one field with options, as is a select; an input with a datalist has its options. Buttons are fields of type
"submit", "button", ... where they have a name, because the server may ask which one was pressed; `buttons` has the text
of all that submit. Disabled controls are left out; the scanner does not report those of a disabled fieldset.

Reasons of the problems: `too-many-forms`, `too-many-fields`: the rest was left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.msgpack import Decoder
from msgspec.structs import replace

from periplus.model import Field, Form, Problem

from .facts import folded
from .links import Urls
from .scan.columns import MAX_FORMS, FormElement

MAX_FIELDS: Final = 500
"""Controls that are read of a form."""
MAX_OPTIONS: Final = 1000
"""Maximum number of options stored for a field."""
_MAX_WORD: Final = 256
"""Characters of a name, a value or a label."""
_REMEMBERED_BYTES: Final = 1 << 13
"""Bytes of packed form elements up to which their forms are remembered; most are a field for a search."""
_DECODER: Final = Decoder(list[FormElement])
_CONTROLS: Final = frozenset({"input", "select", "textarea", "button"})
_METHODS: Final = {"post": "POST", "dialog": "DIALOG"}


class WrittenForm(NamedTuple):
    """A form whose action is as written; an empty action is the page itself."""

    action: str
    method: str
    fields: tuple[Field, ...]
    enctype: str
    is_cut: bool
    buttons: tuple[str, ...]


def read_forms(packed: bytes) -> tuple[WrittenForm, ...]:
    """The forms of a page, at most one more than are kept, given its form elements as the scanner packs them.

    Nearly all pages of a site have the same forms, so those read last are remembered.
    """
    if not packed:
        return ()
    return _remembered_forms(packed) if len(packed) <= _REMEMBERED_BYTES else _forms(packed)


@lru_cache(maxsize=512)
def _remembered_forms(packed: bytes) -> tuple[WrittenForm, ...]:
    return _forms(packed)


def form_elements(packed: bytes) -> list[FormElement]:
    """The form elements that a scanner has packed."""
    return _DECODER.decode(packed) if packed else []


def _forms(packed: bytes) -> tuple[WrittenForm, ...]:
    elements = form_elements(packed)
    forms = [element for element in elements if element.tag == "form"]
    owners = _owners(forms)
    controls: defaultdict[int, list[int]] = defaultdict(list)
    for position, (tag, attributes, form, _, _) in enumerate(elements):
        if tag in _CONTROLS:
            named = attributes.get("form")
            controls[form if named is None else owners.get(named, -1)].append(position)
    fields = _FieldReader(elements)
    return tuple([_form(form, controls[number], fields) for number, form in enumerate(forms)])


def forms_of(written: Sequence[WrittenForm], actions: Urls) -> tuple[tuple[Form, ...], list[Problem]]:
    """The forms of a page, given where they lead."""
    problems = [Problem("too-many-forms")] if len(written) > MAX_FORMS else []
    forms = []
    for form, action in zip(written[:MAX_FORMS], actions, strict=False):
        if action is None:
            continue
        if form.is_cut:
            problems.append(Problem("too-many-fields", action[:100]))
        forms.append(Form(action, form.method, form.fields, form.enctype, form.buttons))
    return tuple(forms), problems


def _owners(forms: Sequence[FormElement]) -> dict[str, int]:
    """The number of each form that has an id; of two with one id, the first counts."""
    owners: dict[str, int] = {}
    for number, form in enumerate(forms):
        if identity := form.attributes.get("id"):
            owners.setdefault(identity, number)
    return owners


def _form(form: FormElement, controls: Sequence[int], reader: _FieldReader) -> WrittenForm:
    fields: dict[str, Field] = {}
    for position in controls[:MAX_FIELDS]:
        field = reader.field(position)
        if field is None:
            continue
        key = f"radio {field.name}" if field.type == "radio" else str(position)
        fields[key] = _grouped(fields[key], field) if key in fields else field
    attributes = form.attributes
    return WrittenForm(
        attributes.get("action") or "",
        _METHODS.get((attributes.get("method") or "").strip().lower(), "GET"),
        tuple(fields.values()),
        (attributes.get("enctype") or "").strip().lower()[:_MAX_WORD],
        len(controls) > MAX_FIELDS,
        tuple([text for position in controls[:MAX_FIELDS] if (text := reader.button(position))]),
    )


class _FieldReader:
    """Reads controls, by their position, with what belongs to them wherever it stands: labels, options, datalists."""

    def __init__(self, elements: Sequence[FormElement]) -> None:
        self._elements = elements
        self._labels: dict[str, str] = {}
        self._lists: dict[str, int] = {}
        self._options: defaultdict[int, list[FormElement]] = defaultdict(list)
        for position, element in enumerate(elements):
            tag, attributes, _, inside, content = element
            if tag == "option":
                if len(self._options[inside]) < MAX_OPTIONS:
                    self._options[inside].append(element)
            elif tag == "label" and (identity := attributes.get("for")):
                self._labels.setdefault(identity, content)
            elif tag == "datalist" and (identity := attributes.get("id")):
                self._lists.setdefault(identity, position)

    def field(self, position: int) -> Field | None:
        """The field of a control; `None` if it is not submitted."""
        control = self._elements[position]
        attributes = control.attributes
        name = attributes.get("name")
        if not name or "disabled" in attributes:
            return None
        value = (attributes.get("value") or "")[:_MAX_WORD]
        options: tuple[str, ...] = ()
        kind = (attributes.get("type") or "").strip().lower()
        if control.tag == "select":
            kind = "select-multiple" if "multiple" in attributes else "select"
            value, options = self._choices(position)
        elif control.tag == "textarea":
            kind, value = "textarea", control.content[:_MAX_WORD]
        elif control.tag == "button":
            kind = kind or "submit"
        elif kind == "radio":
            options, value = (value or "on",), (value or "on") if "checked" in attributes else ""
        elif (listed := attributes.get("list")) in self._lists:
            options = self._choices(self._lists[listed])[1]
        is_required, label = "required" in attributes, self._label(control)
        return Field(name[:_MAX_WORD], kind[:_MAX_WORD] or "text", value, options, is_required, label)

    def button(self, position: int) -> str:
        """The text of a button; empty if the control is not a button that submits."""
        control = self._elements[position]
        kind = (control.attributes.get("type") or "").strip().lower()
        if control.tag == "button":
            return control.content if kind in ("", "submit") else ""
        if control.tag == "input" and kind in ("submit", "image"):
            return folded(control.attributes.get("value") or control.attributes.get("alt") or "", _MAX_WORD)
        return ""

    def _choices(self, position: int) -> tuple[str, tuple[str, ...]]:
        """The value that a select begins with, and all it offers."""
        options = [option for option in self._options[position] if "disabled" not in option.attributes]
        values = tuple([_value(option) for option in options])
        is_list = "multiple" in self._elements[position].attributes
        chosen = [value for value, option in zip(values, options, strict=True) if "selected" in option.attributes]
        return (chosen or ([""] if is_list else values) or ("",))[0], values

    def _label(self, control: FormElement) -> str:
        """The label for a control, or around it; else its own description."""
        attributes = control.attributes
        identity = attributes.get("id")
        if identity and identity in self._labels:
            return self._labels[identity]
        if control.inside >= 0:
            return self._elements[control.inside].content
        return folded(attributes.get("aria-label") or attributes.get("placeholder") or "", _MAX_WORD)


def _value(option: FormElement) -> str:
    """The value that an option submits: its value, or its text without one."""
    attributes = option.attributes
    return (attributes["value"] or "")[:_MAX_WORD] if "value" in attributes else option.content


def _grouped(group: Field, button: Field) -> Field:
    """A group of radio buttons with another button of its name."""
    return replace(
        group,
        options=(group.options + button.options)[:MAX_OPTIONS],
        value=group.value or button.value,
        is_required=group.is_required or button.is_required,
    )
