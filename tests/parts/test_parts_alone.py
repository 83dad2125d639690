"""A part is a folder: without one everything else works, and a new one needs nothing but its folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from periplus import parts

pytestmark = pytest.mark.proof


ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "periplus"
CRAWL = """
import sys
from pathlib import Path

from typer.testing import CliRunner

import periplus.parts
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
WITHOUT = (
    CRAWL
    + """
said("--help"), said("crawl", "--help"), said("watch", "--help")
said("info", folder), said("info", folder, "--json"), said("info", folder, found.seeds[0]), said("judge", folder)
said("query", folder, "select count(*) from pages")
if "sitemaps" in periplus.parts.names():  # the report has an audit, which is about sitemaps
    said("report", folder, "-o", folder / "report.html")
"""
)
SETTINGS = '''
"""Settings of word counts."""

from typing import Annotated

from msgspec import Struct

from periplus.model.flags import FAR, Flag


class WordSettings(Struct, frozen=True, forbid_unknown_fields=True):
    least: Annotated[int, Flag("--least-words", "Words of a page that is counted.", "N", FAR, least=1)] = 10
    """Minimum words of a page that is counted."""


class TABLES(Struct, frozen=True):
    words: WordSettings = WordSettings()
    """Which pages have their words counted."""
'''
PART = '''
"""Counts the words of pages."""

from periplus.engine.part import Part

from .rows import WordCount
from .settings import TABLES


class WordCounter(Part):
    def __init__(self, desk, settings):
        self._events, self._least = desk.events, settings.least

    @classmethod
    def made_for(cls, setup, desk):
        return [cls(desk, setup.settings.some(TABLES).words)]

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
    "import sys\nimport periplus.parts\nperiplus.parts.__path__.append(sys.argv.pop(1))\n"
    + CRAWL
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
assert "Which pages have their words counted." in (folder / "periplus.toml").read_text()
assert "least = 40" in (folder / "periplus.toml").read_text()
"""
)


def run(script: str, source: Path, *arguments: str | Path) -> str:
    """What a program writes that imports this source."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={"PYTHONPATH": f"{source}:{ROOT}", "PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(arguments[-1])},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert not done.returncode, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("name", parts.names())
def test_a_crawl_works_without(name: str, tmp_path: Path) -> None:
    """Its folder is all there is of a part: other commands leave out what it would show."""
    package = tmp_path / "source" / "periplus"
    (package / "parts").mkdir(parents=True)
    for place in SOURCE.iterdir():
        if place.name != "parts":
            (package / place.name).symlink_to(place)
    for place in (SOURCE / "parts").iterdir():
        if place.name != name:
            (package / "parts" / place.name).symlink_to(place)
    assert run(WITHOUT, package.parent, tmp_path).startswith("pages 20\n")


def test_a_new_part_is_one_folder(tmp_path: Path) -> None:
    """Its setting, flag, table, view, page in the browser and help follow from it."""
    folder = tmp_path / "parts" / "words"
    folder.mkdir(parents=True)
    for name, text in (("__init__", '"""Counts words."""'), ("settings", SETTINGS), ("part", PART), ("rows", ROWS)):
        (folder / f"{name}.py").write_text(text)
    run(WITH_WORDS, SOURCE.parent, folder.parent, tmp_path, "words.least=40")
