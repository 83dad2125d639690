"""`--set` gives any setting to every command that makes or continues a crawl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.each_case import each_case
from tests.lab.scripted_web import ScriptedWeb, urlset
from tests.system.typed import Run

import periplus
from periplus.collection.collection import existing, planned
from periplus.collection.config.settings import Config
from periplus.model import ConfigError, UsageError

HOME = "http://docs.example.org/"


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    pages: dict[str, str | bytes] = {
        HOME: "<title>Docs</title><a href=/a>a</a>",
        f"{HOME}a": "<title>A</title>",
        f"{HOME}robots.txt": f"User-agent: *\nAllow: /\nSitemap: {HOME}sitemap.xml\n",
        f"{HOME}sitemap.xml": urlset(f"{HOME}a"),
    }
    with ScriptedWeb(pages) as server:
        yield server


def settings(web: ScriptedWeb) -> tuple[str, ...]:
    """Everything that a crawl of this web needs, by name."""
    quick = ("crawl.workers=1", "politeness.slow_factor=0", "politeness.delay=0s", f"wire.proxy={web.base}")
    return tuple(f"--set={text}" for text in quick)


@pytest.mark.proof
def test_a_crawl_with_settings_by_name(web: ScriptedWeb, tmp_path: Path, run: Run) -> None:
    """They are saved and signed like options; later commands need none of them."""
    out = tmp_path / "docs"
    said = run("crawl", HOME, "-o", str(out), "--json", "--set", "crawl.limit=1", *settings(web))
    assert json.loads(said.stdout)["pages"] == 1, said.stderr
    config = existing(out).config
    assert (config.crawl.limit, config.politeness.slow_factor, config.wire.proxy) == (1, 0.0, web.base)
    said = run("crawl", "-o", str(out), "--json", "--set", "crawl.limit=10")
    assert json.loads(said.stdout)["pages"] == 2, said.stderr
    said = run("refresh", str(out), "--json", "--set", "wire.timeout=20s")
    assert json.loads(said.stdout)["asked"] == 2, said.stderr
    assert existing(out).config.wire.timeout == 30.0


@pytest.mark.proof
def test_maps_surveys_and_audits(web: ScriptedWeb, tmp_path: Path, run: Run) -> None:
    said = run("map", HOME, "--json", *settings(web))
    assert json.loads(said.stdout.splitlines()[0])["url"] == f"{HOME}a", said.stderr
    (tmp_path / "domains.txt").write_text(f"{HOME}\n")
    said = run("survey", str(tmp_path / "domains.txt"), "-o", str(tmp_path / "s"), "--json", *settings(web))
    assert said.returncode == 0, said.stderr
    said = run("audit", HOME, "--json", "--set=crawl.limit=1", *settings(web))
    assert json.loads(said.stdout)["pages"] == 1, said.stderr


@each_case(
    ("words", "message"),
    [
        (("crawl", "a.test", "-o", "x", "--set", "crawl.limt=3"), "--set: [crawl] has no setting 'limt'"),
        (("crawl", "a.test", "-o", "x", "--set", "crawl.limit"), "--set must be TABLE.KEY=VALUE, got crawl.limit"),
        (("crawl", "a.test", "-o", "x", "--set", "scope.kind=hots"), "[scope] unknown scope: 'hots'"),
        (("map", "a.test", "--set", "sitemaps.only=false"), "sitemaps.only is True in periplus map"),
        (("survey", "-", "-o", "x", "--set", "sitemaps.follow=false"), "sitemaps.follow is True in periplus survey"),
        (("import", "x.warc", "-o", "x", "--set", "no.such=1"), "--set: unknown table [no]"),
        (("serve", "x", "--set", "crawl.limit=3"), "--set gives settings to a crawl"),
    ],
)
def test_errors(words: tuple[str, ...], message: str, run: Run) -> None:
    said = run(*words)
    assert said.returncode == 2
    assert message in said.stderr


def test_settings_of_the_library(web: ScriptedWeb, tmp_path: Path) -> None:
    """By name, beside keywords."""
    out = tmp_path / "docs"
    quick = {"politeness.slow_factor": 0, "politeness.delay": "0s", "wire.proxy": web.base}
    assert periplus.crawl(HOME, out=out, limit=1, settings=quick).run().pages == 1
    assert existing(out).config.wire.proxy == web.base
    assert [each.url for each in periplus.map(HOME, settings=quick)] == [f"{HOME}a"]
    assert periplus.open(out).refresh(settings={"wire.timeout": "20s"}, new=False).asked == 1
    with pytest.raises(ConfigError, match=r"settings: \[wire\] has no setting 'timout'"):
        periplus.open(out).refresh(settings={"wire.timout": "20s"})
    with pytest.raises(UsageError, match=r"sitemaps\.only is True"):
        periplus.map(HOME, settings={"sitemaps.only": False})


def test_settings_of_others_stay_untrusted(tmp_path: Path) -> None:
    """A name that is given now is given by a person; the others that a folder has are not."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    theirs = Config().with_options({"wire.proxy": "http://127.0.0.1:9", "wire.allow_private": ["10.0.0.1"]})
    (folder / "periplus.toml").write_text(theirs.dump())
    with pytest.raises(ConfigError, match=r"sets wire\.allow_private, and you have not given that"):
        planned(folder, typed=["http://a.test/"], options={"wire.proxy": "http://127.0.0.1:3128"})
    given = {"wire.proxy": "http://127.0.0.1:3128", "wire.allow_private": ["10.0.0.2"]}
    assert planned(folder, typed=["http://a.test/"], options=given).config.wire.allow_private == ("10.0.0.2",)
