"""The plan of the house, where import-linter cannot see it: names, sizes, and who may wait."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "periplus"
MODULES = sorted(SOURCE.rglob("*.py"))
PURE_ROOMS = ("model", "urls", "formats", "content", "graph", "policy")
CATCH_ALL_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}
LONGEST_FILE = 450


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_there_are_modules_to_check() -> None:
    """A moved source folder must not turn the checks below into checks of nothing."""
    assert {path.parent.name for path in MODULES} >= set(PURE_ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_module_says_what_lives_here(path: Path) -> None:
    """A module opens with a docstring."""
    assert ast.get_docstring(tree_of(path)), f"{named(path)} has no docstring"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_no_room_for_leftovers(path: Path) -> None:
    """Rooms are nouns of the field: nothing is called utils or its like."""
    assert path.stem not in CATCH_ALL_NAMES
    assert path.parent.name not in CATCH_ALL_NAMES


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_one_subject_a_file(path: Path) -> None:
    """A file longer than one can hold in the head has two subjects."""
    lines = len(path.read_text().splitlines())
    assert lines <= LONGEST_FILE, f"{named(path)} has {lines} lines"


@pytest.mark.parametrize("path", [p for p in MODULES if p.relative_to(SOURCE).parts[0] in PURE_ROOMS], ids=named)
def test_rooms_that_decide_do_not_wait_or_open(path: Path) -> None:
    """No coroutine, no `open`, no `print` in a room that decides."""
    for node in ast.walk(tree_of(path)):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await), f"{named(path)}:{node.lineno} waits"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input"}, f"{named(path)}:{node.lineno} touches the world"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_protocols_have_plain_names(path: Path) -> None:
    """No Abstract or Base prefix: a Protocol has the plain name."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ClassDef):
            assert not node.name.startswith(("Abstract", "Base")), f"{named(path)}:{node.lineno} {node.name}"


_POSSESSIVE_GROUP = re.compile(r"(?<!\()\)(?:[*+?]|\{{1,2}[0-9,]+\}{1,2})\+")
"""The end of a group that is repeated possessively, also in an f-string; `()*+` is a set of characters."""


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_no_possessive_groups(path: Path) -> None:
    """Python before 3.11.5 misreads `(...)*+` if an iteration fails midway: atomic groups, `(?>(...)*)`, are right."""
    tree = tree_of(path)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in prose and isinstance(node.value, str | bytes):
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            assert not _POSSESSIVE_GROUP.search(text), f"{named(path)}:{node.lineno}: write (?>(...)*)"
