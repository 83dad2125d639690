"""An index that follows a crawl: killed again and again, locked, damaged, rebuilt."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import SEED, attentive, quick, shop

import periplus
from periplus.apps.search import Index
from periplus.apps.search.indexing import current_generation, follow_index, open_index, update_index
from periplus.cli.index import FOLLOW_EVERY
from periplus.collection.collection import existing
from periplus.model import CollectionDamaged, CollectionInUse, ConfigError
from periplus.store.export.documents import DecodedCapture, last_document

LOCK = "indexer.lock"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ScriptedWeb, Path]]:
    """The shop and a collection of it, to be copied."""
    folder = tmp_path_factory.mktemp("shop")
    with shop(6) as server:
        server.said[f"{SEED}private"] = "<title>Private</title><meta name=robots content=noarchive><p>Seen, not kept."
        server.said[SEED] = str(server.said[SEED]) + "<a href='/private'>private</a>"
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


def contents(index: Index) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    return {one.url: (one.title, one.text, one.anchors) for one in index.documents()}


def indexer(folder: Path) -> subprocess.Popen[str]:
    """`periplus index DIR --follow --json`, which looks at the tables more often than people need."""
    program = f"""
    from pathlib import Path
    import periplus.cli.index as command
    command.FOLLOW_EVERY = 0.05
    command.index(Path({str(folder)!r}), follow=True, json=True)
    """
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)


def begun(process: subprocess.Popen[str], lock: Path) -> None:
    """Wait until the process has begun to index: it holds the lock."""
    while not (lock.is_file() and lock.read_text().strip() == str(process.pid)):
        assert process.poll() is None
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 12])
def test_a_killed_indexer_loses_nothing_and_doubles_nothing(
    collection: periplus.Collection, web: ScriptedWeb, kills: int
) -> None:
    """Killed while it indexes what a crawl adds and changes; in the end the index equals one made at once."""
    chance = random.Random(5)
    found = existing(collection.folder)
    for number in range(kills):
        web.said[f"{SEED}product/{number % 6}"] = f"<title>Product</title><p>Round {number} of product {number % 6}."
        web.said[f"{SEED}new/{number}"] = f"<title>New {number}</title><p>Arrival {number} in the shop."
        web.said[SEED] = str(web.said[SEED]) + f"<a href='/new/{number}'>arrival {number}</a>"
        process = indexer(collection.folder)
        begun(process, found.layout.search / LOCK)
        if number % 2:  # killed while it follows, else during its first run
            assert process.stdout is not None
            process.stdout.readline()
        collection.refresh()
        time.sleep(chance.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if current_generation(found.layout) is not None:
            with open_index(found) as index:
                index.search("product arrival")
                assert len(contents(index)) == len(index)
    last = update_index(found)
    with open_index(found) as index:
        kept, total = contents(index), index.search("arrival").total
    assert update_index(found, rebuild=True).total == last.total
    with open_index(found) as fresh:
        assert kept == contents(fresh)
        assert total == fresh.search("arrival").total
    assert {f"{SEED}new/{number}" for number in range(kills)} <= kept.keys()


@pytest.mark.proof
def test_a_change_is_found_at_the_next_look(collection: periplus.Collection, web: ScriptedWeb) -> None:
    """What a visit saw is searchable after one more look at the tables; looks are less than a minute apart."""
    looks: list[int] = []

    def wait() -> bool:
        looks.append(len(looks))
        if len(looks) == 1:
            web.said[f"{SEED}about"] = "<title>About</title><p>We moved to a lighthouse by the sea."
            collection.refresh()
        return len(looks) <= 3

    done = list(follow_index(existing(collection.folder), wait))
    assert len(done) == 2, "looks without new rows do nothing"
    assert done[1].added == 1
    assert [hit.url for hit in collection.search("lighthouse")] == [f"{SEED}about"]
    assert FOLLOW_EVERY <= 30


@pytest.mark.slow
def test_a_second_indexer_is_told_which_process_indexes(collection: periplus.Collection) -> None:
    """And a reader is not disturbed."""
    process = indexer(collection.folder)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["total"] > 0
    try:
        with pytest.raises(CollectionInUse, match=str(process.pid)):
            collection.index()
        assert collection.search("about us")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.proof
@pytest.mark.parametrize("name", ["documents.sqlite", "meta.json"])
def test_a_damaged_index_is_rebuilt(collection: periplus.Collection, name: str) -> None:
    """Searching and indexing say what to do; a rebuild reads the pages again."""
    before = collection.index().total
    folder = current_generation(existing(collection.folder).layout)
    assert folder is not None
    paths = list(folder.rglob(name))
    if not paths:
        pytest.skip("the engine has no such file")
    for path in [*paths, *folder.glob("documents.sqlite-*")]:
        path.write_bytes(b"\x00 not an index " * 64)
    with pytest.raises(CollectionDamaged, match="cannot be read") as raised:
        collection.search("about us")
    assert "--rebuild" in raised.value.hint
    with pytest.raises(CollectionDamaged):
        collection.index()
    assert collection.index(rebuild=True).total == before
    assert collection.search("about us")[0].url == f"{SEED}about"


@pytest.mark.proof
def test_link_texts_are_indexed_again_when_they_change(collection: periplus.Collection, web: ScriptedWeb) -> None:
    """Without fetching the page that they lead to again."""
    collection.index()
    assert not collection.search("zeppelin")
    web.said[SEED] = str(web.said[SEED]).replace("About us", "Zeppelin builders")
    collection.refresh()
    done = collection.index()
    assert done.relinked >= 1
    assert f"{SEED}about" in {hit.url for hit in collection.search("zeppelin builders")}


@pytest.mark.proof
def test_a_copy_is_shown_unless_the_page_forbids_it(collection: periplus.Collection) -> None:
    """`noarchive` is told with a hit; a page that was never fetched has no copy."""
    collection.index()
    layout = existing(collection.folder).layout

    def copy_of(url: str) -> DecodedCapture | None:
        return last_document(layout.tables, layout.spooled, layout.warc, url)

    copy = copy_of(f"{SEED}about")
    assert copy is not None
    assert b"long time" in copy.body
    assert copy.capture.fetched_at.timestamp() > 0
    assert collection.search("private")[0].may_show_copy is False
    private = copy_of(f"{SEED}private")
    assert private is not None
    assert private.page.directives.noarchive
    assert copy_of(f"{SEED}nowhere") is None


def test_the_shop_has_sitelinks(collection: periplus.Collection) -> None:
    """The name of the site shows its useful links below its home page, and only pages in the index."""
    collection.index()
    results = collection.search("shop")
    assert results[0].url == SEED
    assert results.sitelinks
    with open_index(existing(collection.folder)) as index:
        assert all(link.url in index and link.url != SEED for link in results.sitelinks)
    assert not collection.search("long time").sitelinks


@pytest.mark.proof
def test_vectors_are_kept_with_the_collection(
    collection: periplus.Collection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The index is made again with them; a function that only the folder names is not run."""
    (tmp_path / "own_numbers.py").write_text("def count(texts):\n    return [[len(text), 1] for text in texts]\n")
    monkeypatch.syspath_prepend(tmp_path)
    first = collection.index()
    assert collection.index(vectors="own_numbers:count").added == first.total
    again = periplus.open(collection.folder)
    assert again.config.search.vectors == "own_numbers:count"
    assert "meaning" in again.search("product").hits[0].parts
    (collection.folder / "periplus.sig").unlink()
    assert "meaning" not in periplus.open(collection.folder).search("product").hits[0].parts
    with pytest.raises(ConfigError):
        again.index(vectors="own_numbers:nothing")
    assert again.index(vectors="").added == first.total
