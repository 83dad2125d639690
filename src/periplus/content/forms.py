"""Forms, the doors to the deep web: action, method and fields, with what a person would see beside each.

A group of radio buttons is one field with options, as is a select; an input with a datalist has its options. Buttons
are fields of type "submit", "button", ... where they carry a name, because the server may ask which one was pressed.

Reasons of the problems: `too-many-forms`, `too-many-fields`: the rest was left out.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec.structs import replace
from selectolax.lexbor import LexborNode

from ..model import Field, Form, Problem
from .elements import Elements
from .links import Urls

MAX_FORMS: Final = 100
MAX_FIELDS: Final = 500
MAX_OPTIONS: Final = 1000
_MAX_WORD: Final = 256
_IN_FORMS: Final = "input, select, textarea, button, label[for]"
_METHODS: Final = {"post": "POST", "dialog": "DIALOG"}


class WrittenForm(NamedTuple):
    """A form as written: where it leads (nothing: to the page itself), and the rest of it."""

    action: str
    method: str
    fields: tuple[Field, ...]
    enctype: str
    is_cut: bool


def read_forms(found: Elements) -> tuple[list[WrittenForm], list[Problem]]:
    """The forms of a page as written."""
    nodes = found.get("form", ())
    forms = []
    for node in nodes[:MAX_FORMS]:
        attributes = node.attributes
        fields, is_cut = _fields(node)
        method = _METHODS.get((attributes.get("method") or "").strip().lower(), "GET")
        enctype = (attributes.get("enctype") or "").strip().lower()[:_MAX_WORD]
        forms.append(WrittenForm(attributes.get("action") or "", method, fields, enctype, is_cut))
    return forms, [Problem("too-many-forms", str(len(nodes)))] if len(nodes) > MAX_FORMS else []


def forms_of(written: list[WrittenForm], actions: Urls) -> tuple[tuple[Form, ...], list[Problem]]:
    """The forms of a page, given where they lead."""
    problems = []
    forms = []
    for form, action in zip(written, actions, strict=True):
        if action is None:
            continue
        if form.is_cut:
            problems.append(Problem("too-many-fields", action[:100]))
        forms.append(Form(action, form.method, form.fields, form.enctype))
    return tuple(forms), problems


def _fields(form: LexborNode) -> tuple[tuple[Field, ...], bool]:
    nodes = form.css(_IN_FORMS)
    named = [node for node in nodes if node.tag != "label"]
    labels = _labels([node for node in nodes if node.tag == "label"]) if len(named) < len(nodes) else {}
    fields: dict[str, Field] = {}
    for place, node in enumerate(named[:MAX_FIELDS]):
        field = _field(node, labels)
        if field is None:
            continue
        key = f"radio {field.name}" if field.type == "radio" else str(place)
        if key in fields:
            field = _grouped(fields[key], field)
        fields[key] = field
    return tuple(fields.values()), len(named) > MAX_FIELDS


def _field(node: LexborNode, labels: dict[str, str]) -> Field | None:
    attributes = node.attributes
    name = attributes.get("name") or ""
    if not name or "disabled" in attributes:
        return None
    value = (attributes.get("value") or "")[:_MAX_WORD]
    options: tuple[str, ...] = ()
    kind = (attributes.get("type") or "").strip().lower()
    if node.tag == "select":
        kind = "select-multiple" if "multiple" in attributes else "select"
        value, options = _choices(node)
    elif node.tag == "textarea":
        kind, value = "textarea", node.text_lexbor()[:_MAX_WORD]
    elif node.tag == "button":
        kind = kind or "submit"
    elif kind == "radio":
        options, value = (value or "on",), (value or "on") if "checked" in attributes else ""
    elif listed := attributes.get("list"):
        options = _datalist(node, listed)
    label = _label(node, attributes, labels)
    return Field(name[:_MAX_WORD], kind[:_MAX_WORD] or "text", value, options, "required" in attributes, label)


def _grouped(group: Field, button: Field) -> Field:
    """A radio button joins those of its name."""
    options = (group.options + button.options)[:MAX_OPTIONS]
    return replace(
        group, options=options, value=group.value or button.value, is_required=group.is_required or button.is_required
    )


def _choices(select: LexborNode) -> tuple[str, tuple[str, ...]]:
    """The value that a select begins with, and all it offers."""
    chosen = None
    options = []
    for node in select.css("option")[:MAX_OPTIONS]:
        attributes = node.attributes
        if "disabled" in attributes:
            continue
        value = attributes.get("value")
        options.append((" ".join(node.text_lexbor().split()) if value is None else value)[:_MAX_WORD])
        if chosen is None and "selected" in attributes:
            chosen = options[-1]
    is_list = "multiple" in select.attributes
    return chosen if chosen is not None else ("" if is_list or not options else options[0]), tuple(options)


def _datalist(node: LexborNode, identity: str) -> tuple[str, ...]:
    for datalist in node.parser.css("datalist")[:MAX_FORMS]:
        if datalist.attributes.get("id") == identity:
            return _choices(datalist)[1]
    return ()


def _labels(nodes: list[LexborNode]) -> dict[str, str]:
    """What `<label for>` says, by the id it is for."""
    found = ((node.attributes.get("for"), node) for node in nodes[:MAX_FIELDS])
    return {identity: _text(node) for identity, node in found if identity}


def _label(node: LexborNode, attributes: dict[str, str | None], labels: dict[str, str]) -> str:
    """The label for a field, or around it; else what it says of itself."""
    identity = attributes.get("id")
    if identity and identity in labels:
        return labels[identity]
    parent = node.parent
    if parent is not None and parent.tag == "label":
        return _text(parent)
    return " ".join((attributes.get("aria-label") or attributes.get("placeholder") or "").split())[:_MAX_WORD]


def _text(node: LexborNode) -> str:
    return " ".join(node.text_lexbor()[: 8 * _MAX_WORD].split())[:_MAX_WORD]
