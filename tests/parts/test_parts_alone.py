"""A part of another package needs nothing but its entry point; parts that a crawl does not ask for are not loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.installed_part import install

from periplus.collection.config.settings import Config
from periplus.parts import FEATURES

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
CRAWL = """
import sys
from pathlib import Path

from click.testing import CliRunner

from periplus_lab import World
from periplus_lab.server import RunningClock, RunningLab, Server
from periplus_lab.sites import Profile
from periplus.collection.collection import planned
from periplus.collection.opening import open_crawl, settle

folder, asked = Path(sys.argv[1]) / "crawl", dict(pair.split("=") for pair in sys.argv[2:])
world = World(11, 2, pages=24, profiles=(Profile.SHOP, Profile.NEWS))
with RunningLab(Server(world, RunningClock(world.epoch))) as lab:
    options = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "crawl.workers": 1, **asked}
    options |= {"wire.proxy": lab.base.rstrip("/"), "crawl.limit": 20}
    found = planned(folder, typed=[site.url for site in world.sites()], options=options)
    found.save()
    statuses = open_crawl(found.config, folder, found.seeds, 1).run()
settle(folder)
print("pages", sum(status.crawl.pages for status in statuses))

from periplus.cli.app import app


def said(*command):
    done = CliRunner().invoke(app, [str(each) for each in command])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, (command, done.output)
    return done.output
"""
SETTINGS = '''
"""Settings of word counts."""

from typing import Annotated

from msgspec import Struct

from periplus.model.flags import FAR, Flag


class WordSettings(Struct, frozen=True, forbid_unknown_fields=True):
    least: Annotated[int, Flag("--least-words", "Words of a page that is counted.", "N", FAR, least=1)] = 10
    """Minimum words of a page that is counted."""


class WordTables(Struct, frozen=True):
    words: WordSettings = WordSettings()
    """Which pages have their words counted."""
'''
PART = '''
"""Counts the words of pages."""

from periplus.engine.part import Part

from .rows import WordCount
from .settings import WordTables


class WordCounter(Part):
    def __init__(self, desk, settings):
        self._events, self._least = desk.events, settings.least

    @classmethod
    def made_for(cls, setup, desk):
        return [cls(desk, setup.settings.some(WordTables).words)]

    def read(self, processed, now):
        words = len(processed.page.text.split()) if processed.page else 0
        if words >= self._least:
            self._events.record([WordCount(processed.page.url, words, now)])
'''
ROWS = '''
"""The table of word counts."""

from periplus.model.rows import Moment, Number, TableRow, TableView, Text


class WordCount(TableRow, frozen=True):
    """The words of every page."""

    table = "word_counts"
    key = ("url",)

    url: Text
    """the page"""
    words: Number
    """how many it has"""
    counted_at: Moment
    """when"""


VIEWS = (TableView("longest_pages", "Pages by their words.", "select url, words from word_counts order by words desc"),)
'''
WITH_WORDS = (
    CRAWL
    + """
import json
from urllib.request import urlopen

from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings

assert json.loads(said("query", folder, "select count(*) as pages, min(words) as least from longest_pages", "--json"))
with running(Served((folder,), ServeSettings(port=0))) as url:
    assert "word_counts" in urlopen(f"{url}collection/tables").read().decode()
    assert found.seeds[0] in urlopen(f"{url}collection/tables/word_counts").read().decode()
assert "--least-words" in said("crawl", "--help-all")
assert "Minimum words of a page that is counted." in (folder / "periplus.toml").read_text()
assert "least = 40" in (folder / "periplus.toml").read_text()
"""
)


FEATURE = '"words.part:WordCounter", "counts words", rows="words.rows", settings="words.settings:WordTables"'
ASKED = ("dust", "render", "absence", "cloaking", "forms", "mirrors", "spam", "reputation")
"""The features of a crawl with the default settings."""


def test_parts_that_are_not_asked_for_are_not_wanted() -> None:
    """Each setting that names what a feature does asks for it."""
    asked = [each for each in FEATURES if each.is_wanted(Config())]
    assert {each.part.split(".")[2] for each in asked} == set(ASKED)
    for name, value in (
        ("deltas.offer", True),
        ("permissions.ledger", True),
        ("requisites.enabled", True),
        ("identity.key", "k"),
    ):
        more = [each for each in FEATURES if each.is_wanted(Config().with_options({name: value}))]
        assert len(more) == len(asked) + 1, name


@pytest.mark.proof
def test_a_part_of_another_package_is_as_our_own(tmp_path: Path) -> None:
    """Its setting, flag, table, view, page in the browser and help follow from its entry point."""
    packages = install(tmp_path / "site", "words", {"settings": SETTINGS, "part": PART, "rows": ROWS}, FEATURE)
    done = subprocess.run(
        [sys.executable, "-c", WITH_WORDS, str(tmp_path), "words.least=40"],
        env={"PYTHONPATH": f"{SOURCE}:{ROOT}:{packages}", "PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert not done.returncode, done.stderr[-3000:]
