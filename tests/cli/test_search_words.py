"""`periplus search` with words that look like options."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from periplus.apps.search import Document, Index
from periplus.cli import search as command


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index in place of that of a collection, whatever its name."""
    with Index.open(tmp_path / "index", engine="sqlite") as made:
        made.add(
            [
                Document(url="https://a.test/venv", title="Environments", text="Run python3 -m venv /path first."),
                Document(url="https://a.test/build", title="Building", text="Use --enable-shared, or no spam."),
            ]
        )
        made.commit()
    monkeypatch.setattr(command, "existing", lambda folder: folder)
    monkeypatch.setattr(command, "open_index", lambda _: Index.open(tmp_path / "index"))


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["-m venv"], "python3 -m venv /path"),
        (["-m", "venv", "-n", "1"], "https://a.test/venv"),
        (["--enable-shared", "-n1"], "https://a.test/build"),
        (["--limit=1", "--", "--enable-shared"], "https://a.test/build"),
        (["envronments"], "Showing results for: environments"),
        (["venv", "--also", "other"], "in docs"),
        (["venv", "enable"], "without: enable"),
    ],
)
def test_words_may_begin_with_a_dash(typed: list[str], shown: str) -> None:
    """What is no option of the command is a word."""
    found = CliRunner().invoke(command.search, ["docs", *typed])
    assert found.exit_code == 0
    assert shown in found.stdout


@pytest.mark.usefixtures("index")
def test_what_is_typed_can_be_searched_exactly() -> None:
    """Then nothing is found, and the right word is suggested."""
    found = CliRunner().invoke(command.search, ["docs", "envronments", "--exact"])
    assert found.exit_code == command.NOTHING_FOUND
    assert "Did you mean: environments" in found.stdout
