"""`bench.house` counts what a small tree has, of every kind once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.house import House, Room, main, measure, near_copies, table
from tests.each_case import each_case

VALUES = '''"""Values.

Two paragraphs.
"""

from dataclasses import dataclass  # a comment
from typing import ClassVar, NamedTuple

from msgspec import Struct


class Point(NamedTuple):
    """A point."""

    a: int
    """The first."""
    b: int
    c: int
    d: int


class Place(Struct, frozen=True):
    a: int
    b: int
    c: int
    d: int
    kind: ClassVar[str] = "place"


class Farther(Place):
    e: int


@dataclass
class Kept:
    text: str = """
    two lines
    """
'''
MACHINE = '''"""A machine."""


class Machine:
    def __init__(self, one: int, two: int, *, three: int = 3) -> None:
        self.sum = one + two + three


class Place:
    def __init__(self) -> None:
        pass
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "src/periplus/__init__.py": '"""All."""\n',
        "src/periplus/model/__init__.py": "",
        "src/periplus/model/values.py": VALUES,
        "src/periplus/apps/demo/machine.py": MACHINE,
        "src/periplus/apps/demo/other.py": "A = 1\n",
        "more/pyproject.toml": "",
        "more/src/periplus_more/__init__.py": "B = 1\n",
        "tests/model/test_values.py": "",
        "tests/test_machine.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_small_tree(tree: Path) -> None:
    assert measure(tree) == House(
        rooms={".": Room(1, 0), "apps": Room(2, 7), "model": Room(2, 21)},
        distributions={"more": Room(1, 1)},
        files=5,
        code_lines=28,
        code_lines_without_apps=21,
        value_types=4,
        near_copies=2,
        repeated_names=1,
        constructors={"apps/demo/machine.Machine": 3, "apps/demo/machine.Place": 0},
        modules=3,
        modules_with_a_test=2,
        tests_in_their_place=1,
    )


@each_case(
    ("types", "count"),
    [
        (("abcd", "abcd"), 2),
        (("abcd", "abce"), 0),  # three of four are less than 80 %
        (("abcde", "abcdf"), 2),
        (("abcd", "abcdefgh"), 1),  # the larger one has more to say
        (("abc", "abc"), 0),
    ],
)
def test_a_near_copy_has_most_fields_of_another(types: tuple[str, ...], count: int) -> None:
    assert near_copies([frozenset(each) for each in types]) == count


def test_two_trees_are_two_columns(tree: Path) -> None:
    house = measure(tree)
    lines = list(table({"before": house, "after": house}))
    assert lines[0].split() == ["before", "after"]
    assert lines[1].split() == ["files", "5", "5"]
    assert "   3  apps/demo/machine.Machine" in lines


def test_json_is_for_programs(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tree), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[str(tree)]["rooms"]["model"] == {"files": 2, "code_lines": 21}
