"""docs/commands.md tells of every key that `survey` and `map` say to programs."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from tests.each_case import each_case

from periplus.cli.map import MapSummary, MapUrl
from periplus.cli.survey.output import SurveySummary

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text()


@each_case(("verb", "kind"), [("survey", SurveySummary), ("map", MapSummary), ("map", MapUrl)])
def test_every_key_is_documented(verb: str, kind: type[msgspec.Struct]) -> None:
    """Programs are written against them."""
    found = re.search(rf"^## `periplus {verb}\b.*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    assert [name for name in kind.__struct_fields__ if f"`{name}`" not in found[0]] == []
