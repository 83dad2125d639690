"""Flags, keywords and names of settings, all from the declarations on the fields."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import pytest
from tests import declared
from tests.each_case import each_case

import periplus
from periplus.bridges.agents.arguments import Crawl
from periplus.cli.app import VERBS, app
from periplus.cli.setting_options import takes_settings
from periplus.collection import options
from periplus.collection.collection import planned
from periplus.collection.config.fields import all_settings
from periplus.collection.config.settings import Config, SearchSettings
from periplus.collection.config.toml_files import written
from periplus.collection.options import (
    agents_settings,
    asked_settings,
    assigned_settings,
    named_settings,
    options_of,
    with_fixed,
)
from periplus.collection.trust import PERSONAL
from periplus.library import keywords
from periplus.model import ConfigError, PeriplusError, UsageError
from periplus.model.flags import FAR, FOR_AGENTS, Flag
from periplus.parts.focus.ordering import focused_orderings
from periplus.policy.ordering import orderings

SETTINGS = all_settings(Config)
FLAGS = [(name, flag) for name, field in SETTINGS.items() for flag in field.notes if isinstance(flag, Flag)]


def refused(*texts: str) -> PeriplusError:
    with pytest.raises(PeriplusError) as caught:
        assigned_settings(texts)
    return caught.value


# keywords


def test_one_text_is_one_value() -> None:
    """`include="/docs/*"` is one pattern, not seven."""
    given = {"include": "/docs/*", "exclude": ["/a", "/b"], "sitemap": "https://a.example/s.xml", "like": ()}
    settings = asked_settings("crawl", given)
    assert settings["patterns.include"] == ["/docs/*"]
    assert settings["patterns.exclude"] == ["/a", "/b"]
    assert settings["sitemaps.submitted"] == ["https://a.example/s.xml"]
    assert "topic.like" not in settings
    assert asked_settings("map", {"allow_private": "10.0.0.0/8"}) == {"wire.allow_private": ["10.0.0.0/8"]}
    assert asked_settings("crawl", {"media": ["image/*, text/css", "audio/*"]}) == {
        "media.types": ["image/*", "text/css", "audio/*"],
    }


@each_case(
    ("given", "message"),
    [
        ({"allow_private": True}, "--allow-private: expected a text or a list of texts, got True"),
        ({"for_": "soon"}, "--for: 'soon' is not a duration"),
        ({"max_bytes": "much"}, "--max-bytes: 'much' is not a number"),
        ({"resolve": ["a.test"]}, "--resolve must be NAME=ADDRESS, got a.test"),
    ],
)
def test_a_wrong_value_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        asked_settings("crawl", given)


def test_options_ask_for_more_than_their_own_setting() -> None:
    """A topic orders the crawl and leaves sitemaps alone, unless that was asked for; a sitemap is read."""
    assert asked_settings("crawl", {"topic": "boats"}) == {
        "topic.words": "boats", "crawl.ordering": "focused", "sitemaps.follow": False
    }  # fmt: skip
    both = asked_settings("crawl", {"topic_by": "mine", "order": "shark", "sitemap": "https://a.example/s.xml"})
    assert both["crawl.ordering"] == "shark"
    assert both["sitemaps.follow"] is True
    assert asked_settings("crawl", {"like": "a.html"})["topic.examples"] == 0


def test_paths_and_switches() -> None:
    settings = asked_settings("crawl", {"ca_file": Path("ca.pem"), "forms": True, "delay": "250ms", "rate": 2})
    assert settings == {
        "wire.ca_file": str(Path("ca.pem").resolve()), "forms.enabled": "submit", "politeness.delay": 0.25,
        "crawl.rate": 2,
    }  # fmt: skip
    assert asked_settings("crawl", {"max_bytes": "10MB", "limit": 1.5}) == {
        "crawl.max_bytes": 10**7,
        "crawl.limit": 1.5,
    }
    assert asked_settings("crawl", {"forms": False}) == {"forms.enabled": "discover"}


# settings by name


@each_case("name", SETTINGS)
def test_every_setting_can_be_set(name: str) -> None:
    """To its default, as it is written in a file, and as a program gives it."""
    field = SETTINGS[name]
    found = assigned_settings([f"{name}={written(field.default, field)}"])
    assert found == {name: field.default}
    assert Config().with_options(found) == Config()
    assert named_settings({name: field.default}) == {name: field.default}


@each_case(
    ("text", "value"),
    [
        ("crawl.limit=10k", 10_000),
        ("crawl.for = 1h30m", 5400.0),
        ('crawl.for="90s"', 90.0),
        ("politeness.slow_factor=0", 0.0),
        ("wire.max_page_bytes=2MiB", 2 * 2**20),
        ("wire.http2=false", False),
        ("scope.kind=host", "host"),
        ('scope.kind="host"', "host"),
        ("crawl.product=2024", "2024"),
        ("crawl.contact=https://me.example/?a=b", "https://me.example/?a=b"),
        ("forms.enabled=submit", "submit"),
        ('patterns.include=["/a/*", "/b/*"]', ("/a/*", "/b/*")),
        ('dns.hosts={ "*.a.test" = "127.0.0.1" }', {"*.a.test": "127.0.0.1"}),
    ],
)
def test_values_are_those_of_a_file(text: str, value: object) -> None:
    """A text may be without quotes."""
    assert list(assigned_settings([text]).values()) == [value]


@each_case(
    ("text", "message", "hint"),
    [
        ("crawl.limt=3", "--set: [crawl] has no setting 'limt'", "did you mean limit?"),
        ("craw.limit=3", "--set: unknown table [craw]", "did you mean [crawl]?"),
        ("crawl.delay=3", "--set: [crawl] has no setting 'delay'", "it belongs below [politeness]"),
        ("limit=3", "--set: limit is outside its table", "put it below [crawl]"),
        ("crawl.limit", "--set must be TABLE.KEY=VALUE, got crawl.limit", "--set politeness.delay=2s"),
        ("=3", "--set must be TABLE.KEY=VALUE, got =3", "--set politeness.delay=2s"),
        ("crawl.limit=true", "--set: [crawl] limit: expected a whole number, got True", "limit = 0"),
        ("crawl.limit=1\nb = 2", "--set: [crawl] limit: '1\\nb = 2' is not a number", "500k"),
        ("crawl.limit=-1", "--set: [crawl] limit: -1 is less than 0", "limit = 0"),
        ("crawl.for=soon", "--set: [crawl] for: 'soon' is not a duration", "1h30m"),
        ("wire.http2=yes", "--set: [wire] http2: expected true or false, got 'yes'", "http2 = true"),
        ("crawl.seeds=a.test", "--set: [crawl] seeds: expected a list of texts, got 'a.test'", 'seeds = ["one"'),
        ("forms.enabled=often", "--set: [forms] enabled: expected one of never, discover, submit", "enabled ="),
    ],
)
def test_an_error_is_that_of_a_file(text: str, message: str, hint: str) -> None:
    error = refused(text)
    assert str(error).startswith(message)
    assert hint in error.hint


def test_a_name_wins_over_a_flag() -> None:
    assert asked_settings("crawl", {"limit": 5}, {"crawl.limit": "1k", "crawl.for": None}) == {"crawl.limit": 1000}
    with pytest.raises(ConfigError, match=re.escape("settings: [crawl] has no setting 'limt'")):
        asked_settings("crawl", {}, {"crawl.limt": 3})


def test_what_makes_a_command_cannot_be_set() -> None:
    fixed = {"sitemaps.only": True}
    assert with_fixed({"crawl.limit": 3, "sitemaps.only": True}, fixed, "map") == {"crawl.limit": 3, **fixed}
    with pytest.raises(UsageError, match=r"sitemaps.only is True in periplus map"):
        with_fixed({"sitemaps.only": False}, fixed, "map")


def test_seeds_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are seeds that a person typed, as are those of a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more.txt").write_text("http://b.test/\n")
    asked = assigned_settings(['crawl.seeds=["http://127.0.0.1:8000/"]', "crawl.seed_file=more.txt"])
    plan = planned(tmp_path / "new", options=asked)
    assert plan.seeds == ("http://127.0.0.1:8000/", "http://b.test/")
    assert plan.config.wire.allow_private == ("127.0.0.1:8000",)


# everything else follows from the declarations


def command(verb: str) -> dict[str, Any]:
    """The options of a command by their names."""
    group: Any = app
    return {each.opts[0]: each for each in group.get_command(None, verb).params}


@each_case(("setting", "flag"), FLAGS)
def test_flags_are_options_of_their_commands(setting: str, flag: Flag) -> None:
    """With the same name, metavar, panel, help, bounds and default."""
    assert set(flag.verbs) <= VERBS.keys()
    for verb in flag.verbs:
        option = command(verb)[flag.name.partition("/")[0]]
        assert (option.help, option.metavar, option.panel) == (flag.help, flag.metavar, flag.panel)
        bounds = getattr(option.type, "min", None), getattr(option.type, "max", None)
        assert (*bounds, option.default) == (flag.least, flag.most, flag.default)
        assert setting in {each.setting for each in options_of(verb)}


@each_case("verb", ["crawl", "watch", "refresh", "audit", "survey", "map", "ulinks", "serve", "demo", "import"])
def test_every_command_with_a_crawl_takes_any_setting(verb: str) -> None:
    assert command(verb)["--set"].multiple


@each_case("verb", declared.VERBS)
def test_keywords_are_those_of_the_flags(verb: str) -> None:
    """In the signature, its docstring, and the types that mypy reads; `python -m tests.declared` writes the latter."""
    names = [option.keyword for option in options_of(verb)]
    function, kind = getattr(periplus, verb), getattr(keywords, f"{verb.title()}Keywords")
    parameters = inspect.signature(function).parameters
    assert [name for name in parameters if name in names] == names
    assert "settings" in parameters
    assert list(get_type_hints(kind)) == names
    assert [name for name in names if f"\n    {name}: " not in str(function.__doc__)] == []
    with pytest.raises(TypeError, match="unexpected keyword argument 'limt'"):
        function("a.test", **({"out": "x"} if verb == "crawl" else {}), limt=3)


def test_the_file_of_keywords_is_current() -> None:
    assert declared.KEYWORDS.read_text() == declared.keywords_module()


class NewSearchSettings(SearchSettings, frozen=True, forbid_unknown_fields=True):
    """A table that has one setting more."""

    wanted: Annotated[int, Flag("--wanted", "How many to want.", "N", FAR, ("crawl", "map"), least=1), FOR_AGENTS] = 3
    """How many are wanted."""


class NewConfig(Config, frozen=True, forbid_unknown_fields=True):
    """The settings with that table."""

    search: NewSearchSettings = NewSearchSettings()


@pytest.fixture
def _new_setting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (options, declared):
        monkeypatch.setattr(module, "Config", NewConfig)
    options_of.cache_clear()
    yield
    options_of.cache_clear()


@pytest.mark.usefixtures("_new_setting")
def test_a_new_option_is_its_declaration() -> None:
    """The line of `NewSearchSettings` is all that there is of it."""

    @takes_settings("map")
    def map_(site: str, **given: Any) -> None:
        """A command."""

    assert "wanted" in inspect.signature(map_).parameters
    assert asked_settings("crawl", {"wanted": 5}) == {"search.wanted": 5}
    assert assigned_settings(["search.wanted=2k"]) == {"search.wanted": 2000}
    assert "search.wanted" in agents_settings()
    assert declared.keywords_module().count("    wanted: int | None\n") == 2
    assert "| `wanted` | `3` | How many are wanted. |" in declared.settings_page()
    assert "# How many are wanted.\nwanted = 5\n" in NewConfig().with_options({"search.wanted": 5}).dump()


def test_the_help_names_every_ordering() -> None:
    """It is written out, since the orderings load arrays, which settings must not."""
    (order,) = (flag for name, flag in FLAGS if name == "crawl.ordering")
    assert f"first: {', '.join(orderings())}; by default" in order.help
    assert f"topic: {', '.join(focused_orderings())}; by default" in order.help


# agents


def test_agents_may_set_what_is_declared_for_them() -> None:
    assert agents_settings() == ("scope.kind", "budgets.max_depth", "sitemaps.follow")
    assert not set(agents_settings()) & set(PERSONAL)
    described = str(get_type_hints(Crawl, include_extras=True)["settings"])
    assert [name for name in agents_settings() if name not in described] == []
