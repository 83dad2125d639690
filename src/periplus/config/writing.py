"""Settings as a TOML file for people to read and edit: every setting is there, explained, defaults commented out.

What is written is read back as the same settings, whatever it holds.
"""

from __future__ import annotations

import functools
import re
import textwrap

from msgspec import Struct

from .fields import SettingField, duration_text, settings_of, size_text

HEADER = """\
# What this crawl was asked to do. Edit it, and continue with the same command.
# A line that begins with "#" shows a default. Options of the command line go over what stands here and are written
# down here; this file is then written again, without your own comments.
"""

_WIDTH = 100
_ESCAPED = re.compile(r'[\x00-\x1f\x7f"\\]')
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def dump(config: Struct, header: str = HEADER) -> str:
    """A file that is read back as the same settings."""
    lines = [header]
    for name, table in settings_of(type(config)).items():
        settings = getattr(config, table.attribute)
        lines += ["", "", *_comment(table.doc), f"[{name}]"]
        for field in settings_of(type(settings)).values():
            lines += _setting(field, getattr(settings, field.attribute))
    return "\n".join(lines) + "\n"


def _setting(field: SettingField, value: object) -> list[str]:
    lines = _assignment(field, value)
    if value == field.default:
        lines = [f"# {line}" for line in lines]
    return ["", *_comment(field.doc), *lines]


@functools.cache
def _comment(text: str) -> tuple[str, ...]:
    return tuple(f"# {line}" for line in textwrap.wrap(text, _WIDTH))


def _assignment(field: SettingField, value: object) -> list[str]:
    """On one line; a long list on several."""
    line = f"{field.name} = {written(value, field)}"
    if len(line) <= _WIDTH or not isinstance(value, tuple):
        return [line]
    rows = [" "]
    for item in value:
        text = f" {written(item)},"
        if len(rows[-1]) + len(text) > _WIDTH:
            rows.append(" ")
        rows[-1] += text
    return [f"{field.name} = [", *rows, "]"]


def written(value: object, field: SettingField | None = None) -> str:
    """A value in TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() if field is not None and field.is_size:
            return _quoted(size) if (size := size_text(value))[-1] == "B" else f"{value:_}"
        case int():
            return f"{value:_}"
        case float() if field is not None and field.is_duration and value > 0 and value.is_integer():
            return _quoted(duration_text(value))
        case float():
            return repr(value)
        case str():
            return _quoted(value)
        case dict():
            pairs = (f"{_key(key)} = {written(item)}" for key, item in value.items())
            return "{ " + ", ".join(pairs) + " }" if value else "{}"
        case tuple() | list():
            return "[" + ", ".join(written(item) for item in value) + "]"
        case _:
            raise TypeError(f"no setting: {value!r}")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    return f"\\{found[0]}" if found[0] in '"\\' else f"\\u{ord(found[0]):04X}"
