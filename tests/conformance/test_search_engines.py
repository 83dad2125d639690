"""Every engine finds the same documents for the same questions, and keeps what was committed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from periplus.apps.search import Document, Index

PAGES = [
    Document(url="https://a.test/", title="Harbour", text="The old harbour of the town.", modified_at=1_000_000),
    Document(url="https://a.test/boats", title="Boats", text="Boats sail from the harbour. Sailing is slow."),
    Document(
        url="https://b.test/trains", title="Trains", text="Trains leave the town. They are not slow.", language="en"
    ),
    Document(
        url="https://b.test/de",
        title="Häfen",
        text="Die Schiffe liegen im Hafen und die Häfen sind voll der Schiffe.",
        language="de",
    ),
    Document(url="https://c.test/api", title="os.path.join", text="Use os.path.join to join a path. The module is os."),
    Document(url="https://c.test/far", title="Far", text="path one two three four join one two three os"),
]


@pytest.fixture(params=["sqlite", "tantivy"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "tantivy":
        pytest.importorskip("tantivy", reason="an extra: pip install 'periplus[search]'")
    return str(request.param)


@pytest.fixture
def index(tmp_path: Path, engine: str) -> Iterator[Index]:
    with Index.open(tmp_path / "index", engine=engine) as made:
        made.add(PAGES)
        made.commit()
        yield made


def found(index: Index, query: str) -> set[str]:
    return {hit.url for hit in index.search(query)}


@pytest.mark.parametrize(
    ("query", "urls"),
    [
        ("harbour", {"https://a.test/", "https://a.test/boats"}),
        ("HARBOURS", {"https://a.test/", "https://a.test/boats"}),
        ("harbour -sail", {"https://a.test/"}),
        ('"leave the town"', {"https://b.test/trains"}),
        ('"town the leave"', set()),
        ("slow site:b.test", {"https://b.test/trains"}),
        ("hafen", {"https://b.test/de"}),
        ("hafen lang:en", set()),
        ("intitle:boats", {"https://a.test/boats"}),
        ("slow inurl:trains", {"https://b.test/trains"}),
        ("harbour before:1970-02-01", {"https://a.test/", "https://a.test/boats"}),
        ("harbour after:1970-01-05", {"https://a.test/"}),
        ("zeppelin", set()),
        ("", set()),
        ('"', set()),
        ("the of", {"https://a.test/", "https://b.test/trains", "https://a.test/boats", "https://c.test/api"}),
        ("'; drop table documents; --", set()),
    ],
)
def test_queries(index: Index, query: str, urls: set[str]) -> None:
    """What each query finds."""
    assert found(index, query) == urls


def test_documents_with_every_word_come_first(index: Index) -> None:
    """One word often does not outweigh all words once."""
    hits = index.search("slow boats")
    assert hits[0].url == "https://a.test/boats"
    assert hits.total == 1
    assert "https://b.test/trains" in {hit.url for hit in hits}


def test_words_typed_together_are_wanted_together(index: Index) -> None:
    """`os.path.join` ranks the page with the words beside each other above the one with them apart."""
    assert [hit.url for hit in index.search("os.path.join")][:2] == ["https://c.test/api", "https://c.test/far"]


def test_words_typed_as_one_outweigh_the_words_apart(tmp_path: Path, engine: str) -> None:
    """A page that has the compound once comes before one that has its parts often."""
    with Index.open(tmp_path / "compound", engine=engine) as index:
        index.add(
            [
                {
                    "url": "https://a.test/",
                    "title": "Session and user",
                    "text": "A session of a user. " * 9,
                    "language": "en",
                },
                {
                    "url": "https://b.test/",
                    "text": "Other things. " * 30 + "Then session_user is read.",
                    "language": "en",
                },
            ]
        )
        index.commit()
        assert [hit.url for hit in index.search("session_user")] == ["https://b.test/", "https://a.test/"]


def test_a_word_counts_the_same_in_a_rare_language(tmp_path: Path) -> None:
    """A term that only a few foreign pages have is not worth more than the same word in the main language.

    SQLite cannot weigh a term as if it were another.
    """
    pytest.importorskip("tantivy", reason="an extra: pip install 'periplus[search]'")
    english = "The installation of the program is what you read about here, and installations of it are easy."
    with Index.open(tmp_path / "mixed", engine="tantivy") as index:
        index.add({"url": f"https://e{number}.test/", "text": english, "language": "en"} for number in range(20))
        index.add([{"url": "https://best.test/", "title": "Installation", "text": english, "language": "en"}])
        german = "Die Installation ist das, was man hier liest, und sie ist nicht schwer."
        index.add([{"url": "https://de.test/", "text": german, "language": "de"}])
        index.commit()
        assert index.search("installation")[0].url == "https://best.test/"


def test_suggestions_follow_titles(index: Index) -> None:
    """Titles and texts of links, the most frequent first; what was deleted is not suggested."""
    index.add([{"url": "https://e.test/", "title": "Boating", "anchors": ["boat trips"]}])
    index.add([{"url": "https://f.test/", "title": "Boating"}])
    index.commit()
    assert index.suggest("BOA") == ["boating", "boat trips", "boats"]
    index.delete(["https://e.test/", "https://f.test/"])
    index.commit()
    assert index.suggest("boa") == ["boats"]


def test_a_page_may_limit_what_is_shown_of_it(index: Index) -> None:
    """`nosnippet` and `max-snippet` are kept with the document."""
    text = "Lighthouses stand at the coast. " * 20
    index.add(
        [
            {"url": "https://n.test/", "text": text, "description": "About it", "max_snippet": 0},
            {"url": "https://m.test/", "text": text, "max_snippet": 20, "may_show_copy": False},
        ]
    )
    index.commit()
    hits = {hit.url: hit for hit in index.search("lighthouses")}
    assert hits["https://n.test/"].snippet == ""
    assert 0 < len(hits["https://m.test/"].snippet.strip("… ")) <= 20
    assert not hits["https://m.test/"].may_show_copy


def test_no_page_with_all_words(index: Index) -> None:
    """The pages with some are shown, and a sentence says so."""
    results = index.search("boats trains")
    assert {hit.url for hit in results} == {"https://a.test/boats", "https://b.test/trains"}
    assert results.total == 0
    assert "No page has all" in results.notes[0]


def test_a_document_is_replaced_and_deleted(index: Index) -> None:
    """By its URL, seen after a commit."""
    index.add([{"url": "https://a.test/", "title": "Museum", "text": "Ships in bottles."}])
    index.delete(["https://a.test/boats", "https://nowhere.test/"])
    index.commit()
    assert found(index, "harbour") == set()
    assert found(index, "bottles") == {"https://a.test/"}
    assert len(index) == len(PAGES) - 1


def test_what_was_committed_is_there_when_opened_again(tmp_path: Path, engine: str) -> None:
    """And what was not is not."""
    folder = tmp_path / "index"
    with Index.open(folder, engine=engine) as index:
        index.add(PAGES[:1])
        index.commit()
        index.add(PAGES[1:])
    with Index.open(folder) as index:
        assert found(index, "harbour") == {"https://a.test/"}
        assert len(index) == 1


def test_a_reader_sees_the_commits_of_a_writer(index: Index, tmp_path: Path) -> None:
    """Two who are open at once."""
    with Index.open(tmp_path / "index") as reader:
        index.add([{"url": "https://d.test/", "text": "A lighthouse."}])
        index.commit()
        assert found(reader, "lighthouse") == {"https://d.test/"}


def test_a_second_writer_is_told_who_writes(index: Index, tmp_path: Path) -> None:
    """With the number of the process."""
    from periplus.model import CollectionInUse

    with Index.open(tmp_path / "index") as other, pytest.raises(CollectionInUse, match=str(os.getpid())):
        other.add(PAGES[:1])


@pytest.mark.proof
def test_a_killed_writer_leaves_a_commit(tmp_path: Path, engine: str) -> None:
    """Killed while it adds and commits, the index opens with whole commits, and goes on."""
    folder = tmp_path / "index"
    program = f"""
    from periplus.search import Index
    index = Index.open({str(folder)!r}, engine={engine!r})
    for number in range(1000):
        index.add({{"url": f"https://k.test/{{number}}-{{part}}", "text": "ship " * 50}} for part in range(10))
        index.commit()
        print(number, flush=True)
    """
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        committed = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].split()
        last = int(rest[-1]) if rest else committed
        with Index.open(folder) as index:
            assert len(index) % 10 == 0
            assert len(index) >= 10 * (last + 1)
            assert index.search("ship").total >= 10 * (last + 1)
