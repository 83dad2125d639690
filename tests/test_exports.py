"""What a room offers: a paragraph to open with, a list of names, and a line on each of them."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from tests.covering import HOMES

from periplus.lazy_exports import origins


def packages() -> list[str]:
    found = [module for home in HOMES for module in pkgutil.walk_packages(import_module(home).__path__, f"{home}.")]
    return [*HOMES, *(module.name for module in found if module.ispkg)]


@pytest.fixture(params=packages())
def package(request: pytest.FixtureRequest) -> ModuleType:
    return import_module(request.param)


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


def test_lazy_names_are_those_of_the_package(package: ModuleType) -> None:
    """All of them are in `__all__`, and none is named as a module of the package."""
    if "lazy_exports" not in inspect.getsource(package):
        return  # it imports all its modules
    names = set(origins(package.__name__))
    modules = {module.name for module in pkgutil.iter_modules([str(Path(str(package.__file__)).parent)])}
    assert names == set(package.__all__)
    assert modules & names == set()
