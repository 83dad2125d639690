"""A collection that is indexed and searched, by programs and at the command line; what changed is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import SEED, attentive, quick, shop
from tests.system.typed import Run

import periplus


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with shop(4) as server:
        server.said[f"{SEED}hidden"] = "<title>Hidden</title><meta name=robots content=noindex><p>Secret parts."
        server.said[SEED] = str(server.said[SEED]) + "<a href='/hidden'>hidden</a>"
        yield server


@pytest.fixture
def collection(web: ScriptedWeb, tmp_path: Path) -> periplus.Collection:
    periplus.crawl(SEED, out=tmp_path / "c", config=attentive(tmp_path), **quick(web)).run()
    return periplus.open(tmp_path / "c")


def test_pages_are_found_by_their_words(collection: periplus.Collection) -> None:
    """Best first, with a snippet; pages that ask not to be indexed are not."""
    done = collection.index()
    assert done.added == done.total > 0
    hits = collection.search("long time")
    assert [hit.url for hit in hits] == [f"{SEED}about"]
    assert "long time" in hits[0].snippet
    assert collection.search("about us")[0].url == f"{SEED}about"
    assert not collection.search("secret")


def test_an_index_follows_its_collection(collection: periplus.Collection, web: ScriptedWeb) -> None:
    """Only what changed is read again; pages that are gone are deleted."""
    first = collection.index()
    again = collection.index()
    assert (again.added, again.deleted, again.unchanged) == (0, 0, first.total)
    web.said[f"{SEED}about"] = "<title>About</title><p>We moved to a lighthouse by the sea and like it there."
    collection.refresh()
    updated = collection.index()
    assert updated.total == first.total
    assert [hit.url for hit in collection.search("lighthouse")] == [f"{SEED}about"]
    assert not collection.search("long time")


def test_the_command_line_does_the_same(run: Run, collection: periplus.Collection) -> None:
    """With JSON for programs, exit code 1 if nothing is found, and 2 with the next step without an index."""
    folder = str(collection.folder)

    without = run("search", folder, "parts")
    assert without.returncode == 2
    assert "periplus index" in without.stderr
    assert json.loads(run("index", folder, "--json").stdout)["total"] > 0
    found = json.loads(run("search", folder, "long", "time", "--json").stdout)
    assert [hit["url"] for hit in found["hits"]] == [f"{SEED}about"]
    shown = run("search", folder, "logn time")
    assert "long time" in shown.stdout
    assert run("search", folder, "zeppelin").returncode == 1


def test_search_without_an_index_says_what_to_do(collection: periplus.Collection) -> None:
    """As an error of ours."""
    with pytest.raises(periplus.UsageError, match="no index"):
        collection.search("anything")


def test_an_evaluation_of_its_own_pages(run: Run, collection: periplus.Collection) -> None:
    """Queries from links and titles; ours beats the text alone, which has no titles."""
    collection.index()
    found = collection.search_eval(40)
    plain, ours = found.rankings["BM25 of the text"], found.rankings["periplus"]
    assert found.queries >= 5
    assert found.pages == collection.index().total
    assert ours.reciprocal_rank >= plain.reciprocal_rank > 0
    shown = run("search", "eval", str(collection.folder))
    assert "periplus" in shown.stdout
    assert "success at 10" in shown.stdout
