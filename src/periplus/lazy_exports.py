"""Names that a package offers, each imported when it is first used.

A command uses a few names of a few packages. If every package imported all its modules, each command would load numpy,
Arrow and DuckDB, which takes longer than most of what commands do. So a package lists the modules of its names twice:
as imports for type checkers, and for `lazy_exports`. `tests/test_exports.py` compares the two.

A lazily exported name must not be the name of a module of the package: importing that module would replace it.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package. `modules` has the names of each module, separated by spaces."""
    origins = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> object:
        """Import the module of a name, and keep the name in the package."""
        module = origins.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
