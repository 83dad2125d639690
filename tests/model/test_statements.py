"""`model.statements`: named SQL beside the code that runs it; a mistake in a file is an error, not a missing row."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from periplus.model.statements import Statements

SOURCES = Path(__file__).resolve().parents[2] / "src" / "periplus"
FILES = sorted(SOURCES.rglob("*.sql"))
FILE = """\
-- What is known of tides.

-- name: tides
-- says: Where the sea is high.
-- The moon makes them.
select port -- where
from tides where height > {least}

-- name: by-port
-- says: By port.
select 1
"""


class Declared(Struct, forbid_unknown_fields=True):
    name: str
    says: str
    sql: str


def statements(folder: Path, text: str) -> Statements:
    (folder / "tides.sql").write_text(text)
    return Statements(str(folder / "tides.py"))


def test_statements_have_names_and_fields(tmp_path: Path) -> None:
    """In the order of the file, with comments of their own; words in braces are filled in."""
    known = statements(tmp_path, FILE)
    assert known["tides"] == "select port -- where\nfrom tides where height > {least}"
    assert known.declared(Declared, least=3) == (
        Declared("tides", "Where the sea is high.", "select port -- where\nfrom tides where height > 3"),
        Declared("by-port", "By port.", "select 1"),
    )
    assert (known.get("by-port", ""), known.get("moons", "none")) == ("select 1", "none")
    with pytest.raises(KeyError):
        known["moons"]


def test_a_file_is_read_when_a_statement_is_asked_for(tmp_path: Path) -> None:
    """Not before: a module that is only imported reads nothing."""
    known = Statements(str(tmp_path / "later.py"))
    (tmp_path / "later.sql").write_text("-- name: one\nselect 1\n")
    assert known["one"] == "select 1"


@pytest.mark.parametrize("wrong", [FILE.replace("-- says: By port.\n", ""), FILE.replace("-- says: B", "-- note: B")])
def test_a_field_that_is_missing_or_unknown_is_an_error(tmp_path: Path, wrong: str) -> None:
    """As soon as the file is read."""
    with pytest.raises(msgspec.ValidationError):
        statements(tmp_path, wrong).declared(Declared, least=3)


def test_a_name_that_stands_twice_is_an_error(tmp_path: Path) -> None:
    """The second would hide the first."""
    with pytest.raises(ValueError, match="two statements with the name tides"):
        statements(tmp_path, FILE + FILE)["tides"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(SOURCES).as_posix())
def test_every_statement_is_used_in_its_folder(file: Path) -> None:
    """By its name, or by a declaration of the same name; what nobody runs is deleted."""
    code = "".join(module.read_text("utf-8") for module in file.parent.glob("*.py"))
    declared = file.with_suffix(".toml").read_text("utf-8") if file.with_suffix(".toml").exists() else ""
    names = [line.removeprefix("-- name: ") for line in file.read_text("utf-8").splitlines() if "-- name: " in line]
    assert names
    if ".declared(" not in file.with_suffix(".py").read_text("utf-8"):
        assert [name for name in names if f'"{name}"' not in code and f"[{name}]" not in declared] == []
