"""Which tests cover a folder of the source: `python -m tests.covering parts/forms`, for `make test FOR=parts/forms`.

`--since main` names those that cover what has changed since a commit, for `make test SINCE=main`.

Those in the folder of the same name, and those of `tests/properties`, `tests/lab` and the other folders that mirror no
source if they bear the folder's name (`test_crawl_forms.py`) or import from it, by themselves or through their helpers.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "periplus"


def covering(folder: str) -> list[Path]:
    """The folder's own tests, and the files of others that cover it."""
    own = [TESTS / folder] if (TESTS / folder).is_dir() else []
    return own + [path for path in cross_cutting() if is_named_after(path, folder) or covers(path, folder)]


def cross_cutting() -> list[Path]:
    """Test files that belong to no single module."""
    mirrored = {path.parent.name for path in SOURCE.glob("*/__init__.py")} | {"bench"}
    return [path for path in sorted(TESTS.rglob("test_*.py")) if path.relative_to(TESTS).parts[0] not in mirrored]


def is_named_after(test: Path, folder: str) -> bool:
    return _stem(Path(folder).name) in map(_stem, test.stem.split("_")[1:])


def _stem(word: str) -> str:
    return re.sub(r"(?:s|ed|ing)$", "", word)


def covers(test: Path, folder: str) -> bool:
    """Whether a test imports from a folder of the source."""
    return any((module + "/").startswith(folder + "/") for module in modules_reached(test))


@cache
def modules_reached(test: Path) -> frozenset[str]:
    """The modules of the source that a test, its helpers and the fixtures of its folder import, as paths."""
    fixtures = [path for path in (test.with_name("conftest.py"),) if path.exists() and path.parent != TESTS]
    seen, waiting, reached = {test, *fixtures}, [test, *fixtures], set[str]()
    while waiting:
        for module, name in _imports(waiting.pop()):
            root, _, inner = module.partition(".")
            if root == "periplus":
                reached.add(origin(inner.replace(".", "/"), name))
            helpers = [TESTS.parent.joinpath(*module.split(".")).with_suffix(".py")] if root == "tests" else []
            helpers += [helper.with_suffix("") / f"{name}.py" for helper in helpers]
            new = {helper for helper in helpers if helper.exists()} - seen
            seen |= new
            waiting += new
    return frozenset(reached)


@cache
def _imports(path: Path) -> tuple[tuple[str, str], ...]:
    """Each name that a file imports from a module, anywhere in it."""
    return tuple(_imported(ast.parse(path.read_bytes())))


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (("." * node.level + (node.module or ""), alias.name) for alias in node.names)


def origin(package: str, name: str) -> str:
    """The path of the module that has a name which a package offers."""
    folder = SOURCE / package
    if (folder / name).is_dir() or (folder / f"{name}.py").exists():
        return f"{package}/{name}"
    if (folder / "__init__.py").exists():
        for module, offered in _imports(folder / "__init__.py"):
            if offered == name and module.startswith(".") and not module.startswith(".."):
                return origin(f"{package}/{module[1:].replace('.', '/')}", name)
    return package


def changed_since(commit: str) -> list[Path]:
    """The tests that cover what differs from a commit, in files that are not committed as well."""
    git = ["git", "-C", str(TESTS.parent)]
    changed = [["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"]]
    names = [name for each in changed for name in subprocess.check_output([*git, *each], text=True).splitlines()]
    paths = [TESTS.parent / name for name in names]
    folders = {str(path.parent.relative_to(SOURCE)) for path in paths if SOURCE in path.parents}
    tests = {path for path in paths if path.name.startswith("test_") and path.suffix == ".py" and path.exists()}
    return sorted(tests.union(*(covering(folder) for folder in folders if folder != ".")))


def main(folder: str = "", since: str = "") -> int:
    """Print the paths for pytest: all tests where nothing is named."""
    if folder == "--since":
        paths, what = changed_since(since), f"what has changed since {since}"
    elif (SOURCE / folder).is_dir():
        paths, what = (
            covering(folder.strip("/")) if folder else [TESTS],
            f"{folder}: its own belong into tests/{folder}",
        )
    else:
        print(f"{folder}: not a folder of src/periplus", file=sys.stderr)  # noqa: T201
        return 2
    if not paths:
        print(f"no test covers {what}", file=sys.stderr)  # noqa: T201
        return 2
    print(*(path.relative_to(TESTS.parent) for path in paths), sep="\n")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
