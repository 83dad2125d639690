"""What is typed after `periplus simulate`: options become settings, flags win over files, all is documented."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.cli.app import app
from periplus.collection.config.fields import settings_of
from periplus.model import ConfigError, UsageError
from periplus_lab.commands.simulate import options
from periplus_lab.commands.simulate.output import per_cent
from periplus_lab.simulate.balance import BalanceRow
from periplus_lab.simulate.findings import ReplicatedValue
from periplus_lab.simulate.noisy_refresh import SignalsRow
from periplus_lab.simulate.reputation import ReputationRow
from periplus_lab.simulate.results import (
    BatchRow,
    FreshnessRow,
    OrderingRow,
    SpeedupRow,
    csv_text,
    finding_rows,
    json_line,
)
from periplus_lab.simulate.scaling import ScalingRow
from periplus_lab.simulate.scenario import Scenario, split_policies

DOCS = Path(__file__).resolve().parents[4] / "docs"
COMMANDS = (DOCS / "commands.md").read_text()
SIMULATOR = (DOCS / "simulator.md").read_text()
VERBS = ("ordering", "speedup", "batch", "freshness", "signals", "balance", "focused", "reputation", "scaling")


def verb(name: str) -> Any:
    group: Any = app
    return group.get_command(None, "simulate").get_command(None, name)


def documented_options() -> dict[str, set[str]]:
    """Options by experiment, from docs/commands.md: the second column is "all", "all but a, b" or "a, b"."""
    found = re.search(r"^## `periplus simulate EXPERIMENT`.*?(?=^## |\Z)", COMMANDS, re.MULTILINE | re.DOTALL)
    assert found
    options: dict[str, set[str]] = {name: set() for name in VERBS}
    for line in found[0].splitlines():
        if line.startswith("| `-"):
            _, named, experiments, *_ = line.split("|")
            listed = set(re.findall(r"[a-z]+", experiments)) - {"all", "but"}
            for name in set(VERBS) - listed if experiments.strip().startswith("all") else listed:
                options[name] |= set(re.findall(r"(?<![\w-])--[a-z-]+", named))
    return options


@each_case("name", VERBS)
def test_every_option_of_an_experiment_is_documented(name: str) -> None:
    """In the table of docs/commands.md; and none is documented that is not there."""
    there = {option for each in verb(name).params for option in each.opts if option.startswith("--")} - {"--help"}
    assert documented_options()[name] == there


@each_case("name", VERBS)
def test_every_experiment_shows_an_example(name: str) -> None:
    """A line that can be typed."""
    assert f"Example: periplus simulate {name}" in verb(name).help


@each_case("row", [OrderingRow, SpeedupRow, BatchRow, FreshnessRow, SignalsRow, BalanceRow, ReputationRow, ScalingRow])
def test_every_key_of_a_result_is_documented(row: type[msgspec.Struct]) -> None:
    """Programs are written against them."""
    assert [name for name in row.__struct_fields__ if f"`{name}`" not in SIMULATOR] == []


def test_every_setting_of_a_scenario_is_documented() -> None:
    """Tables and keys, as they stand in a file."""
    for table, field in settings_of(Scenario).items():
        assert f"`[{table}]`" in SIMULATOR
        for key in settings_of(type(field.default)):
            assert f"`{key}`" in SIMULATOR, f"docs/simulator.md does not name [{table}] {key}"


def test_help_does_not_wait_for_the_simulator() -> None:
    """Neither scipy nor matplotlib nor the simulator is imported to show what there is."""
    code = (
        "import sys; from periplus_lab.commands.simulate import command; "
        "print([name for name in ('scipy', 'matplotlib', 'pyarrow', 'periplus_lab.simulate') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_settings_of_a_policy_may_have_commas() -> None:
    """What has a value belongs to the policy before it."""
    assert split_policies("opic, batch:every=5,damping=0.5 ,random") == ("opic", "batch:every=5,damping=0.5", "random")


@given(st.lists(st.sampled_from(["opic", "batch:every=5", "partial:every=7,damping=0.5", "random"]), max_size=6))
def test_policies_are_split_where_they_were_joined(names: list[str]) -> None:
    """Whatever stands beside what."""
    assert list(split_policies(",".join(names))) == names


def test_budgets_are_shares_in_order() -> None:
    """Per cent or not, each once."""
    assert options.shares("--budget", "0.5,1%,50%,1") == [0.01, 0.5, 1.0]


@each_case("text", ["0", "-0.1", "1.5", "101%", "nan", "x", ",", ""])
def test_what_is_not_a_share_is_refused_with_an_example(text: str) -> None:
    """The error says what to type."""
    with pytest.raises(UsageError) as refused:
        options.shares("--budget", text)
    assert "0.01,0.05" in refused.value.hint


def test_options_win_over_the_file(tmp_path: Path) -> None:
    """And what they do not name stays as the file says."""
    file = tmp_path / "s.toml"
    file.write_text('[experiment]\nseed = 5\nrepetitions = 3\npolicies = ["opic"]\n[network]\ndelay = "1m"\n')
    scenario = options.scenario_of(file, {"experiment.seed": 7, "experiment.repetitions": None})
    assert (scenario.experiment.seed, scenario.experiment.repetitions, scenario.network.delay) == (7, 3, 60.0)
    assert list(scenario.seeds) == [7, 8, 9]
    assert [str(each) for each in scenario.orderings()] == ["opic"]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("[experimnt]\n", "[experiment]"),
        ("[experiment]\nbudgts = [0.1]\n", "budgets"),
        ("[web]\nseed = 4\n", "[experiment]"),
        ("[experiment]\nbudgets = [2.0]\n", "0.01,0.05"),
        ("[experiment]\nrepetitions = 100000\n", "several"),
        ("[network]\nconnections = 0\n", "connections = 64"),
        ('[input]\ngraph = "a"\ncollection = "b"\n', "one of them"),
    ],
)
def test_what_a_file_says_wrong_is_told_with_the_next_step(tmp_path: Path, text: str, near: str) -> None:
    """The file, the table and the key; and the nearest that is known."""
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        Scenario.load(file)
    assert str(file) in str(refused.value)
    assert near in refused.value.hint


def test_pages_alone_bring_sites_with_them() -> None:
    """Who asks for a larger web does not want larger sites only."""
    assert options.scenario_of(None, {"web.pages": 50_000}).web.sites == 1000
    assert options.scenario_of(None, {"web.pages": 50_000, "web.sites": 20}).web.sites == 20


def test_intervals_are_shown_where_there_are_some() -> None:
    """One run has none."""
    assert per_cent(0.635) == "63.5"
    assert per_cent(0.635, 0.631, 0.639) == "63.5 ±0.4"
    assert per_cent(float("nan")) == "-"


def test_what_is_not_a_number_is_null_for_programs() -> None:
    """JSON knows neither infinity nor NaN."""
    found = finding_rows([ReplicatedValue("x", None, float("nan"), "%", "not comparable")], "brandman")
    assert msgspec.json.decode(json_line(found[0]))["ours"] is None


def test_a_table_has_every_column_once() -> None:
    """Also where rows differ; lists and settings stay in one cell."""
    text = csv_text([{"a": 1, "s": {"every": 5}}, {"a": 2, "values": [0.5, 1.0]}])
    assert text.splitlines() == ["a,s,values", "1,every=5,", "2,,0.5 1.0"]
