"""How many changes the command shows, and how many texts it compares for that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.apps.changes.kept_versions import KeptVersions, article

from periplus.apps.changes import Change, Detail, detail_of
from periplus.cli.changes import command

T = 1_700_000_000.0


@pytest.mark.parametrize(("limit", "shown"), [(None, command.SHOWN), (3, 3)])
def test_only_texts_that_are_shown_are_compared(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    limit: int | None,
    shown: int,
) -> None:
    """The newest; to read and compare two versions costs far more than to find the change."""
    pages = command.SHOWN + 5
    with KeptVersions(tmp_path) as kept:
        for version, words in enumerate(("Ten euros.", "Twelve euros.")):
            for number in range(pages):
                kept.page(f"http://a.test/{number}", article(words), T + 1000 * version + number)
    (tmp_path / "periplus.toml").touch()
    compared: list[str] = []

    def noting(folder: Path, change: Change) -> Detail:
        compared.append(change.url)
        return detail_of(folder, change)

    monkeypatch.setattr(command, "detail_of", noting)
    command.changes(tmp_path, since="2023-11-14T22:20:00Z", limit=limit)
    assert sorted(compared) == sorted(f"http://a.test/{number}" for number in range(pages - shown, pages))
    out = capsys.readouterr().out
    assert out.count("{+Twelve+}") == shown
    assert f"the newest {shown} are shown" in out


def test_a_page_that_is_younger_than_the_time_is_compared_with_its_first_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was not there then; what became of it since is what was asked for."""
    url = "http://a.test/"
    with KeptVersions(tmp_path) as kept:
        for version, words in enumerate(("Ten euros.", "Eleven euros.", "Twelve euros.")):
            kept.page(url, article(words), T + 1000 * version)
    (tmp_path / "periplus.toml").touch()
    command.changes(tmp_path, url, since="2023-11-14T20:00:00Z")
    said = capsys.readouterr().out
    assert "no two versions" not in said
    assert "[-Ten-]" in said
    assert "{+Twelve+}" in said
