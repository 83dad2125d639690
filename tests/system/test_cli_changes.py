"""`periplus changes` on a collection that was crawled twice, from a web that changed in between."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from tests.lab.crawling import make_due
from tests.lab.scripted_web import ScriptedWeb
from tests.system.typed import Run, Said

from periplus.cli import main
from periplus.cli.changes.output import iso
from periplus.formats import feed

HOME = "http://site.test"
ATOM = "{http://www.w3.org/2005/Atom}"
STORY = "The ferry leaves the harbour at dawn. It carries forty people and their bicycles. It returns in the evening."


def html(title: str, text: str, *links: str) -> str:
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    paragraphs = "".join(f"<p>{each}</p>" for each in text.split("\n"))
    return f"<!doctype html><title>{title}</title><main>{paragraphs}</main><nav><ul>{anchors}</ul></nav>"


class Crawled(NamedTuple):
    """A collection, and when the second crawl of it began."""

    folder: Path
    between: str


def typed(*args: str) -> int:
    """The exit code of the program in this process, whatever it says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["periplus", *args])
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """Five pages; then one is edited, one is gone, one is new, one shows another time, and one is what it was."""
    links = ("/story", "/gone", "/clock", "/same")
    said: dict[str, str | bytes] = {
        f"{HOME}/": html("Home", "Welcome to this site about ferries and harbours.", *links),
        f"{HOME}/story": html("The story", STORY),
        f"{HOME}/gone": html("Gone soon", "This page will not be here for long, so read it."),
        f"{HOME}/clock": html("Clock", "It was 12:30:01 when somebody last looked at this page."),
        f"{HOME}/same": html("Same", "This page has always said what it says."),
    }
    folder = tmp_path_factory.mktemp("changes") / "site"
    with ScriptedWeb(said) as web:
        into = ("crawl", "-o", str(folder), "--proxy", web.base, "--delay", "0", "--workers", "1", "--no-sitemaps")
        assert typed(*into, f"{HOME}/") == 0
        settings = folder / "periplus.toml"  # what differs a second later is not noise here
        settings.write_text(settings.read_text().replace("# instant = 60.0", "instant = 0.0"))
        between = iso(time.time())
        web.said |= {
            f"{HOME}/": html("Home", "Welcome to this site about ferries and harbours.", *links, "/new"),
            f"{HOME}/story": html("The story", STORY.replace("forty", "fifty <b>happy</b>")),
            f"{HOME}/new": html("Brand new", "A page about the new harbour \x1b[31m& <i>its</i> lighthouse."),
            f"{HOME}/clock": html("Clock", "It was 13:45:59 when somebody last looked at this page."),
        }
        del web.said[f"{HOME}/gone"]
        make_due(folder, [f"{HOME}{path}" for path in ("/", *links)])
        assert typed(*into) == 0
    return Crawled(folder, between)


def lines(said: Said) -> list[dict[str, Any]]:
    assert said.returncode == 0, said.stderr
    return [json.loads(line) for line in said.stdout.splitlines()]


def test_programs_are_told_everything(run: Run, crawled: Crawled) -> None:
    """What appeared, changed and vanished since the first crawl, and what differs; a clock is not a change."""
    told = lines(run("changes", str(crawled.folder), "--since", crawled.between, "--json"))
    by_url = {line["url"].removeprefix(HOME): line for line in told}
    assert {path: line["kind"] for path, line in by_url.items()} == {
        "/": "changed",
        "/story": "changed",
        "/gone": "vanished",
        "/new": "appeared",
    }
    story = by_url["/story"]
    assert (story["title"], story["removed"], story["added"]) == ("The story", 1, 2)
    assert 0.05 < story["size"] < 0.15
    runs = [(run["mark"], run["text"].strip()) for passage in story["diff"] for run in passage["runs"]]
    assert ("removed", "forty") in runs
    assert ("added", "fifty happy") in runs
    assert (by_url["/"]["size"], by_url["/"]["links_added"]) == (0.0, 1)
    assert by_url["/gone"]["reason"] == "http-404"
    assert by_url["/gone"]["title"] == "Gone soon"
    assert by_url["/new"]["excerpt"].startswith("A page about the new harbour")
    assert (crawled.folder / "warc" / by_url["/new"]["after"]["file"]).is_file()


