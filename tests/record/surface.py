"""What programs and people rely on, computed from the code: options, settings, columns, names, routes, exit codes.

Each function returns the text of one file in `recorded`, in lines that can be read in a diff. What has to be seen at
work, such as the keys of JSON, is in `answers`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import shlex
import types
import typing
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import msgspec
from click.testing import CliRunner
from msgspec import Struct
from tests.covering import HOMES, source_of

from periplus.apps.serve.app import described_api, make_app
from periplus.apps.serve.metrics import Figures
from periplus.apps.serve.routing import GuardedRoute
from periplus.apps.serve.served import Served, ServeSettings
from periplus.bridges.agents.mcp_server import _tool
from periplus.bridges.agents.rest import AgentRoutes
from periplus.bridges.agents.verbs import VERBS as TOOLS
from periplus.cli.app import app
from periplus.collection.config.fields import settings_of
from periplus.collection.config.settings import Config
from periplus.insight.views import VIEWS, Views
from periplus.model import PeriplusError
from periplus.store.tables import SCHEMAS
from periplus_lab.simulate.scenario import Scenario
from periplus_sites.publish.settings import PublishSettings

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TERMINAL: Final = {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "LINES": "40", "NO_COLOR": "1", "TERM": "dumb"}
"""The environment in which help is printed: as wide on every machine, and without colours."""
PUBLIC: Final = (
    "periplus",
    "periplus.robots",
    "periplus.sitemap",
    "periplus.urls",
    "periplus.publish",
    "periplus.search",
    "periplus_scrapy",
)
"""Modules that the docs tell programs to import."""
_BLOCK: Final = re.MULTILINE | re.DOTALL
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


# commands


@cache
def commands() -> dict[tuple[str, ...], Any]:
    """Every command and subcommand, by the words that are typed for it."""
    return dict(_commands(app, ()))


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from _commands(command.get_command(None, name), (*words, name))


def help_texts() -> str:
    """What `--help` prints, of every command, and `--help-all` where there is more."""
    printed = []
    for words, command in commands().items():
        known = {option for each in command.params for option in each.opts}
        for option in ("--help", *sorted(known & {"--help-all"})):
            typed = [*words, option]
            done = CliRunner().invoke(app, typed, prog_name="periplus", env=TERMINAL, color=False)
            assert done.exit_code == 0, done.output
            lines = [line.rstrip() for line in _COLOUR.sub("", done.stdout).strip().splitlines()]
            printed.append(f"$ {shlex.join(['periplus', *typed])}\n" + "\n".join(lines))
    return "\n\n".join(printed) + "\n"


def exit_codes() -> str:
    """Exit codes: of errors, those that each command can end with besides, and what docs/commands.md says of them."""
    lines = [f"error {name}: {code}" for name, code in sorted(_error_codes().items())]
    modules = {words[0]: _module_of(command) for words, command in commands().items() if words}
    lines += [f"periplus {verb}: {sorted(_codes(module))}" for verb, module in modules.items()]
    title = "every command"
    page = (ROOT / "docs" / "commands.md").read_text().replace("| exit code | means |", "")
    for paragraph in re.split(r"\n\n|\n(?=\|)", page):
        if paragraph.startswith("## "):
            title = paragraph.strip("#` \n")
        row = re.match(r"\| \d+ \|.*", paragraph)
        said = [row[0]] if row else re.split(r"(?<=[.|])\s+", paragraph.replace("\n", " "))
        lines += [f"documented, {title}: {each}" for each in said if row or re.search(r"\b[Ee]xit codes?\b", each)]
    return "\n".join(lines) + "\n"


def _error_codes() -> dict[str, int]:
    """The exit code of every class of errors, by its name, as the sources define them."""
    codes = {PeriplusError.__name__: PeriplusError.exit_code}
    defined: dict[str, tuple[str, int | None]] = {}
    for path in sorted(path for home in HOMES.values() for path in source_of(home).rglob("*.py")):
        for name, base, body in re.findall(r"^class (\w+)\((\w+)[^\n]*\n(.*?)(?=^\S|\Z)", path.read_text(), _BLOCK):
            own = re.search(r"^    exit_code = (\d+)$", body, re.MULTILINE)
            defined[name] = base, int(own[1]) if own else None
    while known := {name for name, (base, _) in defined.items() if base in codes and name not in codes}:
        for name in known:
            base, code = defined[name]
            codes[name] = codes[base] if code is None else code
    return codes


def _module_of(command: Any) -> str:
    """The module of a command or, of one in a package of its own, that package."""
    found: str = _function(command).__module__
    return found if found.count(".") == 2 else found.rpartition(".")[0]


def _function(command: Any) -> Any:
    callback = command.callback
    if callback is None:  # a group, which has only subcommands
        return _function(next(iter(command.commands.values())))
    return inspect.unwrap(callback)


def _codes(module: str) -> set[int]:
    """The values with which `Exit` is raised in a module, or in all modules of a package."""
    found: set[int] = set()
    for part in _modules(module):
        for node in ast.walk(ast.parse(inspect.getsource(part))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Exit", "sys.exit"):
                found |= {code for given in node.args for code in _values(given, part)}
    return found


def _modules(name: str) -> list[types.ModuleType]:
    module = importlib.import_module(name)
    inside = pkgutil.iter_modules(getattr(module, "__path__", []), f"{name}.")
    return [module, *(importlib.import_module(each.name) for each in inside)]


def _values(node: ast.expr, module: types.ModuleType) -> set[int]:
    """The numbers that an expression can have: constants by their names, functions by what they return."""
    match node:
        case ast.Constant(value=int(value)):
            return {value}
        case ast.IfExp(body=body, orelse=orelse):
            return _values(body, module) | _values(orelse, module)
        case ast.Name() | ast.Attribute():
            value = _named(ast.unparse(node), module)
            return {value} if isinstance(value, int) else set()
        case ast.Call(func=ast.Name(id=name)):
            function = _named(name, module)
            home = inspect.getmodule(function)
            assert home is not None
            tree = ast.parse(inspect.getsource(function))
            returned = [each.value for each in ast.walk(tree) if isinstance(each, ast.Return) and each.value]
            return {code for value in returned for code in _values(value, home)}
        case _:
            raise AssertionError(f"{module.__name__}: which exit codes are {ast.unparse(node)}?")


def _named(name: str, module: types.ModuleType) -> Any:
    """What a dotted name means in a module, also one that a function imports."""
    first, *rest = name.split(".")
    value = getattr(module, first, None)
    if value is None:
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.ImportFrom) and first in {alias.asname or alias.name for alias in node.names}:
                package = module.__name__ if hasattr(module, "__path__") else module.__package__
                source = importlib.import_module("." * node.level + (node.module or ""), package)
                value = getattr(source, first)
    for part in rest:
        value = getattr(value, part, None)
    return value


def documented_commands() -> list[tuple[str, str]]:
    """Every command line of the docs with what is wrong with it: an unknown command, option or choice."""
    return [(f"{page.name}: {line}", problem_of(words)) for page in PAGES for line, words in _typed(page)]


def _typed(page: Path) -> Iterator[tuple[str, list[str]]]:
    """The lines of a page's code blocks that are typed at a prompt, and the words of each `periplus` in them."""
    for block in re.findall(r"^```(?:console|sh|bash|shell)?\n(.*?)^```", page.read_text(), _BLOCK):
        for line in re.findall(r"^\$ (.*(?:\\\n.*)*)", block, re.MULTILINE):
            lexer = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            for words in _simple_commands(list(lexer)):
                if words[0] == "periplus":
                    yield line, words[1:]


