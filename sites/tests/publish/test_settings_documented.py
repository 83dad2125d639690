"""docs/publish.md has a row for every setting of a published site, as the code would write it."""

from __future__ import annotations

from pathlib import Path

from periplus.collection.config.fields import settings_of
from periplus.collection.config.toml_files import written
from periplus_sites.publish import PublishSettings

PAGE = Path(__file__).resolve().parents[3] / "docs" / "publish.md"


def rows() -> list[str]:
    return [
        f"| `{table}.{name}` | `{written(field.default, field)}` | {field.doc} |"
        for table, room in settings_of(PublishSettings).items()
        for name, field in settings_of(room.type).items()
    ]


def test_every_setting_is_documented_as_it_is() -> None:
    said = PAGE.read_text().splitlines()
    assert [row for row in rows() if row not in said] == []
    assert all(row.split("|")[3].strip() for row in rows())
