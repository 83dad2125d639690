"""The index of plain files: the same bytes for the same index, bounded memory, passages, what may be shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from periplus import UsageError
from periplus.apps.search.static_index import MAX_PASSAGE, passages_of, write_static_index
from periplus.model import PageSection
from periplus.search import Index

PAGES = [
    {
        "url": f"https://docs.example.org/guide/{number}",
        "title": f"Chapter {number}",
        "text": f"The chapter number {number} tells of ships. "
        + "Waves and caf\u00e9s and os.path.join again. " * number,
        "anchors": (f"chapter {number}",),
        "page_rank": float(number % 5),
    }
    for number in range(60)
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    made = Index.open(tmp_path_factory.mktemp("index"), engine="sqlite")
    made.add(
        [*PAGES, {"url": "https://docs.example.org/hidden", "title": "Hidden", "text": "Secret.", "max_snippet": 0}]
    )
    made.commit()
    return made


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_index_gives_the_same_files(index: Index, tmp_path: Path) -> None:
    """Byte by byte, also over an earlier index."""
    done = write_static_index(index, tmp_path / "one")
    (tmp_path / "two").mkdir()
    for _ in range(2):
        assert write_static_index(index, tmp_path / "two") == done
        assert files(tmp_path / "one") == files(tmp_path / "two")
    assert len(files(tmp_path / "one")) == done.files
    assert sum(map(len, files(tmp_path / "one").values())) == done.bytes


def test_what_is_not_ours_is_not_touched(index: Index, tmp_path: Path) -> None:
    """A folder of the same name that something else has made."""
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "letter.txt").write_text("mine")
    (tmp_path / "index.json").write_text("[]")
    with pytest.raises(UsageError, match="files of something else"):
        write_static_index(index, tmp_path)
    assert (tmp_path / "words" / "letter.txt").read_text() == "mine"
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError):
        write_static_index(index, tmp_path / "file")


def test_what_is_collected_in_many_runs_is_the_same(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than a run is in memory at once."""
    write_static_index(index, tmp_path / "one")
    monkeypatch.setattr("periplus.apps.search.static_index._RUN", 100)
    write_static_index(index, tmp_path / "many")
    assert files(tmp_path / "one") == files(tmp_path / "many")


def test_words_stand_for_terms_with_and_without_accents(index: Index, tmp_path: Path) -> None:
    """In the order in which the script looks for them, each in one file; first words are in the manifest."""
    write_static_index(index, tmp_path)
    manifest = json.loads((tmp_path / "index.json").read_bytes())
    assert manifest["base"] == "https://docs.example.org/"
    assert manifest["pages"] == 61 == sum(number for _, number in manifest["priors"])
    lines = [
        json.loads((tmp_path / "words" / f"{number}.json").read_bytes()) for number in range(len(manifest["words"]))
    ]
    before = ""
    for begins, part in zip(manifest["words"], lines, strict=True):
        assert before <= begins <= part[0].split(" ")[0]
        before = part[-1].split(" ")[0]
    words = {line.split(" ")[0]: line.split(" ")[1] for part in lines for line in part}
    assert words["ships"] == "ship"
    assert words["cafes"] == words["caf\u00e9s"] == "cafe"
    assert list(words) == sorted(words, key=lambda word: word.encode("utf-16-be"))


def test_pages_say_how_much_of_them_is_shown(index: Index, tmp_path: Path) -> None:
    """A page without snippets is found, but its text is in no file."""
    write_static_index(index, tmp_path)
    assert not any(b"Secret" in data for data in files(tmp_path).values())
    assert any(b"secret" in data for name, data in files(tmp_path).items() if name.startswith("terms"))


def test_passages_are_parts_of_sections() -> None:
    """Cut between words; a section without a text has one for its heading."""
    text = "Before. " + "word " * 400 + "Second part."
    second = text.index("Second")
    found = passages_of(
        text,
        [
            PageSection(8, "first", 2, "First"),
            PageSection(second, "second", 2, "Second"),
            PageSection(len(text), "end", 2, "End"),
        ],
    )
    assert [each.heading for each in found if each.is_first] == ["", "First", "Second", "End"]
    assert all(len(each.text) <= MAX_PASSAGE for each in found)
    assert " ".join(each.text for each in found if each.text) == " ".join(text.split())
    assert passages_of("", [])[0].text == ""
