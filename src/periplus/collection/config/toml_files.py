"""Reads settings from TOML strictly, and writes them as TOML for people to edit.

A number may be written as text: a duration (`"1h30m"`) for a setting with a decimal point, a size (`"10MiB"`) for a
whole number. A written file has the settings that are not at their defaults, and reads back as the same settings.
"""

from __future__ import annotations

import functools
import math
import re
import textwrap
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from periplus.model import ConfigError

from .fields import SettingField, duration_text, parse_duration, parse_size, settings_of, size_text

C = TypeVar("C", bound=Struct)
"""Tables of settings as one value: of a crawl or of an experiment. A method `check` may refuse what cannot be."""

MAX_FILE = 64 * 2**20
"""A file of settings may hold a million seeds; what is longer is something else."""

_EXPECTED = {
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    bool: "true or false",
}


def load(config: type[C], path: Path, options: Mapping[str, object] | None = None) -> C:
    """Read settings from a file, over the defaults.

    A setting of the file that is refused by itself is read with `options`, named as `table.key`, as one value.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}", hint="give the path of a TOML file") from error
    if len(data) > MAX_FILE:
        raise ConfigError(
            f"{path}: too long for settings", hint="put many seeds into a file of their own: --seeds FILE"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not in UTF-8 at byte {error.start}", hint="save the file as UTF-8") from error
    return parse(config, text, str(path), options or {})


def parse(config: type[C], text: str, source: str, options: Mapping[str, object] | None = None) -> C:
    """Read settings from a text, over the defaults; see `load`."""
    try:
        tree = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(
            f"{source}: {error}", hint='settings are TOML: [table], then key = value, texts in ""'
        ) from error
    try:
        return _composed(config(), tree, source)
    except ConfigError:
        changes = _tree_of(options or {})
        if not changes:
            raise
        try:
            return _composed(config(), _merged(tree, changes), source)
        except ConfigError:  # then it is not for want of the options
            pass
        raise


def with_options(config: C, options: Mapping[str, object], source: str) -> C:
    """The configuration with some settings changed, named as `table.key`."""
    return _composed(config, _tree_of(options), source)


def _tree_of(options: Mapping[str, object]) -> dict[str, dict[str, object]]:
    tree: dict[str, dict[str, object]] = {}
    for name, value in options.items():
        table, _, key = name.partition(".")
        if value is not None:
            tree.setdefault(table, {})[key] = value
    return tree


def _merged(tree: Mapping[str, object], changes: Mapping[str, dict[str, object]]) -> dict[str, object]:
    merged = dict(tree)
    for name, table in changes.items():
        known = merged.get(name)
        merged[name] = {**known, **table} if isinstance(known, dict) else table
    return merged


def read_settings(config: Struct, settings: Mapping[str, object], source: str) -> dict[str, object]:
    """Settings by `table.key`, their names and values checked as those of a file are; `None` is left out."""
    return {
        name: _value(_named(config, name, source), value, _place(name, source))
        for name, value in settings.items()
        if value is not None
    }


def read_assignments(config: Struct, texts: Iterable[str], source: str) -> dict[str, object]:
    """Like `read_settings`, from texts `TABLE.KEY=VALUE`. A value is TOML; quotes around a text may be left out."""
    found: dict[str, object] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise ConfigError(
                f"{source} must be TABLE.KEY=VALUE, got {text[:100]}", hint=f"write {source} politeness.delay=2s"
            )
        field = _named(config, name, source)
        found[name] = _value(field, _assigned(field, value), _place(name, source))
    return found


def _named(config: Struct, name: str, source: str) -> SettingField:
    """The setting `table.key`."""
    table, _, key = name.partition(".")
    tables = settings_of(type(config))
    if table not in tables:
        raise _unknown_table(config, table, source)
    known = settings_of(tables[table].type)
    if key not in known:
        raise _unknown_key(config, table, key, known, source)
    return known[key]


def _place(name: str, source: str) -> str:
    table, _, key = name.partition(".")
    return f"{source}: [{table}] {key}"


def _assigned(field: SettingField, text: str) -> object:
    """A value in TOML; what is not TOML is a text, as is whatever is given for a setting that is a text."""
    try:
        tree = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    value = tree["value"] if len(tree) == 1 else text
    is_text = field.type is str or get_origin(field.type) is Literal
    return text if is_text and not isinstance(value, str) else value


def _composed(config: C, tree: Mapping[str, object], source: str) -> C:
    tables = settings_of(type(config))
    changed: dict[str, Struct] = {}
    for name, table in tree.items():
        if name not in tables:
            raise _unknown_table(config, name, source, is_table=isinstance(table, dict))
        if not isinstance(table, dict):
            raise ConfigError(f"{source}: {name} is a table", hint=f"write [{name}] on a line of its own")
        changed[tables[name].attribute] = _read_table(config, name, table, source)
    new = replace(config, **changed)
    try:
        if hasattr(new, "check"):
            new.check()
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}", hint=error.hint) from error
    return new


def _read_table(config: Struct, name: str, table: Mapping[str, object], source: str) -> Struct:
    before: Struct = getattr(config, settings_of(type(config))[name].attribute)
    known = settings_of(type(before))
    values = asdict(before)
    for key, value in table.items():
        if key not in known:
            raise _unknown_key(config, name, key, known, source)
        values[known[key].attribute] = _value(known[key], value, f"{source}: [{name}] {key}")
    try:
        return type(before)(**values)
    except ConfigError as error:
        raise ConfigError(f"{source}: [{name}] {error}", hint=error.hint) from error


def _value(field: SettingField, value: object, place: str) -> object:
    """The value of a setting, if it can be one."""
    try:
        if isinstance(value, str) and field.type in (int, float):
            value = parse_duration(value) if field.type is float else parse_size(value)
        found: Any = msgspec.convert(value, field.type)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}", hint=error.hint) from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{place}: expected {_expected(field)}, got {_shown(value)}", hint=_example(field)) from error
    if isinstance(found, int | float):
        _check_number(field, found, place)
    return found


def _check_number(field: SettingField, number: float, place: str) -> None:
    if not math.isfinite(number) or abs(number) >= 2**63:
        raise ConfigError(f"{place}: {number} is not a finite number", hint=_example(field))
    if number < 0 <= field.default:
        raise ConfigError(f"{place}: {number} is less than 0", hint=_example(field))


def _expected(field: SettingField) -> str:
    if str(field.type).startswith("tuple"):
        return "a list of texts" if "str" in str(field.type) else "a list of numbers"
    if str(field.type).startswith("dict"):
        return "a table of numbers" if "float" in str(field.type) else "a table of texts"
    if get_origin(field.type) is Literal:
        return "one of " + ", ".join(get_args(field.type))
    return _EXPECTED[field.type]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _example(field: SettingField) -> str:
    example = field.default
    if example == ():
        example = ("one", "two")
    elif example == {}:
        example = {"name": 1.0} if "float" in str(field.type) else {"name": "value"}
    return f"write it as {field.name} = {written(example, field)}"


def _unknown_table(config: Struct, name: str, source: str, *, is_table: bool = False) -> ConfigError:
    tables = settings_of(type(config))
    near = _did_you_mean(name, tables, "[{}]")
    if is_table:
        hint = f"{near} If it was of a part that is not there any more, remove it"
        return ConfigError(f"{source}: unknown table [{name}]", hint=hint)
    homes = [table for table in tables if name in settings_of(type(getattr(config, tables[table].attribute)))]
    if homes:
        return ConfigError(f"{source}: {name} is outside its table", hint=f"put it below [{homes[0]}]")
    return ConfigError(f"{source}: unknown table [{name}]", hint=near)


def _unknown_key(config: Struct, table: str, key: str, known: Mapping[str, object], source: str) -> ConfigError:
    """Most like a key of this table, or at home in another."""
    message = f"{source}: [{table}] has no setting {key!r}"
    if not get_close_matches(key[:100], known, n=1):
        for other, field in settings_of(type(config)).items():
            if key in settings_of(type(getattr(config, field.attribute))):
                return ConfigError(message, hint=f"it belongs below [{other}]")
    return ConfigError(message, hint=_did_you_mean(key, known, "{}"))


def _did_you_mean(name: str, known: Mapping[str, object], form: str) -> str:
    near = get_close_matches(name[:100].lower(), known, n=1, cutoff=0.0) or list(known)[:1]
    return f"did you mean {form.format(near[0])}?"


HEADER = """\
# What this crawl was asked to do. Edit it, and continue with the same command. `periplus settings` shows every setting.
# Options of the command line go over what stands here and are written down here; this file is then written again,
# without your own comments. After a change of private addresses, programs, proxies or files elsewhere, run
# `periplus trust` on this folder once.
"""

_WIDTH = 100
_ESCAPED = re.compile(r'[\x00-\x1f\x7f"\\]')
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def dump(config: Struct, header: str = HEADER, *, has_defaults: bool = False) -> str:
    """A file that is read back as the same settings: those that were changed, each below a line on what it is.

    With `has_defaults` it has the others, too, commented out, and all explanations in full.
    """
    lines, most = [header], None if has_defaults else 1
    for name, table in settings_of(type(config)).items():
        settings = getattr(config, table.attribute)
        body: list[str] = []
        for field in settings_of(type(settings)).values():
            value = getattr(settings, field.attribute)
            mark = "# " if value == field.default else ""
            if has_defaults or not mark:
                assignment = (mark + line for line in _assignment(field, value))
                body += [*([""] if has_defaults else ()), *_comment(field.doc, most), *assignment]
        if body:
            lines += ["", *(["", *_comment(table.doc)] if has_defaults else ()), f"[{name}]", *body]
    return "\n".join(lines) + "\n"


@functools.cache
def _comment(text: str, most: int | None = None) -> tuple[str, ...]:
    """The lines of an explanation, at most `most`."""
    return tuple(f"# {line}" for line in textwrap.wrap(text, _WIDTH, max_lines=most, placeholder=" ..."))


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