def _simple_commands(words: list[str]) -> Iterator[list[str]]:
    """The commands of a line of the shell, without redirections."""
    command: list[str] = []
    is_file = False
    for word in [*words, ";"]:
        if is_file:
            is_file = False
        elif set(word) <= set("<>"):
            is_file = True
        elif set(word) <= set("&|;()"):
            if command:
                yield command
            command = []
        else:
            command.append(word)


def problem_of(words: list[str]) -> str:
    command: tuple[str, ...] = ()
    place = 0
    while place < len(words) and (*command, words[place]) in commands():
        command, place = (*command, words[place]), place + 1
    found = commands()[command]
    given = words[place:]
    if not command and given != ["--help"] and given != ["--version"]:
        return f"no command {given[0]}" if given else "no command"
    if "--help" in given:
        return ""
    context = found.context_class(found, info_name="periplus")
    try:
        values, left, _ = found.make_parser(context).parse_args(list(given))
    except Exception as error:
        return str(error)
    for parameter in found.params:
        try:
            parameter.process_value(context, values.get(parameter.name))
        except Exception as error:
            if "does not exist" not in str(error):  # the files and folders of an example
                return str(error)
    is_group = hasattr(found, "list_commands")
    return f"unexpected {left}" if left and not is_group else ""


# settings, tables, views


