"""Adapters: commands with their values, and files that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.model import UsageError
from periplus_lab.conformance.adapters import Adapter, read_adapter

TEXT = """
name = "x"
command = ["{home}/x", "{here}/y", "{seed}"]
[not_applicable]
"safety" = "only for private networks"
"finding/script" = "no scripts"
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(TEXT)
    adapter = read_adapter(path, home="/opt")
    assert adapter.argv({"seed": "http://a/"}) == ["/opt/x", f"{tmp_path}/y", "http://a/"]
    assert adapter.argv({"seed": "s"}, is_refresh=True)[-1] == "s"
    assert adapter.reason("safety", "addresses", "redirect") == "only for private networks"
    assert (adapter.reason("finding", "b", "script"), adapter.reason("finding", "b", "a")) == ("no scripts", "")


def test_braces_that_mean_nothing_stay() -> None:
    assert Adapter("x", ["{a}", "{seed}{seed}"]).argv({"seed": "1"}) == ["{a}", "11"]


@pytest.mark.parametrize("text", ["", "name = 1", 'name = "a"\ncommand = ["b"]\nmore = 1', "not toml", "\0"])
def test_a_wrong_file_is_explained(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="cannot read the adapter"):
        read_adapter(path)
    with pytest.raises(UsageError, match="cannot read the adapter"):
        read_adapter(tmp_path / "none.toml")
