"""What a room offers: a paragraph to open with, a list of names, and a line on each of them."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import periplus


def packages() -> list[str]:
    found = pkgutil.walk_packages(periplus.__path__, "periplus.")
    return ["periplus", *(module.name for module in found if module.ispkg)]


@pytest.fixture(params=packages())
def package(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


def test_package_opens_with_prose(package: ModuleType) -> None:
    """A newcomer reads what the room is before any code."""
    assert package.__doc__
    assert len(package.__doc__.split()) >= 10


def test_exports_exist_and_are_sorted_once(package: ModuleType) -> None:
    """`__all__` names what is there, each once."""
    names = list(getattr(package, "__all__", []))
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(package, name)] == []


def test_exported_classes_and_functions_are_documented(package: ModuleType) -> None:
    """Every public name says in a line what it is for."""
    for name in getattr(package, "__all__", []):
        value = getattr(package, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{package.__name__}.{name} has no docstring"


def lazily_exported(package: ModuleType) -> tuple[dict[str, str], dict[str, str]]:
    """The module of each name of a package: as type checkers read it, and as `lazy_exports` gets it."""
    tree = ast.parse(inspect.getsource(package))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and is_lazy(node)]
    if not calls:
        return {}, {}
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    modules: dict[str, str] = ast.literal_eval(calls[0].args[1])
    return (
        {alias.name: str(node.module) for node in imports for alias in node.names},
        {name: module for module, names in modules.items() for name in names.split()},
    )


def is_lazy(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "lazy_exports"


def test_lazy_names_are_those_that_type_checkers_see(package: ModuleType) -> None:
    """Each from the same module, all of them in `__all__`, and none of them named as a module of the package."""
    checked, loaded = lazily_exported(package)
    assert loaded == checked
    if loaded:
        assert set(package.__all__) == set(loaded)
        modules = {module.name for module in pkgutil.iter_modules([str(Path(str(package.__file__)).parent)])}
        assert modules & set(loaded) == set()
