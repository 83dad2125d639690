"""The plan of the house, where import-linter cannot see it: names, which rooms may wait, and where tests are."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

import pytest
from tests.covering import DISTRIBUTIONS, HOMES, ROOT, ROOTS, TESTS, covering, cross_cutting, name_of, source_of

SOURCE = source_of("")
MODULES = sorted(path for home in ("", *DISTRIBUTIONS) for path in source_of(home).rglob("*.py"))
PURE_ROOMS = ("model", "urls", "formats", "content", "graph", "policy")
CATCH_ALL_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}
OTHER_NAMES = {"lastmod", "fetch", "def"}
"""Names in docstrings of packages that are not ours: of formats, and of JavaScript and Python."""


def named(path: Path) -> str:
    return name_of(path)


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def words_of(path: Path) -> frozenset[str]:
    """The words of the code, without docstrings."""
    return frozenset(re.findall(r"\w+", re.sub(r'(?s)""".*?"""', "", text_of(path))))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text_of(path))))


def test_there_are_modules_to_check() -> None:
    """A moved source folder must not turn the checks below into checks of nothing."""
    assert {path.parent.name for path in MODULES} >= set(PURE_ROOMS)


def test_every_module_has_a_docstring() -> None:
    """A module opens with a docstring."""
    assert [named(path) for path in MODULES if not text_of(path).startswith(('"""', 'r"""'))] == []


@pytest.mark.proof
def test_packages_name_what_they_have() -> None:
    """A name in the docstring of a package is a module or a name of its code: a reader looks for it there."""
    unknown = {}
    for package in (path for path in MODULES if path.name == "__init__.py"):
        docstring = text_of(package).split('"""')[1]
        inside = [path for path in MODULES if path.is_relative_to(package.parent)]
        known = OTHER_NAMES | {word for path in inside for word in (path.stem, path.parent.name, *words_of(path))}
        known |= {path.name for path in SOURCE.iterdir()} | {*DISTRIBUTIONS.values()}
        if missing := set(re.findall(r"(?<!`)`([a-z][a-z0-9_]+)`(?!`)", docstring)) - known:
            unknown[named(package)] = sorted(missing)
    assert unknown == {}


def test_no_module_has_a_catch_all_name() -> None:
    """Modules and packages are nouns of the field: nothing is called utils or the like."""
    assert [named(path) for path in MODULES if {path.stem, path.parent.name} & CATCH_ALL_NAMES] == []


@pytest.mark.proof
def test_classes_that_other_rooms_use_have_names_of_their_own() -> None:
    """A class that is used outside its room (its app, its part) is the only one of its name."""
    defined = Counter(node.name for path in MODULES for node in nodes_of(path) if isinstance(node, ast.ClassDef))
    repeated = {name for name, count in defined.items() if count > 1}
    shared = {(named(path), name) for path in MODULES for name in _used_from_other_rooms(path)}
    assert len(shared) > 1000
    assert sorted((path, name) for path, name in shared if name in repeated) == []


def _used_from_other_rooms(path: Path) -> Iterator[str]:
    own = _room([*Path(named(path)).parts[:-1]])
    modules: set[str] = set()
    imports = (node for node in nodes_of(path) if isinstance(node, ast.ImportFrom) and not node.level)
    for each in imports:
        package, *folders = str(each.module).split(".")
        if package in HOMES and _room([*filter(None, [HOMES[package]]), *folders]) != own:
            yield from (alias.name for alias in each.names)
            modules.update(alias.asname or alias.name for alias in each.names)
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield node.attr


def _room(folders: list[str]) -> list[str]:
    return folders[: 2 if folders[:1] in (["apps"], ["parts"]) else 1]


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


def test_protocols_have_plain_names() -> None:
    """No Abstract or Base prefix: a Protocol has the plain name."""
    assert [
        f"{named(path)} {found[1]}"
        for path in MODULES
        for found in re.finditer(r"^\s*class ((?:Abstract|Base)\w*)", text_of(path), re.MULTILINE)
    ] == []


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


def test_tests_mirror_the_source() -> None:
    """The test of `parts/forms/prober.py` is `tests/parts/forms/test_prober.py`, or begins with `test_prober_`.

    A test of a folder as a whole begins with the folder's name.
    """
    mirrored = {test for tests in ROOTS for test in tests.rglob("test_*.py")} - set(cross_cutting())
    assert len(mirrored) > 250
    assert [str(test.relative_to(ROOT)) for test in sorted(mirrored) if not _names_a_module(test)] == []


def _names_a_module(test: Path) -> bool:
    home = next(tests for tests in ROOTS if tests in test.parents)
    folder = test.parent.relative_to(home)
    place = Path() if home == TESTS else home.parent.relative_to(ROOT)
    source = ROOT / folder if folder.parts[:1] == ("bench",) else source_of(str(place / folder))
    names = {path.stem for path in source.glob("*.py")} | {folder.name}
    return any(f"{test.stem}_".startswith(f"test_{name}_") for name in names)


def test_folders_of_other_tests_say_what_they_cover() -> None:
    """A folder of tests that mirrors no source has a docstring."""
    folders = {
        tests / path.relative_to(tests).parts[0]
        for path in cross_cutting()
        for tests in ROOTS
        if tests in path.parents and path.parent != tests
    }
    assert len(folders) >= 8
    assert [folder.name for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


@pytest.mark.proof
def test_every_folder_of_the_source_is_covered() -> None:
    """`make test FOR=...` finds tests by name and by imports; those of a part are more than its own."""
    folders = [named(path.parent) for path in MODULES if path.name == "__init__.py"]
    assert [folder for folder in folders if folder != "." and not covering(folder)] == []
    found = {str(path.relative_to(TESTS)) for path in covering("parts/forms")}
    assert {"parts/forms", "lab/test_crawl_forms.py", "system/test_kill_forms.py"} <= found
    assert "conformance/test_queues.py" in {str(path.relative_to(TESTS)) for path in covering("store/state")}
    assert "store/state" in {str(path.relative_to(TESTS)) for path in covering("store/state")}
