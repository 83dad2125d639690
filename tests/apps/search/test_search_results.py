"""What people type, and what they are shown, with either engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from periplus.apps.search import Document, Index, IndexOutdated, Weights, search_many
from periplus.apps.search.documents import Documents
from periplus.model import PageSection

JOIN = (
    "Functions on paths. os.path.join(path, *paths) Join path segments: os.path.join('a', 'b')."
    " os.path.split(path) Split it."
)
SERVER = "Servers. class http.server.HTTPServer(address) A server of web pages. lru_cache(size) keeps results."
ENDING = " — Manual 3.1"
PAGES = [
    Document(
        url="https://m.test/path",
        title="os.path" + ENDING,
        text=JOIN,
        language="en",
        sections=(
            PageSection(0, "paths", 1, "Functions on paths"),
            PageSection(JOIN.index("os.path.join"), "os.path.join", 7, "os.path.join(path, *paths)"),
            PageSection(JOIN.index("os.path.split"), "os.path.split", 7, "os.path.split(path)"),
        ),
    ),
    Document(
        url="https://m.test/server",
        title="Servers" + ENDING,
        text=SERVER,
        language="en",
        sections=(
            PageSection(SERVER.index("class"), "http.server.HTTPServer", 7, "class http.server.HTTPServer(address)"),
            PageSection(SERVER.index("lru"), "lru_cache", 7, "lru_cache(size)"),
        ),
    ),
    Document(
        url="https://m.test/genindex",
        title="Index" + ENDING,
        text="os.path.join os.path.split HTTPServer lru_cache venv",
        is_listing=True,
    ),
    Document(
        url="https://m.test/venv",
        title="Environments" + ENDING,
        text="Run python -m venv /path/to/it; recieve nothing. The old m of venvs.",
        anchors=("virtual environments",),
    ),
]


@pytest.fixture(params=["sqlite", "tantivy"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "tantivy":
        pytest.importorskip("tantivy", reason="an extra: pip install 'periplus[search]'")
    return str(request.param)


@pytest.fixture
def manual(tmp_path: Path, engine: str) -> Iterator[Index]:
    with Index.open(tmp_path / "index", engine=engine) as made:
        made.add(PAGES)
        made.commit()
        yield made


@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("os.path.join", "path#os.path.join"),
        ("path.join", "path#os.path.join"),
        ("join", "path#os.path.join"),
        ("os.path.jo", "path#os.path.join"),
        ("HTTPServer", "server#http.server.HTTPServer"),
        ("http server", "server#http.server.HTTPServer"),
        ("HTTPSer", "server#http.server.HTTPServer"),
        ("lru_cache", "server#lru_cache"),
        ("lrucache", "server#lru_cache"),
        ("lru_ca", "server#lru_cache"),
        ("-m venv", "venv"),
        ("functions on paths", "path"),
    ],
)
def test_names_are_found_as_written_in_parts_and_by_their_beginnings(manual: Index, query: str, link: str) -> None:
    """At their section, before the index page that lists them."""
    found = manual.search(query)
    assert found[0].link == f"https://m.test/{link}"
    assert found.showing == ""


def test_a_snippet_shows_code_as_it_is_written(manual: Index) -> None:
    """Around what was typed; the title loses what all titles share."""
    hit = manual.search("-m venv")[0]
    assert "python -m venv /path/to/it" in hit.snippet
    assert (hit.title, hit.full_title) == ("Environments", "Environments — Manual 3.1")
    sections = manual.search("path")[0].sections
    assert {section.anchor for section in sections} <= {"os.path.join", "os.path.split"}
    assert all(section.url.startswith("https://m.test/path#") for section in sections)
    assert "os.path.join('a', 'b')" in manual.search("os.path.join")[0].snippet


@pytest.mark.parametrize(
    ("query", "expand", "missing"),
    [
        ("venv segments", False, {"venv": ("segments",), "path": ("venv",), "genindex": ("segments",)}),
        ("the lrucache and segments", False, {"server": ("segments",), "path": ("lrucache",)}),
        ("functions on path", False, {"path": ()}),
        ("segments", True, {"path": (), "genindex": ("segments",)}),
    ],
)
def test_a_result_that_lacks_a_word_says_which(
    manual: Index, query: str, expand: bool, missing: dict[str, tuple[str, ...]]
) -> None:
    """As it was typed; a word is there in every form in which it is found, and a stop word is never missing."""
    found = {hit.url.rpartition("/")[2]: hit.missing for hit in manual.search(query, expand=expand)}
    assert found.items() >= missing.items()


def test_a_misspelt_word_shows_results_of_the_right_one(manual: Index) -> None:
    """And can be searched as it was typed; a word that only one text has is not suggested."""
    found = manual.search("enviroments virtual")
    assert (found.showing, found.suggestion) == ("environments virtual", "environments virtual")
    assert found[0].url == "https://m.test/venv"
    typed = manual.search("enviroments", exact=True)
    assert (len(typed), typed.showing, typed.suggestion) == (0, "", "environments")
    assert manual.search("recieved nothing").showing == ""
    assert manual.search('"enviroments"').showing == "" or manual.search('"enviroments"').hits


def test_as_many_results_as_asked_for(tmp_path: Path, engine: str) -> None:
    """More than the engine gives for ranking, each once."""
    with Index.open(tmp_path / "many", engine=engine, weights=Weights(candidates=20)) as index:
        index.add({"url": f"https://s{number}.test/", "text": f"ship {number}"} for number in range(60))
        index.commit()
        assert len({hit.url for hit in index.search("ship", 50)}) == 50
        assert len(index.search("ship", 30, skip=40)) == 20
        assert len(index.rank("ship", 60)) == 60


def test_related_words_find_more(manual: Index) -> None:
    """Only if that is asked for."""
    assert len(manual.search("segments")) == 1
    assert len(manual.search("segments", expand=True)) > 1


def test_several_indexes_at_once(manual: Index, tmp_path: Path, engine: str) -> None:
    """One order, each page once; a word that one of them has is not corrected."""
    with Index.open(tmp_path / "other", engine=engine) as other:
        other.add([PAGES[0], Document(url="https://o.test/", title="Enviroments", text="A word of its own.")])
        other.commit()
        both = {"manual": manual, "other": other}
        found = search_many(both, "os.path.join")
        assert found[0].collection in both
        assert len({hit.url for hit in found}) == len(found)
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
        assert search_many(both, "enviroments").showing == ""
        assert search_many(both, "servres").showing == "servers"
        assert len(search_many(both, "path", 1, skip=1)) == 1


def test_an_index_of_another_version_is_made_again(tmp_path: Path, engine: str) -> None:
    """And says so."""
    folder = tmp_path / "old"
    with Index.open(folder, engine=engine) as index:
        index.add(PAGES[:1])
        index.commit()
    documents = Documents(folder / "documents.sqlite")
    documents.set_fact("analysis", b"2")
    documents.commit()
    documents.close()
    with pytest.raises(IndexOutdated, match="another version") as raised:
        Index.open(folder)
    assert "--rebuild" in raised.value.hint
