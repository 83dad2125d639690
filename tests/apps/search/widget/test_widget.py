"""The scripts of the search box as files; `tests/apps/serve/test_search_api_embedding.py` has them in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from periplus import UsageError
from periplus.apps.search.widget import SCRIPTS, write_widget

MAX_SCRIPT = 15_000


def test_scripts_are_small_and_write_no_markup() -> None:
    """Each below 15 kB as it is, and neither with a way to write HTML from text."""
    for path in SCRIPTS.values():
        source = path.read_text()
        assert len(source) < MAX_SCRIPT
        assert source.isascii()  # a host may send it without a charset to a page without one
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", source)


def test_scripts_are_written(tmp_path: Path) -> None:
    """Into a folder that is made; a folder that cannot be made is an error."""
    assert [path.read_bytes() for path in write_widget(tmp_path / "a" / "b")] == [
        path.read_bytes() for path in SCRIPTS.values()
    ]
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError):
        write_widget(tmp_path / "file")
