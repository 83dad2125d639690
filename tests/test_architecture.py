"""The plan of the house, where import-linter cannot see it: which rooms may wait, and what packages offer."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

import pytest
from tests.covering import DISTRIBUTIONS, HOMES, TESTS, covering, name_of, source_of

from periplus.lazy_exports import lazy_exports, origins

SOURCE = source_of("")
MODULES = sorted(path for home in ("", *DISTRIBUTIONS) for path in source_of(home).rglob("*.py"))
PURE_ROOMS = ("model", "urls", "formats", "content", "graph", "policy")


def named(path: Path) -> str:
    return name_of(path)


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text_of(path))))


def test_there_are_modules_to_check() -> None:
    """A moved source folder must not turn the checks below into checks of nothing."""
    assert {path.parent.name for path in MODULES} >= set(PURE_ROOMS)


def test_packages_offer_what_they_name() -> None:
    """Each name in `__all__` can be imported, and no module of the package has the name of one that is loaded later."""
    homes = [importlib.import_module(home) for home in HOMES]
    inside = [found for home in homes for found in pkgutil.walk_packages(home.__path__, f"{home.__name__}.")]
    for package in [*homes, *(importlib.import_module(found.name) for found in inside if found.ispkg)]:
        names = getattr(package, "__all__", ())
        assert [name for name in names if not hasattr(package, name)] == []
        if getattr(getattr(package, "__getattr__", None), "__module__", "") == lazy_exports.__module__:
            assert set(origins(package.__name__)) == set(names)
            assert {module.name for module in pkgutil.iter_modules(package.__path__)} & set(names) == set()


def test_rooms_that_decide_do_not_wait_or_open() -> None:
    """No coroutine, no `open`, no `print` in a room that decides."""
    pure = [path for path in MODULES if Path(named(path)).parts[0] in PURE_ROOMS]
    pure = [path for path in pure if re.search(r"\b(?:async|await|open|print|input)\b", text_of(path))]
    assert [
        f"{named(path)}:{node.lineno}" for path in pure for node in nodes_of(path) if is_input_or_output(node)
    ] == []


def is_input_or_output(node: ast.AST) -> TypeGuard[ast.stmt | ast.expr]:
    if isinstance(node, ast.AsyncFunctionDef | ast.Await):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in {"open", "print", "input"}
    return False


_POSSESSIVE_GROUP = re.compile(r"(?<!\()\)(?:[*+?]|\{{1,2}[0-9,]+\}{1,2})\+")
"""The end of a group that is repeated possessively, also in an f-string; `()*+` is a set of characters."""


def test_no_possessive_groups() -> None:
    """Python before 3.11.5 misreads `(...)*+` if an iteration fails midway: atomic groups, `(?>(...)*)`, are right."""
    assert [
        f"{named(path)}:{line}: write (?>(...)*)"
        for path in MODULES
        if re.search(r"[*+?}]\+", text_of(path))
        for line, text in strings_in_code(path)
        if _POSSESSIVE_GROUP.search(text)
    ] == []


def strings_in_code(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each string constant of a module that is not a docstring."""
    prose = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and id(node) not in prose and isinstance(node.value, str | bytes):
            yield node.lineno, node.value if isinstance(node.value, str) else node.value.decode("latin-1")


def _renames(node: ast.AST) -> bool:
    """Whether a call renames a file: those of texts and dates have more arguments, or names for them."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    of = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
    if of in ("os", "shutil"):
        return node.func.attr in ("rename", "renames", "replace", "move")
    is_single = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Lambda)
    return node.func.attr in ("rename", "replace") and is_single


def test_one_module_renames_files() -> None:
    """`store/durable.py` syncs what it renames; a rename elsewhere would forget to."""
    rooms = [path for path in MODULES if Path(named(path)).parts[0] not in PURE_ROOMS]
    assert [named(path) for path in rooms if any(map(_renames, nodes_of(path)))] == ["store/durable.py"]


@pytest.mark.proof
def test_every_folder_of_the_source_is_covered() -> None:
    """`make test FOR=...` finds tests by name and by imports; those of a part are more than its own."""
    folders = [named(path.parent) for path in MODULES if path.name == "__init__.py"]
    assert [folder for folder in folders if folder != "." and not covering(folder)] == []
    found = {str(path.relative_to(TESTS)) for path in covering("parts/forms")}
    assert {"parts/forms", "lab/test_crawl_forms.py", "system/test_kill_forms.py"} <= found
    assert "conformance/test_queues.py" in {str(path.relative_to(TESTS)) for path in covering("store/state")}
    assert "store/state" in {str(path.relative_to(TESTS)) for path in covering("store/state")}
