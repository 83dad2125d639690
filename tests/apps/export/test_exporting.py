"""Exports at both doors: the same options, the same refusals; and exports of what changed, with what was deleted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import SEED, attentive, quick, shop
from tests.system.typed import run_program

import periplus
from periplus.apps.export.exporting import FORMATS
from periplus.cli.app import app


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with shop(4) as server:
        yield server


@pytest.fixture
def shopping(web: ScriptedWeb, tmp_path: Path) -> periplus.Collection:
    periplus.crawl(SEED, out=tmp_path / "c", config=attentive(tmp_path), **quick(web)).run()
    return periplus.open(tmp_path / "c")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def change(web: ScriptedWeb) -> None:
    """A page changes, one vanishes, one is new."""
    web.said[f"{SEED}product/0"] = (
        "<!doctype html><html lang=en><title>Product 0</title><h1>Product 0</h1><p class=price>9 EUR</p>"
        "<p>An entirely different product, which is made of gold, and costs more than all others together.</p>"
    )
    del web.said[f"{SEED}product/1"]
    web.said[SEED] = str(web.said[SEED]) + "<a href='/new'>New</a>"
    web.said[f"{SEED}new"] = "<title>New</title><p>A page that nobody has seen before, about a new thing."


@pytest.mark.proof
def test_every_format_at_both_doors(shopping: periplus.Collection, tmp_path: Path) -> None:
    """What the command writes, the library writes."""
    for form in FORMATS:
        by_library, by_command = tmp_path / f"library-{form}", tmp_path / f"command-{form}"
        exported = shopping.export(form, by_library)
        assert exported.written > 0, form
        result = CliRunner().invoke(app, ["export", str(shopping.folder), "-f", form, "-o", str(by_command)])
        assert result.exit_code == 0, result.output
        assert by_library.is_dir() == by_command.is_dir()
        if form not in ("wacz", "parquet", "cc-index") and by_library.is_file():
            assert by_library.read_bytes() == by_command.read_bytes(), form
        names = [sorted(path.relative_to(each) for path in each.rglob("*")) for each in (by_library, by_command)]
        assert names[0] == names[1], form


@pytest.mark.proof
def test_one_rule_says_where_every_format_goes(
    shopping: periplus.Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a terminal into a file or folder named after the collection; one file also into a pipe, and with `-o -`."""
    monkeypatch.chdir(tmp_path)
    _, terminal = os.openpty()
    for form, ending in FORMATS.items():
        place = tmp_path / f"c{ending}"
        done = run_program("export", str(shopping.folder), "-f", form, stdout=terminal)
        assert (done.returncode, place.exists()) == (0, True), done.stderr
        piped = CliRunner().invoke(app, ["export", str(shopping.folder), "-f", form, "-o", "-"])
        assert (piped.exit_code == 0) == (place.is_file() and form != "wacz")
        if piped.exit_code == 0:
            assert piped.stdout_bytes == place.read_bytes()
            again = CliRunner().invoke(app, ["export", str(shopping.folder), "-f", form])
            assert again.stdout_bytes == piped.stdout_bytes
        else:
            assert f"leave it out to write c{ending}" in getattr(piped.exception, "hint", "")
    assert b"not for a terminal" in run_program("export", "c", "-f", "warc", "-o", "-", stdout=terminal).stderr


def test_md_is_markdown(shopping: periplus.Collection, tmp_path: Path) -> None:
    """At both doors."""
    assert shopping.export("md", tmp_path / "a").written == 6
    typed = ["export", str(shopping.folder), "-f", "md", "-o", str(tmp_path / "b")]
    assert CliRunner().invoke(app, typed).exit_code == 0
    assert sorted(each.name for each in tmp_path.glob("[ab]/**/*.md")) != []


@pytest.mark.parametrize(
    ("form", "keywords", "typed"),
    [
        ("text", {"markdown": True}, ["--markdown"]),
        ("warc", {"site": "shop.test"}, ["--site", "shop.test"]),
        ("jsonl", {"where": "true"}, ["--where", "true"]),
        ("jsonl", {"title": "x"}, ["--title", "x"]),
        ("jsonl", {"index": "x"}, ["--index", "x"]),
        ("bulk", {"index": "A B"}, ["--index", "A B"]),
        ("csv", {"since": "1d"}, ["--since", "1d"]),
        ("jsonl", {"since": "1d", "changed": True}, ["--since", "1d", "--changed"]),
        ("jsonl", {"since": "sometime"}, ["--since", "sometime"]),
        ("jsonl", {"size": 100}, ["--size", "100"]),
        ("chunks", {"unit": "miles"}, ["--unit", "miles"]),
        ("jsonl", {"name": "x"}, ["--name", "x"]),
        ("jsonl", {"changed": True, "name": "../x"}, ["--changed", "--name", "../x"]),
    ],
)
def test_same_refusals(
    shopping: periplus.Collection, tmp_path: Path, form: str, keywords: dict[str, Any], typed: list[str]
) -> None:
    """An option that a format does not have is refused in the same words, and nothing is begun."""
    out = tmp_path / "out"
    with pytest.raises(periplus.UsageError) as refused:
        shopping.export(form, out, **keywords)
    result = CliRunner().invoke(app, ["export", str(shopping.folder), "-f", form, "-o", str(out), *typed])
    assert str(result.exception) == str(refused.value)
    assert not out.exists()


