"""`periplus crawl --extract`: what a function makes of each page is in the table `items`, once, also after an error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import periplus
from periplus.cli.app import app
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]

GOOD = "def titles(page):\n    return {'title': page.title}\n"
BAD = """seen = []


def titles(page):
    seen.append(page.url)
    return {'title': page.title} if len(seen) < 4 else 1 / 0
"""


@pytest.fixture
def web(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    world = World(11, 2, pages=40)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with room for a module that is imported again in each test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("own_items", None)


def crawled(web: RunningLab, function: str) -> tuple[int, str]:
    seed = f"http://{web.world.sites()[0].host}/"
    quick = ("--delay", "0", "--workers", "1", "--no-sitemaps", "--limit", "12", "--proxy", web.base)
    done = CliRunner().invoke(app, ["crawl", seed, "-o", "out", *quick, "--extract", function], prog_name="periplus")
    return done.exit_code, done.output


def rows(name: str) -> list[tuple[str, str]]:
    found = periplus.open("out").query(f"select url, title from {name} order by url").fetchall()
    return [(str(url), str(title)) for url, title in found]


def test_every_page_is_extracted_once_also_after_an_error(web: RunningLab, folder: Path) -> None:
    """The crawl ends at the page whose extraction fails, and the same command continues with that page."""
    (folder / "own_items.py").write_text(BAD)
    code, output = crawled(web, "own_items:titles")
    assert code != 0, output
    before = rows("items")
    assert len(before) == 3
    sys.modules.pop("own_items")
    (folder / "own_items.py").write_text(GOOD)
    code, output = crawled(web, "own_items:titles")
    assert code == 0, output
    items, pages = rows("items"), rows("pages")
    assert len(pages) == 12
    assert items == pages


@pytest.mark.parametrize("name", ["own_items:absent", "absent_module:titles", "own_items:NUMBER", "absent"])
def test_a_name_that_is_not_a_function_is_an_error_before_anything_is_fetched(
    web: RunningLab, folder: Path, name: str
) -> None:
    """Nothing is requested and no folder is made."""
    (folder / "own_items.py").write_text("NUMBER = 1\n")
    code, _ = crawled(web, name)
    assert code != 0
    assert not (folder / "out").exists()
    assert list(web.log.visits()) == []