def settings() -> str:
    """Every setting of periplus.toml, of publish.toml and of experiments: type and default."""
    lines = []
    for file, kind in (("periplus.toml", Config), ("publish.toml", PublishSettings), ("simulate", Scenario)):
        for table, room in settings_of(kind).items():
            inner = room.type if isinstance(room.type, type) and issubclass(room.type, Struct) else type(room.default)
            if not issubclass(inner, Struct):
                lines.append(f"{file} {table}: {type_text(room.type)} = {_plain(room.default)}")
                continue
            lines += [
                f"{file} [{table}] {name}: {type_text(field.type)} = {_plain(field.default)}"
                for name, field in settings_of(inner).items()
            ]
    return "\n".join(lines) + "\n"


def _plain(value: object) -> str:
    """A value as JSON: without names of classes."""
    return msgspec.json.encode(value, enc_hook=str, order="sorted").decode()


def type_text(kind: Any, *, by_name: bool = False) -> str:
    """A type, by its values; or `by_name`, where structs and enumerations are types that programs know."""
    text = partial(type_text, by_name=by_name)
    if isinstance(kind, typing.NewType):
        return text(kind.__supertype__)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return text(inner[0])
    if origin is typing.Literal:
        return "|".join(map(str, inner))
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(text, inner))
    if origin is not None:
        return f"{text(origin)}[{', '.join(map(text, inner))}]"
    if kind is Ellipsis or kind is types.NoneType:
        return "..." if kind is Ellipsis else "None"
    if isinstance(kind, type) and issubclass(kind, Enum) and not by_name:
        return "|".join(str(each.value) for each in kind)
    if isinstance(kind, type) and issubclass(kind, Struct) and not by_name:
        return "{" + ", ".join(f"{f.encode_name}: {text(f.type)}" for f in msgspec.structs.fields(kind)) + "}"
    return str(getattr(kind, "__name__", kind))


def tables() -> str:
    """The columns of every table, with their Arrow types, in their order."""
    return "".join(f"{table}.{field.name}: {field.type}\n" for table, schema in SCHEMAS.items() for field in schema)


def views(folder: Path) -> str:
    """The columns of everything that `periplus query` lists, with their types in SQL."""
    lines = []
    with Views(folder) as opened:
        for name in VIEWS:
            described = opened.rows(f'describe select * from "{name}"')
            lines += [f"{name}.{row['column_name']}: {row['column_type']}" for row in described]
    return "\n".join(lines) + "\n"


# names of the library


def names() -> str:
    """Every public name of the documented modules: signatures, methods, fields, constants."""
    lines: list[str] = []
    for module in PUBLIC:
        found = importlib.import_module(module)
        for name in found.__all__:
            lines += _described(f"{module}.{name}", getattr(found, name))
    return "\n".join(lines) + "\n"


def _described(name: str, value: object) -> list[str]:
    if isinstance(value, types.ModuleType):
        return [f"{name}: module"]
    if isinstance(value, type):
        made = "" if issubclass(value, Enum) else _signature(value)
        return [f"{name}: class{made}", *_members(name, value)]
    if callable(value):
        return [f"{name}{_signature(value)}"]
    return [f"{name} = {_default(value)}"]


