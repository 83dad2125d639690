"""Which tests cover a folder of the source: `python -m tests.covering parts/forms`, for `make test FOR=parts/forms`.

`--since main` names those that cover what has changed since a commit, for `make test SINCE=main`.

Those in the folder of the same name, and those of `tests/properties`, `tests/lab` and the other folders that mirror no
source if they bear the folder's name (`test_crawl_forms.py`) or import from it, by themselves or through their helpers.
A folder of the crawler is named as below `src/periplus`, one of another distribution with that before it:
`lab/simulate`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
SOURCE = ROOT / "src" / "periplus"
DISTRIBUTIONS = {
    "lab": "periplus_lab",
    "sites": "periplus_sites",
    "bridges/ray": "periplus_ray",
    "bridges/scrapy": "periplus_scrapy",
    "bridges/urlfrontier": "periplus_urlfrontier",
}
"""The folders of distributions besides the crawler, and their packages."""
ROOTS = [TESTS, *(ROOT / folder / "tests" for folder in DISTRIBUTIONS)]
"""Where tests are."""
HOMES = {"periplus": "", **{package: folder for folder, package in DISTRIBUTIONS.items()}}


def source_of(folder: str) -> Path:
    """The folder of the source of this name."""
    home, inner = _split(folder)
    return ROOT / home / "src" / DISTRIBUTIONS[home] / inner if home else SOURCE / inner


def tests_of(folder: str) -> Path:
    """The folder of tests that mirrors it."""
    home, inner = _split(folder)
    return ROOT / home / "tests" / inner


def _split(folder: str) -> tuple[str, str]:
    home = next((home for home in DISTRIBUTIONS if f"{folder}/".startswith(f"{home}/")), "")
    return home, folder.removeprefix(home).strip("/")


def name_of(source: Path) -> str:
    """The name of a file or folder of the source."""
    home = next((home for home in DISTRIBUTIONS if source_of(home) in (source, *source.parents)), "")
    return str(Path(home) / source.relative_to(source_of(home)))


def covering(folder: str) -> list[Path]:
    """The folder's own tests, and the files of others that cover it."""
    own = [tests_of(folder)] if tests_of(folder).is_dir() else []
    return own + [path for path in cross_cutting() if is_named_after(path, folder) or covers(path, folder)]


def cross_cutting() -> list[Path]:
    """Test files that belong to no single module."""
    return sorted(path for home in ("", *DISTRIBUTIONS) for path in _cross_cutting(home))


def _cross_cutting(home: str) -> Iterator[Path]:
    mirrored = {path.parent.name for path in source_of(home).glob("*/__init__.py")} | {"bench"}
    for path in tests_of(home).rglob("test_*.py"):
        folder = path.relative_to(tests_of(home)).parts[0]
        if folder not in mirrored and not (home and folder == path.name):
            yield path


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
            if root in HOMES:
                reached.add(origin("/".join(filter(None, (HOMES[root], *inner.split(".")))), name))
            is_helper = root in ("tests", "lab", "bridges")
            helpers = [ROOT.joinpath(*module.split(".")).with_suffix(".py")] if is_helper else []
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
    folder = source_of(package)
    if (folder / name).is_dir() or (folder / f"{name}.py").exists():
        return f"{package}/{name}"
    if (folder / "__init__.py").exists():
        for module, offered in _imports(folder / "__init__.py"):
            if offered == name and module.startswith(".") and not module.startswith(".."):
                return origin(f"{package}/{module[1:].replace('.', '/')}", name)
    return package


def changed_since(commit: str) -> list[Path]:
    """The tests that cover what differs from a commit, in files that are not committed as well."""
    git = ["git", "-C", str(ROOT)]
    changed = [["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"]]
    names = [name for each in changed for name in subprocess.check_output([*git, *each], text=True).splitlines()]
    paths = [ROOT / name for name in names]
    sources = [source_of(home) for home in ("", *DISTRIBUTIONS)]
    folders = {name_of(path.parent) for path in paths if any(source in path.parents for source in sources)}
    tests = {path for path in paths if path.name.startswith("test_") and path.suffix == ".py" and path.exists()}
    return sorted(tests.union(*(covering(folder) for folder in folders if folder != ".")))


def main(folder: str = "", since: str = "") -> int:
    """Print the paths for pytest: all tests where nothing is named."""
    if folder == "--since":
        paths, what = changed_since(since), f"what has changed since {since}"
    elif source_of(folder.strip("/")).is_dir():
        own = tests_of(folder.strip("/")).relative_to(ROOT)
        paths, what = covering(folder.strip("/")) if folder else ROOTS, f"{folder}: its own belong into {own}"
    else:
        print(f"{folder}: not a folder of src/periplus or of {', '.join(DISTRIBUTIONS)}", file=sys.stderr)  # noqa: T201
        return 2
    if not paths:
        print(f"no test covers {what}", file=sys.stderr)  # noqa: T201
        return 2
    print(*(path.relative_to(ROOT) for path in paths), sep="\n")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
