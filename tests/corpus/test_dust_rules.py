"""Real rules of duplicate-url-discarder are rules of ours, and rename as they do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from periplus.policy.dust import KINDS, from_discarder

pytestmark = pytest.mark.corpus
FOLDER = Path(os.environ.get("PERIPLUS_CORPUS", "")) / "dust_rules"


def rules_of(*names: str) -> list[dict[str, object]]:
    return [rule for name in names for rule in json.loads((FOLDER / name).read_text())]


def test_cases() -> None:
    for case in json.loads((FOLDER / "cases.json").read_text()):
        assert from_discarder(rules_of(*case["rules"])).rename(case["url"]) == case["becomes"]


def test_every_rule_is_expressible_and_renames() -> None:
    """Each parameter of each rule is dropped, alone, from a URL of each host of the rule."""
    names = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*.json"))
    rows = rules_of(*names)
    assert len(rows) == 382
    for row in rows:
        rename = from_discarder([row])
        assert {rule.kind for each in rename.rules for rule in each.rules} <= set(KINDS)
        if row["processor"] == "queryRemoval":
            for place in row["urlPattern"]["include"]:  # type: ignore[index]
                base = f"https://{place or 'any.example'}/p"
                for name in row["args"]:  # type: ignore[attr-defined]
                    assert rename.rename(f"{base}?{name}=1&kept=2") == f"{base}?kept=2"