def test_filters_of_the_library(shopping: periplus.Collection, tmp_path: Path) -> None:
    """Sites, patterns, languages, copies and uses select pages as they do on the command line."""
    done = shopping.export("jsonl", tmp_path / "a", site="shop.test", include="/product/*", lang=["en"], dedupe=True)
    assert done.written == 4
    assert shopping.export("jsonl", tmp_path / "b", site="elsewhere.test").written == 0
    assert shopping.export("jsonl", tmp_path / "d", for_="training").left_out == {"unexplained": 6}
    with pytest.raises(periplus.UsageError, match="not a use"):
        shopping.export("jsonl", tmp_path / "e", for_="fun")


def test_only_what_changed(shopping: periplus.Collection, web: ScriptedWeb, tmp_path: Path) -> None:
    """The first export of a series has all pages; each further one what appeared, changed and vanished since then."""
    assert shopping.export("jsonl", tmp_path / "1.jsonl", changed=True).written == 6
    assert shopping.export("jsonl", tmp_path / "none.jsonl", changed=True).written == 0
    change(web)
    shopping.refresh(new=True)
    done = shopping.export("jsonl", tmp_path / "2.jsonl", changed=True)
    lines = lines_of(tmp_path / "2.jsonl")
    written = {line["url"] for line in lines if "deleted" not in line}
    assert written >= {f"{SEED}product/0", f"{SEED}new"}
    assert f"{SEED}product/2" not in written
    [gone] = [line for line in lines if "deleted" in line]
    assert gone == {"url": f"{SEED}product/1", "deleted": True, "deleted_at": gone["deleted_at"]}
    assert (done.written, done.deleted) == (len(written), 1)
    again = shopping.export("jsonl", tmp_path / "3.jsonl", changed=True)
    assert (again.written, again.deleted) == (0, 0)
    assert shopping.export("jsonl", tmp_path / "4.jsonl", changed=True, name="other").written == 7
    with pytest.raises(periplus.UsageError, match="another format, or selected other pages"):
        shopping.export("chunks", tmp_path / "5", changed=True, name="other")


@pytest.mark.proof
def test_tombstones_of_every_format(shopping: periplus.Collection, web: ScriptedWeb, tmp_path: Path) -> None:
    """Folders have a file of deleted pages; a page that this export leaves out now is one of them.

    What changed since a moment and what changed since the last export are the same.
    """
    forms = ("markdown", "text", "parquet", "chunks", "bulk")
    for form in forms:
        shopping.export(form, tmp_path / f"{form}-1", changed=True)
    shopping.export("jsonl", tmp_path / "jsonl-1", changed=True)
    shopping.export("jsonl", tmp_path / "english-1", changed=True, lang="en", name="english")
    before = time.time()
    change(web)
    web.said[f"{SEED}product/2"] = (
        "<!doctype html><html lang=de><title>Produkt 2</title><h1>Produkt 2</h1>"
        "<p>Eine ganz andere Seite, in einer anderen Sprache, mit vielen anderen Wörtern als zuvor.</p>"
    )
    shopping.refresh(new=True)
    for form in (*forms, "jsonl"):
        place = tmp_path / f"{form}-2"
        done = shopping.export(form, place, changed=True)
        since = shopping.export(form, tmp_path / f"{form}-since", since=before)
        assert (since.written, since.deleted) == (done.written, done.deleted), form
        assert done.deleted == 1, form
        assert done.written >= 3, form
        if form != "bulk":
            lines = lines_of(place / "deleted.jsonl" if place.is_dir() else place)
            assert [line["url"] for line in lines if "deleted" in line] == [f"{SEED}product/1"]
    assert (tmp_path / "markdown-2/shop.test/new.md").exists()
    assert not (tmp_path / "markdown-2/shop.test/product/1.md").exists()
    assert [path.name for path in (tmp_path / "parquet-2").glob("*.parquet")] == ["documents.parquet"]
    shopping.export("jsonl", tmp_path / "english-2", changed=True, lang="en", name="english")
    gone = {line["url"] for line in lines_of(tmp_path / "english-2") if "deleted" in line}
    assert gone == {f"{SEED}product/1", f"{SEED}product/2", SEED}  # the home page declares none
    shopping.export("jsonl", tmp_path / "ever", since=0.0)
    assert {line["url"] for line in lines_of(tmp_path / "ever") if "deleted" in line} == {f"{SEED}product/1"}


