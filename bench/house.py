"""How large the house is, and how often it says the same: `python -m bench.house [FOLDER ...] [--json]`.

    git worktree add /tmp/before COMMIT
    python -m bench.house /tmp/before .

A folder is a checkout; without any it is this one, and several are columns of one table. All counts are of the crawler
in `src/periplus`; files and code lines of the distributions beside it follow, each by its folder. Code is what remains
of a file without blank lines, comments and docstrings. Value types are classes of `Struct`, `NamedTuple`, `dataclass`
or `TypedDict`; one of four fields or more is a near copy if another has 80 % of their names. A module has its own test
if a file is called `test_` and its name; the test is in its place if it is also in the folder of `tests` that mirrors
the module's.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, to_builtins

ROOT: Final = Path(__file__).resolve().parent.parent
MIN_FIELDS: Final = 4
SAME_SHARE: Final = 0.8
LARGEST: Final = 10
VALUE_BASES: Final = {"Struct", "NamedTuple", "TypedDict"}
LAYOUT: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


class Module(NamedTuple):
    """A file of the source: its path inside the package, and what is in it."""

    path: Path
    text: str
    tree: ast.Module


class Room(Struct, frozen=True):
    """One folder directly inside the package; what lies beside the folders is `.`."""

    files: int
    code_lines: int


class House(Struct, frozen=True):
    """What was counted in one checkout.

    `repeated_names` are class names that are defined more than once, `constructors` the parameters of the largest
    `__init__`, without `self`, by class.
    """

    rooms: dict[str, Room]
    distributions: dict[str, Room]
    files: int
    code_lines: int
    code_lines_without_apps: int
    value_types: int
    near_copies: int
    repeated_names: int
    constructors: dict[str, int]
    modules: int
    modules_with_a_test: int
    tests_in_their_place: int


def measure(root: Path) -> House:
    """Count one checkout."""
    source = root / "src" / "periplus"
    modules = [_read(path, source) for path in sorted(source.rglob("*.py"))]
    classes = [(module, node) for module in modules for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
    types = value_types([node for _, node in classes])
    names = Counter(node.name for _, node in classes)
    rooms = _rooms(modules)
    named = [module.path for module in modules if module.path.stem not in ("__init__", "__main__")]
    tests = {path.relative_to(root / "tests") for path in (root / "tests").rglob("test_*.py")}
    stems = {path.stem for path in tests}
    return House(
        rooms=rooms,
        distributions=_distributions(root),
        files=len(modules),
        code_lines=sum(room.code_lines for room in rooms.values()),
        code_lines_without_apps=sum(room.code_lines for name, room in rooms.items() if name != "apps"),
        value_types=len(types),
        near_copies=near_copies([fields_of(node) for node in types]),
        repeated_names=sum(count > 1 for count in names.values()),
        constructors=_constructors(classes),
        modules=len(named),
        modules_with_a_test=sum(f"test_{path.stem}" in stems for path in named),
        tests_in_their_place=sum(path.with_name(f"test_{path.name}") in tests for path in named),
    )


def _read(path: Path, source: Path) -> Module:
    text = path.read_text()
    return Module(path.relative_to(source), text, ast.parse(text))


def _distributions(root: Path) -> dict[str, Room]:
    """The packages of other distributions, by the folder that has the distribution's `pyproject.toml`."""
    found = {}
    for project in sorted(root.glob("[!.]*/**/pyproject.toml")):
        lines = [code_lines(_read(path, root)) for path in sorted((project.parent / "src").rglob("*.py"))]
        if lines:
            found[str(project.parent.relative_to(root))] = Room(len(lines), sum(lines))
    return found


def _rooms(modules: Sequence[Module]) -> dict[str, Room]:
    found: dict[str, list[int]] = defaultdict(list)
    for module in modules:
        found["." if len(module.path.parts) == 1 else module.path.parts[0]].append(code_lines(module))
    return {name: Room(len(lines), sum(lines)) for name, lines in sorted(found.items())}


def code_lines(module: Module) -> int:
    """Lines that hold code."""
    prose: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - prose)


