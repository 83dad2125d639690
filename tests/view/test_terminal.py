"""Tables and facts on a terminal, and as lines for programs."""

from __future__ import annotations

import io

from rich.console import Console

from periplus.view.terminal import print_facts, print_table
from periplus.view.values import Column, FactSheet, Sheet, sheet_of


def printed(table: Sheet, *, is_terminal: bool = False, has_head: bool = True) -> list[str]:
    out = io.StringIO()
    print_table(Console(file=out, width=60, force_terminal=is_terminal, no_color=True), table, has_head=has_head)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_lines_are_aligned_and_pictures_left_out() -> None:
    """Where there is no terminal a row is a line, whatever its length."""
    table = sheet_of("", ("<name", "~curve", "value"), [["a", "▁▂", "1.0"], ["longer" * 20, "▁▂", "1,000"]], ["a note"])
    assert printed(table) == [
        "name" + " " * 118 + "value", "a" + " " * 123 + "1.0", "longer" * 20 + "  1,000", "a note",
    ]  # fmt: skip
    assert printed(table, has_head=False)[0].startswith("a ")


def test_a_table_on_a_terminal_stands_below_its_title() -> None:
    """With pictures, no wider than the terminal."""
    table = sheet_of("Sites", (Column("site"), Column("curve", kind="picture")), [["a.test" * 20, "▁▂"]])
    lines = printed(table, is_terminal=True)
    assert "Sites" in lines[0]
    assert any("▁▂" in line for line in lines)
    assert len(lines) > 3


def test_facts_without_a_text_are_left_out() -> None:
    """A label alone says nothing."""
    out = io.StringIO()
    print_facts(Console(file=out, width=60), FactSheet("a.test", [("pages", "12"), ("errors", "")]))
    assert [line.rstrip() for line in out.getvalue().splitlines()] == ["a.test", "  pages  12"]