def test_filters_choose(run: Run, crawled: Crawled) -> None:
    """By path, kind, site, size, time and number."""
    typed = ("changes", str(crawled.folder), "--since", crawled.between, "--json")

    def paths(*args: str) -> set[str]:
        return {line["url"].removeprefix(HOME) for line in lines(run(*typed, *args))}

    assert paths("--path", "/s*") == {"/story"}
    assert paths("--kind", "vanished", "--kind", "appeared") == {"/gone", "/new"}
    assert paths("--kind", "changed", "--least", "5%") == {"/story"}
    assert paths("--kind", "changed", "--least", "50%") == set()
    assert paths("--site", "other.test") == set()
    assert paths("--until", "2001-01-01") == set()
    assert len(paths("--limit", "2")) == 2
    (story,) = lines(run(*typed, "--path", "/story", "--no-diff"))
    assert (story["diff"], story["size"], story["level"]) == (None, None, "major")


def test_people_see_it_by_site_with_words_marked(run: Run, crawled: Crawled) -> None:
    """Without colours the marks are signs; nothing a terminal would obey comes from a page; the time is explained."""
    said = run("changes", str(crawled.folder))
    assert said.returncode == 0
    assert "the last run that found something" in said.stderr
    assert said.stdout.splitlines()[0].startswith("site.test")
    assert "[-forty-] {+fifty happy+}" in said.stdout
    assert "Not Found" in said.stdout
    assert "\x1b" not in said.stdout
    assert "1 vanished" in said.stdout
    nothing = run("changes", str(crawled.folder), "--since", "2001-01-01", "--until", "2001-01-02")
    assert (nothing.returncode, nothing.stdout.strip()) == (0, "nothing appeared, changed or vanished")


def test_readers_of_feeds_get_valid_atom(run: Run, crawled: Crawled, tmp_path: Path) -> None:
    """RFC 4287: id, title and updated everywhere, an author, and what differs as HTML; the same ids each time."""
    path = tmp_path / "changes.atom"
    typed = ("changes", str(crawled.folder), "--since", crawled.between, "--atom")
    assert run(*typed, str(path)).returncode == 0
    root = ElementTree.fromstring(path.read_bytes())
    assert root.find(f"{ATOM}author/{ATOM}name") is not None
    entries = root.findall(f"{ATOM}entry")
    assert len(entries) == 4
    for element in (root, *entries):
        assert all(len(element.findall(f"{ATOM}{name}")) == 1 for name in ("id", "title", "updated"))
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(set(ids)) == 4
    times = [entry.findtext(f"{ATOM}updated") or "" for entry in entries]
    assert times == sorted(times, reverse=True)
    by_title = {entry.findtext(f"{ATOM}title"): entry for entry in entries}
    content = by_title["changed: The story"].find(f"{ATOM}content")
    assert content is not None
    assert content.get("type") == "html"
    assert "<del>forty </del><ins>fifty happy </ins>" in (content.text or "")
    again = run(*typed, "-")
    assert [item.id for item in feed.read(again.stdout.encode()).items] == ids
    assert feed.read(again.stdout.encode()).problems == ()


def test_one_page_with_its_versions(run: Run, crawled: Crawled) -> None:
    """Every visit with its place in the archive, and the difference of the last two versions."""
    said = run("changes", str(crawled.folder), f"{HOME}/story")
    assert said.returncode == 0
    assert said.stdout.count(".warc.gz:") == 2
    assert "[-forty-] {+fifty happy+}" in said.stdout
    (page,) = lines(run("changes", str(crawled.folder), f"{HOME}/story", "--json"))
    assert [visit["status"] for visit in page["visits"]] == [200, 200]
    assert page["before"]["at"] < page["after"]["at"]
    (page,) = lines(run("changes", str(crawled.folder), f"{HOME}/same", "--json"))
    assert [visit["status"] for visit in page["visits"]] == [200, 304]
    assert page["diff"] is None
    (page,) = lines(run("changes", str(crawled.folder), f"{HOME}/gone", "--json"))
    assert page["visits"][1]["version"] is None


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("--since", "yesterday"), "is not a time"),
        (("--least", "much"), "is not a share"),
        (("--least", "120%"), "is not a share"),
        (("--json", "--atom", "-"), "exclude each other"),
        (("http://site.test/nowhere",), "no version"),
        (("http://site.test/story", "--kind", "changed"), "a single page"),
        (("--atom", "/nowhere/at/all.xml"), "No such file"),
    ],
)
def test_mistakes_are_told(run: Run, tmp_path: Path, args: tuple[str, ...], what: str) -> None:
    """With the exit code of wrong usage, and what to type."""
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "periplus.toml").write_text('[crawl]\nseeds = ["http://site.test/"]\n')
    said = run("changes", str(folder), *args)
    assert said.returncode == 2
    assert what in said.stderr
