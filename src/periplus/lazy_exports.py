"""Names that a package offers, each imported when it is first used.

A command uses a few names of a few packages. If every package imported all its modules, each command would load numpy,
Arrow and DuckDB, which takes longer than most of what commands do. So a package writes its imports for type checkers
alone, and `lazy_exports` reads from them which module has which name:

    if TYPE_CHECKING:
        from .budgets import budgets_of
    else:
        __getattr__ = lazy_exports(__name__)

A lazily exported name must not be the name of a module of the package: importing that module would replace it.
"""

import ast
import sys
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

LOADED_AT: Final = time.time()
"""When the first package of the program was loaded, in POSIX time: before nearly all others."""


def lazy_exports(package: str) -> Callable[[str], object]:
    """Return the `__getattr__` of a package."""

    def load(name: str) -> object:
        """Import the module of a name, and keep the name in the package."""
        module = origins(package).get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module, package), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


class LazyModule(ModuleType):
    """A module of another package that is imported when something of it is first used.

    For modules that take long to load and that most commands do not need, though they load the one that uses it:

        if TYPE_CHECKING:
            import pyarrow.parquet as pq
        else:
            pq = LazyModule("pyarrow.parquet")
    """

    def __getattr__(self, name: str) -> object:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


@cache
def origins(package: str) -> dict[str, str]:
    """The module of each name, relative to the package, from the first `if` of its source. It takes 0.2 ms."""
    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_bytes())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {name.name: f"{'.' * node.level}{node.module}" for node in imports for name in node.names}
