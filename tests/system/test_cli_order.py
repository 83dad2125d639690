"""`periplus crawl --order`: which orderings there are, what they go by, and that one that learns is kept to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from periplus.cli import main
from periplus.collection.config.fields import settings_of
from periplus.collection.config.settings import Config, CrawlSettings
from periplus.model import ConfigError, Discovery, Source, Url
from periplus.policy.ordering import orderings
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]


class Said(NamedTuple):
    """What a command printed, and how it ended."""

    code: int
    text: str


Run = Callable[..., Said]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The program in this process."""

    def typed(*args: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["periplus", "crawl", *args])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return Said(ended.value.code if isinstance(ended.value.code, int) else 0, " ".join((out + err).split()))

    return typed


@pytest.fixture
def lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    world = World(7, 3, pages=20)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


def test_every_ordering_is_named_where_people_look() -> None:
    """In the explanation of the setting."""
    doc = settings_of(CrawlSettings)["ordering"].doc
    assert set(orderings()) <= {word.strip(".,;") for word in doc.split()}


def test_chance_is_of_the_seed() -> None:
    """Another seed, another order; the same, the same."""
    page = Discovery(Url("https://a.test/x"), Source.LINK, 0.0)
    configs = [Config().with_options({"crawl.ordering": "random", "crawl.random_seed": seed}) for seed in (1, 2, 1)]
    one, other, again = [config.ordered().score(page) for config in configs]
    assert one == again != other


def test_what_cannot_be_is_said_before_anything_is_done(run: Run, tmp_path: Path) -> None:
    """A name that is not there, a setting that the ordering has not, an oracle that is not used or does not exist."""
    out = ("-o", str(tmp_path / "c"), "example.org")
    (tmp_path / "every.toml").write_text("[crawl]\nordering = 'opic'\n[ordering]\nevery = 5\n")
    for args, word in (
        (("--order", "opik"), "opic"),
        (("--order", "optimal"), "--order-by"),
        (("--order", "opic", "--order-by", str(tmp_path)), "optimal"),
        (("--config", str(tmp_path / "every.toml")), "every"),
        (("--order", "optimal", "--order-by", str(tmp_path)), "is not a collection"),
    ):
        said = run(*out, *args)
        assert said.code == 2, said
        assert word in said.text
        assert not (tmp_path / "c").exists()


def test_setting_of_an_ordering_is_judged_with_the_option_that_names_it(tmp_path: Path) -> None:
    """`--order rankmass` beside a file with `[ordering] every`; without the option the file is refused as before."""
    (tmp_path / "every.toml").write_text("[ordering]\nevery = 40\n")
    found = Config.load(tmp_path / "every.toml", {"crawl.ordering": "rankmass"})
    assert (found.crawl.ordering, found.ordering.every) == ("rankmass", 40)
    for options in ({}, {"crawl.limit": 5}, {"crawl.ordering": "opic"}):
        with pytest.raises(ConfigError, match="every"):
            Config.load(tmp_path / "every.toml", options)


def test_a_collection_keeps_to_the_ordering_that_learns(run: Run, lab: RunningLab, tmp_path: Path) -> None:
    """Begun with one, it is continued without naming it; another is refused, and what was asked stays as it was."""
    seed = f"http://{lab.world.hosts[0]}/"
    args = (seed, "-o", str(tmp_path / "c"), "--delay", "0", "--workers", "1", "--proxy", lab.base)
    assert run(*args, "--order", "opic", "--limit", "3").code == 0
    said = run(*args, "--order", "breadth_first")
    assert said.code == 2
    assert "--order opic" in said.text
    assert Config.load(tmp_path / "c" / "periplus.toml").crawl.ordering == "opic"
    assert run(*args, "--limit", "5").code == 0


def test_orderings_that_learn_nothing_may_follow_each_other(run: Run, lab: RunningLab, tmp_path: Path) -> None:
    """What waits keeps its place, and what is found gets its own; one that learns would find no standings."""
    seed = f"http://{lab.world.hosts[0]}/"
    args = (seed, "-o", str(tmp_path / "c"), "--delay", "0", "--workers", "1", "--proxy", lab.base)
    assert run(*args, "--limit", "3").code == 0
    assert run(*args, "--order", "indegree", "--limit", "4").code == 2
    assert run(*args, "--order", "length", "--limit", "5").code == 0
