"""Nothing that a page says is obeyed by the terminal that shows it."""

from __future__ import annotations

import pytest
from rich.table import Table
from rich.text import Text

from periplus.cli.consoles import stdout_console

TITLES_THE_WINDOW = "\x1b]0;yours\x07"
CLEARS_THE_SCREEN = "\x9b2J"
REORDERS = "invoice\u202efdp.exe"


@pytest.mark.parametrize("hostile", [TITLES_THE_WINDOW, CLEARS_THE_SCREEN, REORDERS, "\r\x08\x7f"])
def test_control_characters_are_replaced(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In plain strings, styled texts and cells alike; tabs and line ends stay."""
    table = Table()
    table.add_column("title")
    table.add_row(Text(hostile))
    console = stdout_console()
    for shown in (Text(f"a\n{hostile}b"), table, f"plain {hostile}"):
        console.print(shown)
    said = capsys.readouterr().out
    assert not set(said) & set("\x1b\x07\x9b\r\x08\x7f\u202e")
    assert "\ufffd" in said
    assert "a\n" in said
