"""Settings from TOML: what is read, and what an error says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_origin

import pytest
from tests.each_case import each_case

from periplus.collection.config.fields import duration_text, parse_duration, parse_size, settings_of, size_text
from periplus.collection.config.settings import Config
from periplus.collection.config.toml_files import HEADER, dump
from periplus.model import ConfigError


def refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        Config.parse(text, "crawl.toml")
    return caught.value


def test_an_empty_file_is_the_defaults() -> None:
    """Every setting has a default."""
    assert Config.parse("") == Config()


def test_settings_are_read_by_room() -> None:
    """Each table goes to its room, and lengths of time and sizes may be typed as people do."""
    config = Config.parse(
        '[crawl]\nseeds = ["a.test"]\nfor = "1h30m"\nlimit = "10k"\n'
        '[politeness]\ndelay = "250ms"\n[wire]\nmax_page_bytes = "2 MiB"\n[scope]\nkind = "host"\n'
        '[dns]\nhosts = { "*.a.test" = "127.0.0.1" }\n'
    )
    assert config.crawl.seeds == ("a.test",)
    assert config.crawl.duration == 5400.0
    assert config.crawl.limit == 10_000
    assert config.politeness.delay == 0.25
    assert config.wire.max_page_bytes == 2 * 2**20
    assert config.filters.scope.kind == "host"
    assert config.dns.hosts == {"*.a.test": "127.0.0.1"}


@each_case(
    ("text", "message", "hint"),
    [
        ("[crawl]\nlimt = 3", "[crawl] has no setting 'limt'", "did you mean limit?"),
        ("[craw]\nlimit = 3", "unknown table [craw]", "did you mean [crawl]?"),
        ("[crawl]\ndelay = 3", "[crawl] has no setting 'delay'", "it belongs below [politeness]"),
        ("limit = 3", "limit is outside its table", "put it below [crawl]"),
        ("crawl = 3", "crawl is a table", "write [crawl] on a line of its own"),
        ("[crawl]\nlimit = [1]", "[crawl] limit: expected a whole number, got [1]", "write it as limit = 0"),
        ("[crawl]\nlimit = 1.5", "[crawl] limit: expected a whole number, got 1.5", "write it as limit = 0"),
        ("[crawl]\nlimit = true", "[crawl] limit: expected a whole number, got True", "write it as limit = 0"),
        ('[crawl]\nseeds = "a"', "[crawl] seeds: expected a list of texts, got 'a'", 'seeds = ["one", "two"]'),
        ("[dns]\nhosts = 3", "[dns] hosts: expected a table of texts", "hosts = { name"),
        ('[wire]\nhttp2 = "yes"', "[wire] http2: expected true or false, got 'yes'", "http2 = true"),
        ('[crawl]\nfor = "soon"', "[crawl] for: 'soon' is not a duration", "1h30m"),
        ('[wire]\nmax_page_bytes = "much"', "[wire] max_page_bytes: 'much' is not a number", "10MiB"),
        ("[politeness]\ndelay = -1", "[politeness] delay: -1.0 is less than 0", "delay = 1.0"),
        ("[politeness]\ndelay = inf", "[politeness] delay: inf is not a finite number", "delay = 1.0"),
        ("[wire]\ntimeout = nan", "[wire] timeout: nan is not a finite number", "timeout = 30.0"),
        ("[wire]\nmax_transfers = 0", "[wire] max_transfers must be at least 1", ""),
        ('[scope]\nkind = "hots"', "[scope] unknown scope: 'hots'", "'host'"),
        ('[crawl]\nordering = "breadth"', "[crawl] unknown ordering: 'breadth'", "breadth_first"),
        ('[crawl]\nordering = "bfs"', "[crawl] unknown ordering: 'bfs'", "did you mean 'breadth_first'?"),
        (
            '[crawl]\ncontact = "me (at home)"',
            "[crawl] contact: 'me (at home)' cannot be used in a User-Agent",
            "mailbox",
        ),
        ('[patterns]\nexclude = ["re:("]', "[patterns] not a regular expression", "re:"),
        ("[traps]\nwindow = 100", "[traps] window = 100", "1 to 64"),
        ("[crawl\n", "at line 1", "settings are TOML"),
    ],
)
def test_an_error_says_where_what_and_what_to_type(text: str, message: str, hint: str) -> None:
    """File, table, key and the nearest known name, or what was expected; and the next step."""
    error = refused(text)
    assert str(error).startswith("crawl.toml: ")
    assert message in str(error)
    assert hint in error.hint
    assert error.exit_code == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """So is one that is not text."""
    with pytest.raises(ConfigError, match=r"nothing\.toml: No such file"):
        Config.load(tmp_path / "nothing.toml")
    (tmp_path / "noise.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"noise\.toml: not in UTF-8 at byte 0"):
        Config.load(tmp_path / "noise.toml")


def test_options_go_over_the_file_and_none_changes_nothing() -> None:
    """Flags over file over defaults."""
    file = Config.parse("[crawl]\nlimit = 5\nrate = 2.0\n[politeness]\ndelay = 3.0")
    both = file.with_options({"crawl.limit": 7, "crawl.rate": None, "wire.timeout": None})
    assert (both.crawl.limit, both.crawl.rate, both.politeness.delay) == (7, 2.0, 3.0)
    with pytest.raises(ConfigError, match=r"the options: \[crawl\] limit: -1 is less than 0"):
        file.with_options({"crawl.limit": -1})


def test_every_setting_is_explained_and_has_a_plain_type() -> None:
    """The file that is written is the manual: no setting without a line on it."""
    for table, room in settings_of(Config).items():
        assert room.doc, table
        for name, field in settings_of(room.type).items():
            assert field.doc, f"[{table}] {name} is not explained"
            plain = (int, float, str, bool, tuple[str, ...], dict[str, str], dict[str, float])
            assert field.type in plain or get_origin(field.type) is Literal, f"[{table}] {name}"


@each_case(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("10m", 600.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        ("2d", 172800.0),
        ("250ms", 0.25),
        ("1h 30m", 5400.0),
        ("10M", 600.0),
    ],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    """As people type them."""
    assert parse_duration(text) == seconds


@each_case("text", ["", "m", "10x", "-1m", "1m2", "m10", "1h30", "٣m", "9" * 400])
def test_what_is_not_a_length_of_time(text: str) -> None:
    """Is refused, and not guessed at."""
    with pytest.raises(ConfigError):
        parse_duration(text)


@each_case(
    ("text", "size"),
    [
        ("10", 10),
        ("10k", 10_000),
        ("10KiB", 10_240),
        ("1.5M", 1_500_000),
        ("2 GB", 2 * 10**9),
        ("1TiB", 2**40),
        ("7B", 7),
    ],
)
def test_sizes(text: str, size: int) -> None:
    """Powers of 1000 and of 1024 are told apart."""
    assert parse_size(text) == size


def test_quantities_are_written_as_people_would() -> None:
    """The largest units that say exactly the same."""
    assert [duration_text(each) for each in (90, 5400, 86_400, 0.5)] == ["1m30s", "1h30m", "1d", "0.5s"]
    assert [size_text(each) for each in (10 * 2**20, 1000, 1024)] == ["10MiB", "1000", "1KiB"]


def test_what_was_asked_is_written_with_a_line_on_each_setting() -> None:
    """Nothing else is: settings of a usual crawl are read at a glance."""
    text = Config().with_options({"crawl.limit": 9, "crawl.ordering": "opic", "politeness.delay": 2.0}).dump()
    words = text.removeprefix(HEADER).split()
    assert len(text.splitlines()) <= 20
    assert [word for word in words if word.startswith("[")] == ["[crawl]", "[politeness]"]
    assert "\n# Minimum seconds between two visits of a site.\ndelay = 2.0\n" in text
    assert text.count("\n#") == HEADER.count("\n#") + 3
    assert max(map(len, text.splitlines())) <= 120


def test_a_file_with_defaults_explains_every_setting() -> None:
    """Every table and setting is there; a default is commented out, and what was asked is not."""
    text = dump(Config().with_options({"crawl.limit": 9}), has_defaults=True)
    assert re.search(r"^limit = 9$", text, re.MULTILINE)
    assert re.search(r"^# delay = 1\.0$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 120
    for table, room in settings_of(Config).items():
        assert f"\n[{table}]\n" in text
        for name in settings_of(room.type):
            assert re.search(rf"^(?:# )?{name} = ", text, re.MULTILINE)


@each_case(
    ("said", "hint"),
    [
        ('weights = { "/x" = "much" }', "name = 1.0"),
        ('weights = { "/x" = -1.0 }', "1 is the mean"),
        ('weights = { "re:(" = 1.0 }', "backslash"),
        ('weight = "pagernak"', "pagerank"),
        ('objective = "fresh"', "There are"),
    ],
)
def test_what_cannot_be_wanted_of_second_visits_is_refused_when_it_is_read(said: str, hint: str) -> None:
    """Not when the watch comes to it; with the table and what could be meant."""
    with pytest.raises(ConfigError) as error:
        Config.parse(f"[refresh]\n{said}\n")
    assert "[refresh]" in str(error.value)
    assert hint in (error.value.hint or "")
