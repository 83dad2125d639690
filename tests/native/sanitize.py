"""Reads many mutated pages with the compiled scanner under AddressSanitizer and UndefinedBehaviorSanitizer.

    python -m tests.native.sanitize [pages] [seed]

First the C part alone, as a program of its own, then the whole module in Python, with the sanitizers loaded before it.
The pages are documentation that is installed on this machine, and generated ones, with bytes removed, doubled and put
in; and hostile shapes. The first report of a sanitizer ends it with an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from hatch_build import FLAGS, SUFFIX, compile_scanner
from tests.content.sample_pages import sample_pages
from tests.native.scanner_driver import HOSTILE, ROOT, SANITIZED, build_sanitized, mutated, read_all

from periplus.store.export.markdown import hooks_of

PAGES: Final = 20_000
SHARE_IN_PYTHON: Final = 0.2
"""How many of the pages are read in Python as well: objects are made in few places, and Python is slow under checks."""
BATCH: Final = 500
_SAMPLE: Final = 150
_LARGE: Final = 1 << 20


def main(count: int, seed: int) -> None:
    """Read pages both ways."""
    with tempfile.TemporaryDirectory() as folder:
        driver = build_sanitized(Path(folder))
        read_all(driver, [shape(_LARGE) for shape in HOSTILE.values()])
        _print(f"C: {len(HOSTILE)} hostile pages of 1 MiB")
        pages = _pages(count, seed)
        done = 0
        while batch := list(islice(pages, BATCH)):
            done += len(read_all(driver, batch, done // BATCH % 4))
        _print(f"C: {done} mutated pages")
        _read_in_python(Path(folder), int(count * SHARE_IN_PYTHON), seed + 1)


def _pages(count: int, seed: int) -> Iterator[bytes]:
    return mutated(sample_pages(_SAMPLE)[0], count, seed)


def _read_in_python(folder: Path, count: int, seed: int) -> None:
    """Start Python again with the sanitizers loaded, and a module that needs them."""
    module = compile_scanner(ROOT, folder / f"_native{SUFFIX}", [*FLAGS, *SANITIZED])
    runtimes = [_runtime(name) for name in ("libasan.so", "libubsan.so")]
    environment = os.environ | {
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it needs until its end
        "PYTHONMALLOC": "malloc",  # so that the sanitizer sees each object
    }
    command = [sys.executable, "-m", "tests.native.sanitize", str(count), str(seed), str(module)]
    subprocess.run(command, check=True, env=environment, cwd=ROOT)


def _runtime(name: str) -> str:
    compiler = os.environ.get("CC", "cc").split()
    found = subprocess.run([*compiler, f"-print-file-name={name}"], check=True, stdout=subprocess.PIPE, text=True)
    return found.stdout.strip()


def _use(module: Path, count: int, seed: int) -> None:
    """Read pages with this module, asking for everything it can do."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("periplus.content.scan._native", module)
    assert spec is not None
    assert spec.loader is not None
    native = module_from_spec(spec)
    spec.loader.exec_module(native)
    url = "http://docs.example.org/library/page.html"
    hooks = hooks_of(url, url, "utf-8")
    for page in _pages(count, seed):
        native.write_markdown(page.decode("utf-8", "replace").encode(), url, url, hooks)
        columns = native.scan(page, url, True, True, True)
        native.resolve(url, [href for _, href in columns.unresolved])
        native.masked(columns.main)
        native.text_counts(columns.text, columns.main)
        native.count_controls(page)
    _print(f"Python: {count} mutated pages")


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) > 3:
        _use(Path(sys.argv[3]), int(sys.argv[1]), int(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else PAGES, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
