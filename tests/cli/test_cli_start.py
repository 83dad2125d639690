"""What the program imports before it prints its first line, and what it never imports by accident."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.library.small_web import SEED, attentive, quick, shop

import periplus

PROGRAM = """
import atexit, sys
atexit.register(lambda: print("\\n".join(sys.modules), file=sys.stderr))
from periplus.cli import main
main()
"""
HEAVY = {"numpy", "scipy", "pyarrow", "pandas", "duckdb", "lmdb", "lxml", "matplotlib", "pycurl", "ray", "asyncio"}


def imported(*args: str) -> set[str]:
    """The modules in memory when the program ends."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *args], capture_output=True, timeout=120, check=True)
    assert done.stdout.startswith((b"periplus", b"Usage: "))
    return set(done.stderr.decode().split())


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.split(".")[0] == "periplus"}


def test_version_imports_next_to_nothing() -> None:
    """Neither the option parser nor any other room of the house."""
    modules = imported("--version")
    assert ours(modules) == {"periplus", "periplus.cli", "periplus.cli.version"}
    assert not modules & (HEAVY | {"click", "rich", "msgspec", "importlib.metadata"})


def test_help_imports_no_command() -> None:
    """The list of commands is printed without importing one of them; `parts` knows which parts have one."""
    modules = imported("--help")
    assert ours(modules) == {
        "periplus",
        "periplus.cli",
        "periplus.cli.verbs",
        "periplus.cli.installed",
    }
    assert not modules & (HEAVY | {"click", "rich", "msgspec"})


def test_settings_load_no_room() -> None:
    """Every command reads settings: neither arrays nor databases nor the wire are needed for that."""
    code = "import sys, periplus.collection.config.settings; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=True)
    modules = set(done.stdout.decode().split())
    assert not modules & HEAVY


def test_info_loads_no_tables_and_no_wire() -> None:
    """What is known of a collection is in its state: neither Arrow nor DuckDB nor a client of HTTP is needed."""
    code = "import sys, periplus.cli.info; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=True)
    modules = set(done.stdout.decode().split())
    assert "periplus.collection.facts.lookup" in modules
    assert not modules & (HEAVY - {"lmdb"} | {"periplus.engine.sitemaps.parser"})


