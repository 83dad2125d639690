"""docs/settings.md tells of every setting: its table, its name, its default, and what it does."""

from __future__ import annotations

from tests import declared


def test_every_setting_is_documented_as_it_is() -> None:
    """The tables of the page are those of the code; `python -m tests.declared` writes them again."""
    assert declared.settings_page() == declared.SETTINGS.read_text()
