"""docs/commands.md tells of every verb, every option and every key of a summary; `--help` shows an example."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner
from tests.each_case import each_case

from periplus.cli.app import VERBS, app
from periplus.cli.crawl.summary import Plan
from periplus.collection.summary import RunSummary, Summary

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text()


def verb(name: str) -> Any:
    group: Any = app
    return group.get_command(None, name)


def section(name: str) -> str:
    found = re.search(rf"^## `periplus {name}\b.*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/commands.md has no section on {name}"
    return found[0]


@each_case("name", VERBS)
def test_every_option_is_documented(name: str) -> None:
    """In the section of its verb; and no option is documented that is not there."""
    options = {option for each in verb(name).params for option in each.opts if option.startswith("--")}
    options -= {"--help", "--help-all"}
    table = "\n".join(line for line in section(name).splitlines() if line.startswith("| `-"))
    said = set(re.findall(r"(?<![\w-])--[a-z-]+", "\n".join(line.split("|")[1] for line in table.splitlines())))
    assert said == options


@each_case("name", VERBS)
def test_every_verb_shows_an_example(name: str) -> None:
    """A line that can be typed."""
    assert f"Example: periplus {name}" in verb(name).help


def test_the_options_before_a_verb_are_documented() -> None:
    """They stand at the top of the page."""
    group: Any = app
    options = {option for each in group.params for option in each.opts if option.startswith("--")}
    assert sorted(option for option in options | {"--help-all"} if f"`{option}`" not in PAGE) == []


def test_a_mistyped_command_or_option_gets_a_suggestion() -> None:
    """With the exit code of wrong usage."""
    for words, suggestion in ((["crwl"], "Did you mean 'crawl'?"), (["info", "--jsno"], "--json")):
        done = CliRunner().invoke(app, words, prog_name="periplus")
        assert done.exit_code == 2
        assert suggestion in done.output


@each_case("kind", [Summary, RunSummary, Plan])
def test_every_key_of_a_summary_is_documented(kind: type[msgspec.Struct]) -> None:
    """Programs are written against them."""
    text = section("crawl")
    assert [name for name in kind.__struct_fields__ if f"`{name}`" not in text] == []


def test_every_exit_code_is_documented() -> None:
    """Scripts are written against them."""
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)} == {0, 1, 2, 3, 4, 130}