@pytest.mark.proof
def test_killed_export_is_repeated(shopping: periplus.Collection, tmp_path: Path) -> None:
    """The mark is written after the file: an export that was killed before it has all pages again."""
    script = (
        "import os, signal, sys, periplus\n"
        "from periplus.apps.export import changed\n"
        "changed.save_mark = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "periplus.open(sys.argv[1]).export('jsonl', sys.argv[2], changed=True)\n"
    )
    command = [sys.executable, "-c", script, str(shopping.folder), str(tmp_path / "killed")]
    killed = subprocess.run(command, check=False, timeout=600, env=dict(os.environ))
    assert killed.returncode == -signal.SIGKILL
    assert shopping.export("jsonl", tmp_path / "repeated", changed=True).written == 6


@pytest.mark.proof
def test_a_selection_that_fits_no_page_leaves_nothing(shopping: periplus.Collection, tmp_path: Path) -> None:
    """The command says why and what to do, and can be corrected with the same output."""
    for form in ("jsonl", "markdown", "parquet", "bulk"):
        command = ["export", str(shopping.folder), "-f", form, "-o", str(tmp_path / form), "--site"]
        refused = CliRunner().invoke(app, [*command, "nosuch.example"])
        assert isinstance(refused.exception, periplus.PeriplusError)
        assert "no page fits" in str(refused.exception)
        assert f"periplus info {shopping.folder}" in refused.exception.hint
        assert {path.name for path in tmp_path.glob(f"{form}*")} == set()
        assert CliRunner().invoke(app, [*command, "shop.test"]).exit_code == 0


def test_pages_that_are_left_out_for_their_permissions_fit(shopping: periplus.Collection, tmp_path: Path) -> None:
    """The export is empty, and the command does not say that the selection is wrong."""
    command = ["export", str(shopping.folder), "--site", "shop.test", "--for", "training", "--unknown", "drop"]
    ended = CliRunner().invoke(app, [*command, "-f", "jsonl", "-o", str(tmp_path / "out.jsonl")])
    assert ended.exit_code == 1
    assert "no page fits" not in str(ended.exception)
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_one_page_is_not_one_pages(shopping: periplus.Collection) -> None:
    """Numbers agree with their nouns."""
    for more, said in (
        (("jsonl", "--include", "*/product/0"), "1 page to stdout"),
        (("warc",), "1 WARC file to stdout"),
    ):
        assert said in CliRunner().invoke(app, ["export", str(shopping.folder), "-f", *more]).stderr


def test_an_error_names_the_file_that_was_given(shopping: periplus.Collection, tmp_path: Path) -> None:
    """Not the draft that is renamed."""
    with pytest.raises(periplus.UsageError) as refused:
        shopping.export("jsonl", tmp_path / "nosuch" / "x.jsonl")
    assert str(refused.value).startswith(f"{tmp_path / 'nosuch' / 'x.jsonl'}: ")


def test_changed_on_the_command_line(shopping: periplus.Collection, web: ScriptedWeb, tmp_path: Path) -> None:
    """One command, again and again, also to standard output."""
    command = ["export", str(shopping.folder), "-f", "jsonl", "--changed"]
    assert len(CliRunner().invoke(app, command).stdout.splitlines()) == 6
    change(web)
    shopping.refresh(new=True)
    result = CliRunner().invoke(app, [*command, "-o", str(tmp_path / "changes.jsonl")])
    assert result.exit_code == 0
    assert "1 deletion" in result.stderr
    assert CliRunner().invoke(app, command).exit_code == 1


def test_pages_that_chunks_leave_out_are_counted(web: ScriptedWeb, tmp_path: Path) -> None:
    """A near-duplicate and a page that is gone, each by its reason; chunks are counted beside pages."""
    text = "".join(
        f"<p>Paragraph {number} of a page that the shop has twice, in the same words." for number in range(20)
    )
    web.said[SEED] = str(web.said[SEED]) + "<a href='/long'>Long</a><a href='/copy'>Copy</a>"
    web.said |= {f"{SEED}long": f"<title>Long</title>{text}", f"{SEED}copy": f"<title>Long</title>{text}"}
    periplus.crawl(SEED, out=tmp_path / "c", config=attentive(tmp_path), **quick(web)).run()
    del web.said[f"{SEED}about"]
    collection = periplus.open(tmp_path / "c")
    collection.refresh()
    exported = collection.export("chunks", tmp_path / "chunks.jsonl", size=50)
    lines = lines_of(tmp_path / "chunks.jsonl")
    assert (exported.chunks, exported.written) == (len(lines), len({line["page_url"] for line in lines}))
    assert exported.chunks > exported.written
    assert exported.left_out["gone"] == 1
    assert exported.left_out["near-duplicate"] >= 1
    assert exported.written + sum(exported.left_out.values()) == 8
