"""`import periplus` costs nothing, and every public name is loaded when it is first used."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import periplus
from periplus import library
from periplus.cli.crawl.command import crawl as crawl_command

HEAVY = (
    "numpy",
    "pyarrow",
    "duckdb",
    "lmdb",
    "msgspec",
    "pycurl",
    "scipy",
    "lxml",
    "click",
    "rich",
    "asyncio",
    "email",
)


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code, beyond those it starts with."""
    program = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing() -> None:
    """Only the package itself, and nothing of ours below it."""
    loaded = loaded_after("import periplus")
    assert "periplus" in loaded
    assert [name for name in loaded if name.startswith("periplus.")] == []
    assert [name for name in HEAVY if name in loaded] == []


def test_errors_load_no_database() -> None:
    """Catching our errors needs the words, not what reads collections."""
    loaded = loaded_after("import periplus\nperiplus.PeriplusError\nperiplus.robots\nperiplus.urls")
    assert "periplus.model" in loaded
    assert [name for name in ("pyarrow", "duckdb", "lmdb", "pycurl") if name in loaded] == []


@pytest.mark.parametrize("name", periplus.__all__)
def test_public_names_are_there_and_listed(name: str) -> None:
    """Each name of `__all__` can be used, is shown by `dir`, and is the same object every time."""
    assert getattr(periplus, name) is getattr(periplus, name)
    assert name in dir(periplus)


def test_unknown_name() -> None:
    """A name that is not there is an `AttributeError`, as of any module."""
    with pytest.raises(AttributeError, match="sideways"):
        periplus.sideways  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("first", ["import periplus.engine.engine", "periplus.crawl"])
def test_crawl_is_a_function_beside_the_engine(first: str) -> None:
    """Whichever is used first: `periplus.crawl` can be called, and the engine can be imported."""
    code = f"import periplus\n{first}\nimport periplus.engine.clock as clock\nassert clock.SystemClock\n"
    loaded_after(code + "try: periplus.crawl('x')\nexcept TypeError as error: assert 'out' in str(error)\nelse: raise")


def test_keywords_are_the_options_of_the_command_line() -> None:
    """Every option of `periplus crawl` is a keyword, but for those that only say how to print."""
    options = set(inspect.signature(crawl_command).parameters) - {"dry_run", "help_all", "json", "set_"}
    keywords = set(inspect.signature(library.crawl).parameters)
    assert options <= keywords
    assert keywords - options == {"headers", "auth", "settings"}


def test_subject_modules() -> None:
    """robots.txt, sitemaps and URLs can be read without a crawl."""
    robots = periplus.robots.parse(b"User-agent: *\nDisallow: /private/\n")
    assert not robots.allows("Foobot", "https://example.org/private/x")
    listed = periplus.sitemap.read(
        b"<urlset><url><loc>https://example.org/a</loc></url></urlset>", "https://example.org/"
    )
    assert [value.url for value in listed if isinstance(value, periplus.sitemap.Entry)] == ["https://example.org/a"]
    assert periplus.urls.canonical("HTTPS://Example.org:443/a/../b") == "https://example.org/b"