def test_numpy_starts_no_threads() -> None:
    """It starts one a core otherwise, when it is loaded: a tenth of the time of a short command on large machines."""
    code = (
        "import os, sys; sys.argv = ['periplus', 'info', '--help']\n"
        "from periplus.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "import numpy; print(len(os.listdir('/proc/self/task')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=True, env={})
    assert done.stdout.split()[-1] == b"1"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small collection with an index."""
    home: Path = tmp_path_factory.mktemp("started")
    with shop(3) as web:
        periplus.crawl([SEED], out=home / "small", config=attentive(home), **quick(web)).run()
    opened = periplus.open(home / "small")
    opened.index()
    list(opened.query("select count(*) from urls"))  # computed once, and kept
    return str(home / "small")


NEVER = {
    "pydantic", "tantivy", "ssl", "concurrent.futures", "periplus.parts.forms.part", "periplus.engine.revisit.revisits",
    "periplus.formats.compression_dictionary",
}  # fmt: skip
"""What none of these commands loads: parts that are put together for a crawl, and what checks options that are odd."""
CRAWL = {"periplus.store.crawl_state", "periplus.store.state.disk", "periplus.policy.balance"}
"""The state as a crawl opens it: a question needs to know of a shard only how far it has come."""
COMPARING = HEAVY - {"lmdb", "numpy", "pyarrow"} | NEVER - {"ssl"} | CRAWL
"""What `changes` does not load. `pyarrow.parquet`, which it needs, loads `ssl`."""
PAGES = {"periplus.content.html", "periplus.content.entities", "periplus.store.export.documents"}


@pytest.mark.proof
@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (("info",), HEAVY - {"lmdb"} | NEVER | PAGES),
        (("info", "--json"), HEAVY - {"lmdb"} | NEVER | PAGES),
        (("search", "product"), HEAVY - {"lmdb", "numpy"} | NEVER - {"tantivy"} | PAGES),
        (("search", "product", "-n", "3", "--json"), HEAVY - {"lmdb", "numpy"} | NEVER - {"tantivy"} | PAGES),
        (("query", "select count(*) from fetches"), HEAVY - {"lmdb", "duckdb"} | NEVER | PAGES | CRAWL),
        (("query", "select site, sum(depth) from urls group by site"), HEAVY - {"lmdb", "duckdb"} | NEVER | PAGES),
        (
            ("query", "select count(*) from fetches", "--json"),
            HEAVY - {"lmdb", "numpy", "pyarrow", "duckdb"} | NEVER | PAGES | {"pyarrow.parquet", "pyarrow.compute"},
        ),
        (
            ("changes", "--since", "1h", "--limit", "5"),
            COMPARING,
        ),
    ],
)
def test_commands_load_what_they_use(indexed: str, words: tuple[str, ...], unused: set[str]) -> None:
    """A whole run of a command that reads a collection."""
    assert sorted(ran(words[0], indexed, *words[1:]) & unused) == []


DECIDING = {f"periplus.engine.revisit.{name}" for name in ("crawl_value", "estimation", "ledger", "objectives")}
"""How a watch chooses what to visit: not needed to know how fresh a collection is."""


@pytest.mark.proof
def test_a_refreshed_collection_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    """A crawl after which one page changed. To list the changes, no page is read; `info` estimates how fresh it is."""
    with shop(3) as web:
        periplus.crawl([SEED], out=tmp_path / "small", config=attentive(tmp_path), **quick(web)).run()
        web.said[f"{SEED}product/1"] = "<title>Product 1</title><p>Product number 1 is made of one part."
        assert periplus.open(tmp_path / "small").refresh(settings={"wire.proxy": web.base}).changed == 1
    listing, comparing = (ran("changes", str(tmp_path / "small"), *words) for words in (("--no-diff",), ()))
    assert sorted(listing & (COMPARING | PAGES)) == []
    assert sorted(comparing & COMPARING) == []
    assert "periplus.store.export.documents" in comparing
    stated = ran("info", str(tmp_path / "small"))
    assert "periplus.engine.revisit.fresh_share" in stated
    assert sorted(stated & (HEAVY - {"lmdb", "numpy"} | NEVER | PAGES | DECIDING | {"numpy.polynomial"})) == []


def ran(*args: str) -> set[str]:
    """The modules in memory when the command ends."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *args], capture_output=True, timeout=120, check=True)
    return set(done.stderr.decode().split())


@pytest.mark.parametrize(
    "room",
    [
        "periplus.store.tables.reader",
        pytest.param("periplus.apps.changes", marks=pytest.mark.slow),
    ],
)
def test_arrow_does_not_import_pandas(room: str) -> None:
    """As a library, too; and pandas still works with pyarrow in the same process afterwards."""
    assert importlib.util.find_spec("pandas") is not None
    code = (
        f"import sys, {room}, pyarrow\npyarrow.array(['a'])\nassert 'pandas' not in sys.modules\n"
        "frame = pyarrow.table({'a': [1, 2]}).to_pandas()\nassert frame['a'].sum() == 3\n"
        "assert pyarrow.Table.from_pandas(frame).num_rows == 2\n"
    )
    subprocess.run([sys.executable, "-c", code], timeout=120, check=True)


def test_pandas_that_is_loaded_already_is_recognised() -> None:
    """A notebook that uses pandas keeps all of what pyarrow does for it."""
    code = (
        "import pandas, periplus.store.tables.reader, pyarrow\n"
        "assert pyarrow.array(pandas.Series([1.0, float('nan')])).null_count == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], timeout=120, check=True)