def value_types(classes: Sequence[ast.ClassDef]) -> list[ast.ClassDef]:
    """The classes that hold values: of the bases and decorators for these, or derived from one that is."""
    found: dict[int, ast.ClassDef] = {}
    known = set(VALUE_BASES)
    while True:
        new = [node for node in classes if id(node) not in found and _is_value(node, known)]
        if not new:
            return list(found.values())
        found.update((id(node), node) for node in new)
        known.update(node.name for node in new)


def _is_value(node: ast.ClassDef, known: set[str]) -> bool:
    decorators = {_name(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list}
    return "dataclass" in decorators or any(_name(base) in known for base in node.bases)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def fields_of(node: ast.ClassDef) -> frozenset[str]:
    """The names of the fields that a class declares itself."""
    declared = (each for each in node.body if isinstance(each, ast.AnnAssign) and _name(each.annotation) != "ClassVar")
    return frozenset(each.target.id for each in declared if isinstance(each.target, ast.Name))


def near_copies(types: Sequence[frozenset[str]]) -> int:
    """How many types have nearly all their fields in common with another."""
    large = [fields for fields in types if len(fields) >= MIN_FIELDS]
    return sum(
        any(len(fields & other) >= SAME_SHARE * len(fields) for place, other in enumerate(large) if place != own)
        for own, fields in enumerate(large)
    )


def _constructors(classes: Sequence[tuple[Module, ast.ClassDef]]) -> dict[str, int]:
    counts = Counter(
        {
            f"{module.path.with_suffix('').as_posix()}.{node.name}": _parameters(method)
            for module, node in classes
            for method in node.body
            if isinstance(method, ast.FunctionDef) and method.name == "__init__"
        }
    )
    return dict(counts.most_common(LARGEST))


def _parameters(method: ast.FunctionDef) -> int:
    given = method.args
    return len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs) - 1


def table(houses: dict[str, House]) -> Iterator[str]:
    """The counts as lines of text, a column for each checkout."""
    rooms = sorted({name for house in houses.values() for name in house.rooms})
    others = sorted({name for house in houses.values() for name in house.distributions})
    rows = [_rows(house, rooms, others) for house in houses.values()]
    names = list(rows[0])
    width, columns = max(map(len, names)), [max(len(label), 14) for label in houses]
    yield " " * width + "".join(f"  {label:>{column}}" for label, column in zip(houses, columns, strict=True))
    for name in names:
        cells = zip((each[name] for each in rows), columns, strict=True)
        yield f"{name:<{width}}" + "".join(f"  {cell:>{column}}" for cell, column in cells)
    for label, house in houses.items():
        yield f"\nlargest constructors of {label}: parameters"
        yield from (f"{count:4}  {name}" for name, count in house.constructors.items())


def _rows(house: House, rooms: Sequence[str], others: Sequence[str]) -> dict[str, str]:
    return {
        "files": f"{house.files:,}",
        "code lines": f"{house.code_lines:,}",
        "code lines without apps": f"{house.code_lines_without_apps:,}",
        **{f"  {name}: files, code lines": _room(house.rooms.get(name)) for name in rooms},
        **{f"{name}/: files, code lines": _room(house.distributions.get(name)) for name in others},
        "value types": f"{house.value_types:,}",
        "near copies of value types": f"{house.near_copies:,}",
        "class names defined more than once": f"{house.repeated_names:,}",
        "modules": f"{house.modules:,}",
        "modules with a test of their own name": f"{house.modules_with_a_test:,}",
        "modules whose test is in its place": f"{house.tests_in_their_place:,}",
    }


def _room(room: Room | None) -> str:
    return f"{room.files}, {room.code_lines:,}" if room else "-"


def main(arguments: Sequence[str] | None = None) -> int:
    """Count the checkouts that are named, and print what was counted."""
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT], help="checkouts; this one if none is given")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    houses = {str(folder): measure(folder) for folder in options.folders}
    if options.json:
        print(json.dumps(to_builtins(houses), indent=2))
    else:
        print(*table(houses), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
