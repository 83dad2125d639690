"""docs/settings.md tells of every setting: its table, its name, its default, and what it does."""

from __future__ import annotations

from pathlib import Path

from periplus.collection.config.fields import settings_of
from periplus.collection.config.settings import Config
from periplus.collection.config.toml_files import written

PAGE = Path(__file__).resolve().parents[3] / "docs" / "settings.md"
LONGEST_DEFAULT = 60


def lines() -> list[str]:
    """The page as the code would write it."""
    found = []
    for table, room in settings_of(Config).items():
        found += [f"## [{table}]", "", room.doc, "", "| setting | default | what it is |", "|---|---|---|"]
        for name, field in settings_of(room.type).items():
            default = written(field.default, field)
            default = default if len(default) <= LONGEST_DEFAULT else default[: LONGEST_DEFAULT - 1] + "…"
            found.append(f"| `{name}` | `{default}` | {field.doc} |".replace("``", ""))
        found.append("")
    return found


def test_every_setting_is_documented_as_it_is() -> None:
    """The tables of the page are those of the code, line by line; a new setting shows here what to write."""
    said = PAGE.read_text().splitlines()
    assert [line for line in lines() if line not in said] == []
    assert [line for line in said if line.startswith(("| `", "## [")) and line not in lines()] == []
