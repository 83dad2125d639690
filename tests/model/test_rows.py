"""`model.rows`: a table is declared once, and one of a part by one module of its package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.installed_part import install

from periplus.model.rows import Moment, Number, TableRow, Text, WordList, columns_of, summary

ROOT = Path(__file__).resolve().parents[2]
TIDES = '"periplus.engine.part:Part", "watches the sea", rows="tides.rows"'
PART = '''
"""When the sea is high."""

from __future__ import annotations

from periplus.model.rows import Moment, TableQuestion, Real, TableRow, TableView, Word, WordList


class Tide(TableRow, frozen=True):
    """Every tide that was seen.

    The moon makes them.
    """

    table = "tides"
    key = ("port", "at")

    port: Word
    """where"""
    at: Moment
    """when"""
    height: Real | None
    """metres above
    the map's zero"""
    seen_by: WordList
    """who saw it"""


HIGHEST = "select port, max(height) as height from tides group by port"
VIEWS = (TableView("spring_tides", "The highest tide of each port.", HIGHEST),)
QUESTIONS = (TableQuestion("tides", "Where the sea is high.", "Wait.", "select * from spring_tides order by height"),)
'''
NEW_PART = """
import sys
from pathlib import Path

from tests import declared_tables

from periplus.insight.views import QUESTIONS, Views
from tides.rows import Tide
from periplus.store.tables import Spooled, Tables, read
from periplus.store.tables.reader import rows_of

folder = Path(sys.argv[1])
tables = Tables(folder / "tables", folder / "spool", shard=0, mark=None)
tables.record([Tide("Massalia", 1.5, 0.25, ("Pytheas",)), Tide("Massalia", 2.5, None, ())])
tables.settle()
tables.record([Tide("Gades", 3.0, 3.0, ("Poseidonios", "Strabo"))])
spooled = [Spooled(0, folder / "spool", tables.checkpoint())]
tables.close()
with Views(folder, spooled=spooled) as views:
    print(views.rows(QUESTIONS["tides"].sql))
    print(views.rows("select seen_by from tides where port = 'Gades'"))
print(rows_of(Tide, read(folder / "tables", "tides").to_batches()[0]))
print(declared_tables.tables_page().partition("## tides")[2].partition("\\n## ")[0])
print("| `spring_tides` | The highest tide of each port. |" in declared_tables.measures_page())
"""
SECTION = """

Every tide that was seen. The moon makes them.

| column | type | meaning |
|---|---|---|
| `port` | dictionary | where |
| `at` | timestamp | when |
| `height` | double | metres above the map's zero |
| `seen_by` | list<string> | who saw it |

True
"""
WITHOUT_A_PART = """
import sys
from pathlib import Path

from periplus.insight.views import QUESTIONS, VIEWS, Views
from periplus.store.tables import SCHEMAS, Tables

folder = Path(sys.argv[1])
tables = Tables(folder / "tables", folder / "spool", shard=0, mark=bytes.fromhex(sys.argv[2]))
mark = tables.settle()
tables.close()
with Views(folder) as views:
    for name in VIEWS:
        views.rows(f'select * from "{name}"')
    for question in QUESTIONS.values():
        views.rows(question.sql)
print([name for name in ("tides", "spring_tides") if name in {*SCHEMAS, *VIEWS, *QUESTIONS}], mark.hex())
"""
WITH_IT = """
import sys
from pathlib import Path

from tides.rows import Tide

from periplus.store.tables import Tables, read

folder = Path(sys.argv[1])
mark = bytes.fromhex(sys.argv[2]) if len(sys.argv) > 2 else None
tables = Tables(folder / "tables", folder / "spool", shard=0, mark=mark)
tables.record([Tide("Massalia", 1.5, 0.25, ())])
print(tables.settle().hex(), len(read(folder / "tables", "tides")))
tables.close()
"""


def run(script: str, *arguments: str | Path, packages: Path | None = None) -> str:
    """What a program writes that imports the source, and other packages in a folder."""
    ran = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={"PYTHONPATH": ":".join(map(str, [ROOT / "src", ROOT, *([packages] if packages else [])]))},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert not ran.returncode, ran.stderr
    return ran.stdout


class Landing(TableRow, frozen=True):
    """Every landing,
    wherever.

    More of it.
    """

    table = "landings"
    key = ("at",)

    at: Moment
    place: Text | None
    ships: Number
    names: WordList


def test_columns_are_the_fields_and_the_first_paragraph_tells_of_the_table() -> None:
    """In their order, with the words of the docs for their types."""
    found = {name: kind.value for name, kind in columns_of(Landing).items()}
    assert found == {"at": "timestamp", "place": "string", "ships": "int32", "names": "list<string>"}
    assert summary(Landing) == "Every landing, wherever."


def test_a_field_that_is_no_column_is_refused() -> None:
    """Its type has no Arrow type."""

    class Odd(TableRow, frozen=True):
        what: str

    with pytest.raises(TypeError, match="not the type of a column"):
        columns_of(Odd)


def test_a_new_part_has_its_table_view_question_and_docs_by_one_module(tmp_path: Path) -> None:
    """Written, read back from Parquet and from a spool, asked in SQL and shown in the docs; nothing else is changed."""
    packages = install(tmp_path / "site", "tides", {"rows": PART}, TIDES)
    asked, seen, rows, section = run(NEW_PART, tmp_path / "c", packages=packages).split("\n", 3)
    assert asked == "[{'port': 'Massalia', 'height': 0.25}, {'port': 'Gades', 'height': 3.0}]"
    assert seen == "[{'seen_by': ['Poseidonios', 'Strabo']}]"
    assert rows == (
        "[Tide(port='Massalia', at=1.5, height=0.25, seen_by=['Pytheas']),"
        " Tide(port='Massalia', at=2.5, height=None, seen_by=[])]"
    )
    assert section == SECTION


@pytest.mark.proof
def test_a_part_that_is_gone_has_no_table_and_no_view(tmp_path: Path) -> None:
    """The others are written and asked as before, and its rows are there again when it is."""
    packages = install(tmp_path / "site", "tides", {"rows": PART}, TIDES)
    folder = tmp_path / "c"
    mark, rows = run(WITH_IT, folder, packages=packages).split()
    assert rows == "1"
    found, mark = run(WITHOUT_A_PART, folder, mark).rsplit(maxsplit=1)
    assert found == "[]"
    assert run(WITH_IT, folder, mark, packages=packages).split()[1] == "2"
