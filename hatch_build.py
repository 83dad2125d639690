"""Builds the compiled page scanner: C sources in `src/periplus/content/scan/native`, one module of Python's stable ABI.

A build hook of hatchling, so that `pip install` compiles where it can. Without a compiler or Python's headers the
package is installed without it, and pages are read by the Python scanner, which returns the same. The environment can
decide otherwise: with `PERIPLUS_PURE=1` nothing is compiled, with `PERIPLUS_NATIVE=1` a failure is an error.

`python hatch_build.py` (or `make native`) builds the module into the sources, where an editable install finds it.
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
COMPILER_TIMEOUT = 300
"""Seconds. A compiler takes a few; one that waits for something must not block an installation."""
FLAGS = ("-O3", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden")
IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
"""Free-threaded builds of Python have no stable ABI: there the module is for one version."""
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX") if IS_FREE_THREADED else ".abi3.so"


class ScannerBuildHook(BuildHookInterface):  # type: ignore[misc, valid-type, type-arg, unused-ignore]
    """Compiles the scanner into the package before the wheel is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile, and mark the wheel as one for this platform."""
        if os.environ.get("PERIPLUS_PURE") == "1":
            return
        root = Path(self.root)
        try:
            built = compile_scanner(root, root / SCAN / f"_native{SUFFIX}")
        except (OSError, subprocess.SubprocessError) as error:
            if os.environ.get("PERIPLUS_NATIVE") == "1":
                raise
            self.app.display_warning(f"The compiled page scanner is not built, pages are read by Python: {error}")
            return
        build_data["pure_python"] = False
        build_data["artifacts"].append(str(built.relative_to(root)))
        if IS_FREE_THREADED:
            build_data["infer_tag"] = True
        else:
            build_data["tag"] = f"cp311-abi3-{_platform()}"


def compile_scanner(root: Path, output: Path, flags: Sequence[str] = FLAGS) -> Path:
    """Compile the scanner. Raises `OSError` or `subprocess.SubprocessError` where that is not possible."""
    native = root / SCAN / "native"
    with tempfile.TemporaryDirectory() as folder:
        generated = Path(folder)
        write_tables(native, generated / "tables.h")
        part = output.with_name(output.name + ".part")
        includes = [f"-I{path}" for path in (native, generated, sysconfig.get_paths()["include"])]
        digest = f'-DSOURCES_DIGEST="{sources_digest(root)}"'
        command = [*_compiler(), *flags, digest, *_platform_flags(), *includes]
        command += [str(native / "module.c"), "-o", str(part)]
        subprocess.run(command, check=True, timeout=COMPILER_TIMEOUT)  # noqa: S603
        part.replace(output)
    return output


def sources_digest(root: Path) -> str:
    """Which sources these are; a built module says the same of those it was built from."""
    digest = hashlib.sha256()
    for path in (*sorted((root / SCAN / "native").glob("*.[chp]*")), root / SCAN.parent / "common_words.py"):
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
    print(compile_scanner(here, here / SCAN / f"_native{SUFFIX}").relative_to(here))  # noqa: T201
