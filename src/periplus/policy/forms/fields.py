"""What a field of a form is for, and which values it may take (Madhavan et al. 2008; Olston & Najork 2010 section 7.3).

A select or a group of radio buttons has its options; one that only changes how results are shown stays as it is. Two
fields that are the ends of a range are one input with consecutive intervals. What a text field wants is said by its
name or label where it is a year, a date or a price; any other takes words, which are chosen later.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

from periplus.model import Field, Form

MAX_VALUES: Final = 1000
"""Options of a field that are used."""
_RANGES: Final = 10
"""Intervals into which a range is cut."""
_BUTTONS: Final = frozenset({"submit", "button", "image", "reset"})
_TEXTS: Final = frozenset({"text", "search", "number", "date", "month", ""})
_PRESENTATION: Final = re.compile(
    r"sort|order|view|layout|per.?page|limit|lang|locale|currenc|style|skin|theme|display|mode\b|format|rows|anzahl|tri\b",
    re.IGNORECASE,
)
"""Names and labels of fields that change how results are shown, not which."""
_EMPTY: Final = re.compile(
    r"(?:|-+|\*|0|-1|all|any|every|none|select.*|choose.*|please.*|alle|tous|toutes|todos|todas|tutti|все|bitte.*)",
    re.IGNORECASE,
)
"""Options that choose nothing."""
_YEAR: Final = re.compile(r"year|jahr|ann[eé]e|año|anno\b|год", re.IGNORECASE)
_DATE: Final = re.compile(r"date|datum|fecha|дата", re.IGNORECASE)
_PRICE: Final = re.compile(r"price|preis|prix|precio|prezzo|cost|цена", re.IGNORECASE)
_LOW: Final = re.compile(r"(from|min|start|begin|low|since|von|ab|desde|de)(?![a-z])", re.IGNORECASE)
_HIGH: Final = {
    "from": "to", "min": "max", "start": "end", "begin": "end", "low": "high", "since": "until", "von": "bis",
    "ab": "bis", "desde": "hasta", "de": "a",
}  # fmt: skip
_FIRST_YEAR: Final = 1990
"""The first year that is tried; the web is not older."""


class Use(StrEnum):
    """What a field is for."""

    CHOICE = "choice"
    PRESENTATION = "presentation"
    TEXT = "text"
    TYPED = "typed"
    RANGE = "range"
    CONSTANT = "constant"


Binding = tuple[tuple[str, str], ...]
"""Fields with their values."""


class Input(Struct, frozen=True):
    """One input of a form: its fields (two for a range), what it is for, and the bindings to try."""

    names: tuple[str, ...]
    use: Use
    bindings: tuple[Binding, ...] = ()
    is_required: bool = False


def inputs_of(form: Form, year: int) -> list[Input]:
    """The inputs of a form; buttons are none. `year` is the present one."""
    fields = [field for field in form.fields if field.type not in _BUTTONS]
    by_name = {field.name: field for field in fields}
    found, done = [], set[str]()
    for field in fields:
        if field.name in done:
            continue
        other = _other_end(field, by_name)
        if other is not None and (bindings := _intervals(field, other, year)):
            done.update((field.name, other.name))
            found.append(Input((field.name, other.name), Use.RANGE, bindings))
        else:
            done.add(field.name)
            found.append(_input(field, year))
    return found


def _input(field: Field, year: int) -> Input:
    use, values = _use(field, year)
    bindings = tuple(((field.name, value),) for value in values)
    return Input((field.name,), use, bindings, field.is_required)


def _use(field: Field, year: int) -> tuple[Use, tuple[str, ...]]:
    said = f"{field.name} {field.label}"
    if field.options:
        values = useful_options(field)
        if _PRESENTATION.search(said):
            return Use.PRESENTATION, ()
        return (Use.CHOICE, values) if len(values) > 1 else (Use.CONSTANT, ())
    if field.type not in _TEXTS:
        return Use.CONSTANT, ()
    if _YEAR.search(said):
        return Use.TYPED, tuple(str(each) for each in range(_FIRST_YEAR, year + 1))
    if _DATE.search(said) or field.type in {"date", "month"}:
        months = [(year - 1 + month // 12, month % 12 + 1) for month in range(24)]
        return Use.TYPED, tuple(f"{each}-{month:02}-01" for each, month in months)
    if _PRICE.search(said):
        return Use.TYPED, tuple(str(digit * 10**power) for power in range(1, 5) for digit in (1, 2, 5))
    return Use.TEXT, ()


def useful_options(field: Field) -> tuple[str, ...]:
    """The options of a field but for those that choose nothing, each once."""
    return tuple(dict.fromkeys(value for value in field.options if not _EMPTY.fullmatch(value.strip())))[:MAX_VALUES]


def _other_end(field: Field, by_name: dict[str, Field]) -> Field | None:
    """The field for the upper end of a range whose lower end this is."""
    for low in _LOW.finditer(field.name):
        word = low[1]
        high = _HIGH[word.lower()]
        name = field.name[: low.start()] + (high.capitalize() if word[0].isupper() else high) + field.name[low.end() :]
        if name != field.name and name in by_name:
            return by_name[name]
    return None


def _intervals(low: Field, high: Field, year: int) -> tuple[Binding, ...]:
    """Consecutive intervals of a range: by its options, or by what the field says it is."""
    values = useful_options(low) or _use(low, year)[1]
    if len(values) < 2:
        return ()
    step = max(1, -(-len(values) // _RANGES))
    cuts = values[::step]
    ends = [*cuts[1:], (useful_options(high) or values)[-1]]
    return tuple(((low.name, start), (high.name, end)) for start, end in zip(cuts, ends, strict=True))
