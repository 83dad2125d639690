"""docs/commands.md tells of every key that `changes` says to programs."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from tests.each_case import each_case

from periplus.apps.changes import Passage, Run, RunStatus
from periplus.cli.changes.command import PageLine, VisitLine
from periplus.cli.changes.output import ChangeLine, VersionPlace

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "commands.md").read_text()


@each_case("kind", [ChangeLine, VersionPlace, PageLine, VisitLine, Passage, Run])
def test_every_key_is_documented(kind: type[msgspec.Struct]) -> None:
    """Programs are written against them."""
    found = re.search(r"^## `periplus changes\b.*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    names = [name for name in kind.__struct_fields__ if (kind, name) != (Run, "text")]
    assert [name for name in names if f"`{name}`" not in found[0]] == []
    assert [mark.value for mark in RunStatus if f"`{mark.value}`" not in found[0]] == []
