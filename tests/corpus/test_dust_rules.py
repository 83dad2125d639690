"""Real rules of duplicate-url-discarder are rules of ours, and rename as they do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from periplus.parts.dust.discarder import from_discarder
from periplus.parts.dust.rules import KINDS

pytestmark = pytest.mark.corpus


@pytest.fixture
def folder(corpus: Path) -> Path:
    return corpus / "dust_rules"


def rules_of(folder: Path, *names: str) -> list[dict[str, object]]:
    return [rule for name in names for rule in json.loads((folder / name).read_text())]


def test_cases(folder: Path) -> None:
    for case in json.loads((folder / "cases.json").read_text()):
        assert from_discarder(rules_of(folder, *case["rules"])).renamed(case["url"]) == case["becomes"]


def test_every_rule_is_expressible_and_renames(folder: Path) -> None:
    """Each parameter of each rule is dropped, alone, from a URL of each host of the rule."""
    names = sorted(str(path.relative_to(folder)) for path in folder.glob("*/*.json"))
    rows = rules_of(folder, *names)
    assert len(rows) == 382
    for row in rows:
        rename = from_discarder([row])
        assert {rule.kind for each in rename.rules for rule in each.rules} <= set(KINDS)
        if row["processor"] == "queryRemoval":
            for place in row["urlPattern"]["include"]:  # type: ignore[index]
                base = f"https://{place or 'any.example'}/p"
                for name in row["args"]:  # type: ignore[attr-defined]
                    assert rename.renamed(f"{base}?{name}=1&kept=2") == f"{base}?kept=2"
