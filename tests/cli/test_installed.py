"""Commands of other distributions: found by entry points, listed, and named where they are not installed."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.each_case import each_case

from periplus.cli import installed, main
from periplus.cli.app import app
from periplus.cli.installed import ELSEWHERE

COMMANDS = '''
def lowest(count: int = 1) -> None:
    """List the lowest prices.

    And more.
    """
    print("lowest", count)


def crawl() -> None:
    """Not the crawler's."""
    print("another crawl")
'''


DOCS = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with three commands, of which one cannot be imported and one has a word of the crawler."""
    (tmp_path / "price_lists.py").write_text(COMMANDS)
    (tmp_path / "documented.py").write_text(DOCS.read_text().partition("```python\n")[2].partition("```")[0])
    package = tmp_path / "price_lists-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: price-lists\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[periplus.commands]\nlowest = price_lists:lowest\ncrawl = price_lists:crawl\nbroken = price_lists.none:x\n"
        "prices = documented:prices\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("packaged")
def test_the_documented_command_is_one() -> None:
    usage = CliRunner().invoke(app, ["prices", "--help"], prog_name="periplus").stdout
    assert "Usage: periplus prices [OPTIONS] DIR" in usage
    assert "List the prices of a collection" in usage


def typed(monkeypatch: pytest.MonkeyPatch, *words: str) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["periplus", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.usefixtures("packaged")
def test_an_installed_package_brings_a_command() -> None:
    """It runs, and `--help` lists it with its first line; a word of the crawler stays the crawler's."""
    assert CliRunner().invoke(app, ["lowest", "--count", "3"]).stdout == "lowest 3\n"
    listed = CliRunner().invoke(app, ["--help"], prog_name="periplus", env={"COLUMNS": "100"}).stdout
    assert "lowest    List the lowest prices.\n" in listed
    assert "another crawl" not in CliRunner().invoke(app, ["crawl"]).output


@pytest.mark.usefixtures("packaged")
def test_a_command_that_cannot_be_imported_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, "broken") == 2
    assert "'broken' of an installed package cannot be loaded: ModuleNotFoundError" in capsys.readouterr().err
    assert "broken    the command" in CliRunner().invoke(app, ["--help"], prog_name="periplus").stdout


@each_case("name", ELSEWHERE)
def test_a_word_whose_distribution_is_missing_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the exit code of wrong usage; `--help` lists it nevertheless."""
    monkeypatch.setattr(installed, "entry_points", lambda **_: EntryPoints(()))
    assert typed(monkeypatch, name, "--help") == 2
    assert f"pip install periplus-{Path(ELSEWHERE[name]).name}" in capsys.readouterr().err
    assert f"\n  {name} " in CliRunner().invoke(app, ["--help"], prog_name="periplus").stdout
