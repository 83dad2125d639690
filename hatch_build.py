"""Builds the compiled modules, of Python's stable ABI: the page scanner, and the search in sorted runs of fingerprints.

Their C sources are in `src/periplus/content/scan/native` and `src/periplus/store/state/native`. A build hook of
hatchling, so that `pip install` compiles where it can. Without a compiler or Python's headers the package is installed
without them, and Python code does the same. The environment can decide otherwise: with `PERIPLUS_PURE=1` nothing is
compiled, with `PERIPLUS_NATIVE=1` a failure is an error.

`python hatch_build.py` (or `make native`) builds the modules into the sources, where an editable install finds them.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import (  # type: ignore[import-not-found, unused-ignore]
        BuildHookInterface,
    )
except ImportError:  # run by hand
    BuildHookInterface = object  # type: ignore[assignment, misc, unused-ignore]

SCAN = Path("src", "periplus", "content", "scan")
STATE = Path("src", "periplus", "store", "state")
COMPILER_TIMEOUT = 300
"""Seconds. A compiler takes a few; one that waits for something must not block an installation."""
FLAGS = ("-O3", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden")
IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
"""Free-threaded builds of Python have no stable ABI: there the module is for one version."""
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX") if IS_FREE_THREADED else ".abi3.so"


class ScannerBuildHook(BuildHookInterface):  # type: ignore[misc, valid-type, type-arg, unused-ignore]
    """Compiles both modules into the package before the wheel is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and mark the wheel as one for this platform."""
        root = Path(self.root)
        if version == "standard":  # what is installed without its sources; `periplus help` prints these
            pages = (root / "docs").glob("*.md")
            build_data["force_include"] |= {str(page): f"periplus/docs/{page.name}" for page in pages}
        if os.environ.get("PERIPLUS_PURE") == "1":
            return
        try:
            built = build(root)
        except (OSError, subprocess.SubprocessError) as error:
            if os.environ.get("PERIPLUS_NATIVE") == "1":
                raise
            self.app.display_warning(f"Nothing is compiled, pages are read by Python: {error}")
            return
        build_data["pure_python"] = False
        build_data["artifacts"] += [str(path.relative_to(root)) for path in built]
        if IS_FREE_THREADED:
            build_data["infer_tag"] = True
        else:
            build_data["tag"] = f"cp311-abi3-{_platform()}"


def build(root: Path) -> list[Path]:
    """Compile both modules into the sources, or none."""
    scanner = compile_scanner(root, root / SCAN / f"_native{SUFFIX}")
    return [scanner, compile_search(root, root / STATE / f"_find{SUFFIX}")]


def compile_scanner(root: Path, output: Path, flags: Sequence[str] = FLAGS) -> Path:
    """Compile the scanner. Raises `OSError` or `subprocess.SubprocessError` where that is not possible."""
    native = root / SCAN / "native"
    with tempfile.TemporaryDirectory() as folder:
        generated = Path(folder)
        write_tables(native, generated / "tables.h")
        return _compile(native / "module.c", output, flags, sources_digest(root), (native, generated))


def compile_search(root: Path, output: Path, flags: Sequence[str] = FLAGS) -> Path:
    """Compile the search in runs, with the same errors."""
    return _compile(root / STATE / "native" / "find.c", output, flags, search_digest(root), ())


def _compile(source: Path, output: Path, flags: Sequence[str], digest: str, folders: Sequence[Path]) -> Path:
    part = output.with_name(output.name + ".part")
    includes = [f"-I{path}" for path in (*folders, sysconfig.get_paths()["include"])]
    command = [*_compiler(), *flags, f'-DSOURCES_DIGEST="{digest}"', *_platform_flags(), *includes]
    subprocess.run([*command, str(source), "-o", str(part)], check=True, timeout=COMPILER_TIMEOUT)  # noqa: S603
    part.replace(output)
    return output


def sources_digest(root: Path) -> str:
    """Which sources these are; a built module says the same of those it was built from."""
    return _digest_of([*sorted((root / SCAN / "native").glob("*.[chp]*")), root / SCAN.parent / "common_words.py"])


def search_digest(root: Path) -> str:
    """The same of the search in runs."""
    return _digest_of([root / STATE / "native" / "find.c"])


def _digest_of(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def write_tables(native: Path, path: Path) -> None:
    """Write the header that is generated from Python's own tables."""
    tables = runpy.run_path(str(native / "generate.py"))["tables"]
    path.write_text(tables(), encoding="ascii")


def _compiler() -> list[str]:
    return os.environ.get("CC", "cc").split()


def _platform_flags() -> list[str]:
    """Apple's linker has to be told that Python's functions are found when the module is loaded."""
    return ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []


def _platform() -> str:
    """The tag of this platform, and not of a class of platforms that nobody has checked."""
    from packaging.tags import platform_tags

    return next(tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))


if __name__ == "__main__":
    here = Path(__file__).parent
    print(*(path.relative_to(here) for path in build(here)))  # noqa: T201
