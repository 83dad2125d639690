"""The compiled scanner is built from its sources, and not by accident from others; threads can use it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
from hatch_build import SUFFIX, ScannerBuildHook, compile_scanner, compile_search, search_digest, sources_digest
from tests.native.scanner_driver import HOSTILE, ROOT, STRICT

URL = "http://docs.example.org/library/page.html"
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")


@pytest.fixture
def native() -> ModuleType:
    """The module that is installed here."""
    module: ModuleType = pytest.importorskip("periplus.content.scan._native", reason="the native scanner is not built")
    return module


def test_module_is_up_to_date(native: ModuleType) -> None:
    """Tests of the native scanner test the sources that are here; if this fails, run `make native`."""
    assert sources_digest(ROOT) == native.SOURCES
    search = pytest.importorskip("periplus.store.state._find", reason="the search is not built")
    assert search_digest(ROOT) == search.SOURCES


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_compiles_without_warnings(tmp_path: Path, level: str) -> None:
    """All warnings that find mistakes are errors; some are found only where the compiler optimises."""
    strict = (level, "-std=c11", "-shared", "-fPIC", *STRICT)
    assert compile_scanner(ROOT, tmp_path / "strict.so", strict).is_file()
    assert compile_search(ROOT, tmp_path / "strict.so", strict).is_file()


def test_missing_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a compiler there is an error that the hook can handle, and no half of a module."""
    monkeypatch.setenv("CC", str(tmp_path / "cc"))
    with pytest.raises(OSError, match="cc"):
        compile_scanner(ROOT, tmp_path / "module.so")
    assert list(tmp_path.iterdir()) == []


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "tag", "has_module"),
    [
        ({}, "cp311-abi3", True),
        ({"PERIPLUS_PURE": "1"}, "py3-none", False),
        ({"CC": "/nonexistent/cc"}, "py3-none", False),
        ({"CC": "/nonexistent/cc", "PERIPLUS_NATIVE": "1"}, None, False),
    ],
    ids=["compiler", "pure", "no compiler", "no compiler, but wanted"],
)
def test_wheels(
    variables: dict[str, str], tag: str | None, has_module: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The hook makes a wheel for this platform where it can compile, and otherwise one for all, unless told not to."""
    pytest.importorskip("hatchling", reason="hatchling, which builds wheels, is not installed")
    for path in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / path, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    monkeypatch.delenv("PERIPLUS_PURE", raising=False)
    monkeypatch.delenv("PERIPLUS_NATIVE", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    wheels = list((tmp_path / "dist").glob("*.whl"))
    assert [wheel.name.split("-", 2)[2].startswith(tag or "") for wheel in wheels] == ([] if tag is None else [True])
    assert (built.returncode == 0) == (tag is not None)
    content = b"".join(wheel.read_bytes() for wheel in wheels)
    assert [f"{name}{SUFFIX}".encode() in content for name in ("_native", "_find")] == [has_module, has_module]
    sources = ROOT / "src"
    data = {file.relative_to(sources).as_posix() for kind in ("sql", "toml") for file in sources.rglob(f"*.{kind}")}
    assert "periplus/apps/audit/findings.toml" in data
    assert all(data <= set(ZipFile(wheel).namelist()) for wheel in wheels)


def test_hook_is_named_in_pyproject() -> None:
    """Hatchling finds the one hook of this file by itself."""
    assert ScannerBuildHook.__module__ == "hatch_build"
    assert "[tool.hatch.build.hooks.custom]" in (ROOT / "pyproject.toml").read_text()


def test_threads_do_not_disturb_each_other(native: ModuleType) -> None:
    """Each call has its own state, so that scans at the same time give what each gives alone."""
    pages = [shape(4_000) for shape in HOSTILE.values()]
    alone = [native.scan(page, URL, True, True, True) for page in pages]
    with ThreadPoolExecutor(4) as pool:
        for together in pool.map(lambda _: [native.scan(page, URL, True, True, True) for page in pages], range(8)):
            assert together == alone


@pytest.mark.parametrize(
    "arguments",
    [(), (b"", URL, False), ("", URL, False, False, False), (b"", b"", *[False] * 3), (b"", "\ud800", *[False] * 3)],
)
def test_wrong_arguments(native: ModuleType, arguments: tuple[object, ...]) -> None:
    """Wrong arguments are exceptions."""
    with pytest.raises((TypeError, UnicodeEncodeError)):
        native.scan(*arguments)


def test_odd_urls_resolve_nothing(native: ModuleType) -> None:
    """A page whose URL is not one of HTTP, or too long, has its links left to the URL parser."""
    for url in ("", "http://", "https://host", "ftp://host/", "http://host/" + "a" * 9000):
        columns = native.scan(b"<a href=x>y</a>", url, False, False, False)
        assert (columns.urls, columns.unresolved) == ([None], [(0, "x")])
        assert native.resolve(url, ["x"]) == [None]
