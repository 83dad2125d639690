"""`--help` is plain text: whole names, nothing read as markup, and first what a newcomer needs."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from tests.record.surface import commands

from periplus.cli.app import VERBS, app
from periplus.model import UsageError

NARROW = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}


def printed(*typed: str) -> str:
    done = CliRunner().invoke(app, typed, prog_name="periplus", env=NARROW)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_no_name_is_cut_at_80_columns() -> None:
    """Of the options of every command, and of the line of every command in the list."""
    for words, command in commands().items():
        options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
        text = printed(*words, "--help-all" if "--help-all" in options else "--help")
        assert [option for option in sorted(options) if option.startswith("-") and option not in text] == []
    listed = " ".join(printed("--help").split())
    assert [line for line in VERBS.values() if line not in listed] == []


def test_commands_are_listed_by_kinds_of_work() -> None:
    """Five kinds, a line a command, and every option that may come before a command."""
    lines = printed("--help").splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Crawl:", "Keep fresh:", "Use:", "Your own site:", "Research and development:", "Options:"]
    assert [name for name in VERBS if not any(line.startswith(f"  {name} ") for line in lines)] == []
    assert [name for each in app.params for name in each.opts if f"  {name} " not in "\n".join(lines)] == []


def test_a_topic_is_a_command_or_a_subject_of_the_docs() -> None:
    """All options of a command; a section by words of its title; a page by its name."""
    assert "--topic-by NAME" in printed("help", "crawl")
    assert printed("help", "exit", "codes").startswith("## Exit codes\n")
    assert "| `exclude` | `[]` |" in printed("help", "patterns")
    assert printed("help", "politeness").startswith(("# ", "## "))
    assert printed("help") == printed("--help")
    with pytest.raises(UsageError, match="nothing is known of zzz"):
        CliRunner().invoke(app, ["help", "zzz"], catch_exceptions=False)


def test_brackets_are_text() -> None:
    """The table of a setting file is no style of a terminal."""
    assert "[push]" in printed("publish", "--help")


def test_a_newcomer_sees_what_comes_first() -> None:
    """The other options are behind `--help-all`, which `--help` names with their number."""
    short, whole = printed("crawl", "--help"), printed("crawl", "--help-all")
    assert "--limit PAGES" in short
    assert "--topic-by" not in short
    assert "--topic-by NAME" in whole
    hidden = whole.count("\n  -") - short.count("\n  -")
    assert f"{hidden} more options: periplus crawl --help-all" in short
    assert len(short.splitlines()) < 60
