"""A collection that is indexed and searched, by programs and at the command line; what changed is found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import SEED, attentive, quick, shop
from tests.system.typed import Run

import periplus


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ScriptedWeb, Path]]:
    """The shop and a collection of it, to be copied."""
    folder = tmp_path_factory.mktemp("shop")
    with shop(4) as server:
        server.said[f"{SEED}hidden"] = "<title>Hidden</title><meta name=robots content=noindex><p>Secret parts."
        server.said[SEED] = str(server.said[SEED]) + "<a href='/hidden'>hidden</a>"
        periplus.crawl(SEED, out=folder / "c", config=attentive(folder), **quick(server)).run()
        yield server, folder / "c"


@pytest.fixture
def web(crawled: tuple[ScriptedWeb, Path]) -> Iterator[ScriptedWeb]:
    """The shop, which is after a test what it was before."""
    web, before = crawled[0], dict(crawled[0].said)
    yield web
    web.said = before
    web.asked.clear()


@pytest.fixture
def collection(crawled: tuple[ScriptedWeb, Path], tmp_path: Path) -> periplus.Collection:
    return periplus.open(shutil.copytree(crawled[1], tmp_path / "c"))


@pytest.mark.proof
def test_pages_are_found_by_their_words(collection: periplus.Collection) -> None:
    """Best first, with a snippet; pages that ask not to be indexed are not."""
    done = collection.index()
    assert done.added == done.total > 0
    hits = collection.search("long time")
    assert [hit.url for hit in hits] == [f"{SEED}about"]
    assert "long time" in hits[0].snippet
    assert collection.search("about us")[0].url == f"{SEED}about"
    assert not collection.search("secret")


@pytest.mark.proof
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


@pytest.mark.proof
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


@pytest.mark.proof
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
    assert found.asked is None


@pytest.mark.proof
def test_what_people_asked_for_is_asked_again(run: Run, collection: periplus.Collection) -> None:
    """From the log that `serve` keeps: what was not found is named."""
    collection.index()
    asked = ("product", "Zebra", "zebra", "prodct", "product zebra")
    lines = (f'{{"at": 1.0, "query": "{query}", "total": 0}}\n' for query in asked)
    (collection.folder / "queries.jsonl").write_text("".join(lines))
    found = collection.search_eval(40).asked
    assert found is not None
    assert (found.queries, found.found, found.corrected, found.partly) == (4, 1, 1, 1)
    assert found.not_found == (("zebra", 2),)
    assert "1 not found" in run("search", "eval", str(collection.folder)).stdout
