"""docs/measures.md tells of every measure with its SQL, of every view, class and question; and of no others."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from tests import declared_tables
from tests.each_case import each_case

from periplus.insight.measures import CLASSES, UrlMeasures
from periplus.insight.views import MEASURES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "measures.md").read_text()


def named_in(section: str) -> list[str]:
    """What the rows of a section's table are about."""
    found = re.search(rf"^## {section}\n.*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"no section {section}"
    return re.findall(r"^\| `([^`]+)`", found[0], re.MULTILINE)


@each_case("measure", MEASURES)
def test_every_measure_has_its_definition_and_its_sql(measure: object) -> None:
    """As they are in the code, so that what is read is what is asked."""
    name, says, sql = (getattr(measure, field) for field in ("name", "says", "sql"))
    assert f"| `{name}` {says} | `{sql}` |" in PAGE


def test_nothing_else_is_documented() -> None:
    """A measure, view, class or question that is gone is gone here too."""
    assert named_in("The measures") == [measure.name for measure in MEASURES]
    assert named_in("What sitemaps missed") == list(CLASSES)


def test_views_and_questions_are_told_as_in_the_code() -> None:
    """In the same sentences; `python -m tests.declared_tables` writes them again."""
    assert declared_tables.measures_page() == PAGE


def test_the_values_have_all_measures() -> None:
    """Functions give what the views have, in the same order."""
    assert [field.name for field in msgspec.structs.fields(UrlMeasures)] == [measure.name for measure in MEASURES]