def _members(name: str, kind: type) -> Iterator[str]:
    """Public methods and properties, also those of our own base classes."""
    if issubclass(kind, Enum):
        yield from (f"{name}.{each.name} = {each.value!r}" for each in kind)
    ours = [each for each in kind.__mro__ if each.__module__.partition(".")[0] in HOMES]
    members = {member: value for each in reversed(ours) for member, value in vars(each).items()}
    for member, value in sorted(members.items()):
        if member.startswith("_"):
            continue
        inner = getattr(value, "__func__", value)
        if inspect.isfunction(inner):
            yield f"{name}.{member}{_signature(inner)}"
        elif isinstance(value, property) or hasattr(value, "func"):
            getter: Any = value.fget if isinstance(value, property) else value.func
            yield f"{name}.{member}: property -> {_annotation(inspect.signature(getter).return_annotation)}"


def _signature(value: Callable[..., Any]) -> str:
    """The parameters, with annotations as they are written and without those of the interpreter."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    given: list[str] = []
    for place, each in enumerate(found.parameters.values()):
        if place == 0 and each.name in ("self", "cls"):
            continue
        default = "" if each.default is each.empty else f" = {_default(each.default)}"
        star = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
        only = "*, " if each.kind is each.KEYWORD_ONLY and "*" not in "".join(given) else ""
        given.append(f"{only}{star}{each.name}: {_annotation(each.annotation)}{default}")
    returned = "" if found.return_annotation is found.empty else f" -> {_annotation(found.return_annotation)}"
    text = f"({', '.join(given)}){returned}"
    return text if len(text) < 120 else "(" + ",".join(f"\n    {each}" for each in given) + f"\n){returned}"


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return "any"
    return annotation if isinstance(annotation, str) else type_text(annotation, by_name=True)


def _default(value: object) -> str:
    """A default without places in memory."""
    if isinstance(value, Struct):
        return _plain(value)
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else text


# the server


def tools() -> str:
    """The tools of the Model Context Protocol, with the schemas of their arguments."""
    described = {name: _tool(name).model_dump(mode="json", exclude_none=True) for name in TOOLS}
    return _pretty(described)


def routes(folder: Path) -> str:
    """Every route of `periplus serve`: method, path and who may use it; of the API parameters and types."""
    served = Served((folder,), ServeSettings(port=0), (AgentRoutes(allows_sql=True),))
    lines = []
    for route in make_app(served).routes:
        if isinstance(route, GuardedRoute):
            methods = ",".join(sorted((route.methods or set()) - {"HEAD"}))
            lines.append(f"{methods} {route.path} for {route.guarded.audience.name.lower()}")
    return "\n".join(lines) + "\n"


def api() -> str:
    """The description of the API, in lines: parameters, what is returned, and the fields of every type."""
    described = described_api([AgentRoutes()])
    lines = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            given = [
                f"{'' if p['required'] else '['}{p['name']}{'' if p['required'] else ']'}: {p['schema']['type']}"
                for p in operation["parameters"]
            ]
            body = operation.get("requestBody")
            if body:
                given.append(f"body: {_schema_text(body['content']['application/json']['schema'])}")
            ((media, content),) = operation["responses"]["200"]["content"].items()
            returned = _schema_text(content["schema"]) if media == "application/json" else media
            lines.append(f"{method.upper()} {path} ({', '.join(given)}) -> {returned}")
    for name, schema in described["components"]["schemas"].items():
        lines += [f"{name}.{key}: {_schema_text(inner)}" for key, inner in schema.get("properties", {}).items()]
        if "properties" not in schema:
            lines.append(f"{name}: {_schema_text(schema)}")
    return "\n".join(lines) + "\n"


def _schema_text(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(map(_schema_text, schema["anyOf"]))
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        inner = schema["prefixItems"] if "prefixItems" in schema else [schema.get("items") or {}]
        return f"[{', '.join(map(_schema_text, inner))}]"
    if schema.get("type") == "object":
        return f"{{{_schema_text(schema.get('additionalProperties') or {})}}}"
    return str(schema.get("type", "any"))


def metrics(folder: Path) -> str:
    """The names of all metrics, with kind, labels and help."""
    found = Figures(Served((folder,), ServeSettings(port=0))).collect()
    return "".join(f"{each.type} {each.name} {list(each._labelnames)}: {each.documentation}\n" for each in found)  # type: ignore[attr-defined]


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1).decode() + "\n"
