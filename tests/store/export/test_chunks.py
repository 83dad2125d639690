"""Chunks of pages: together they are the Markdown, each has its section, code is whole, and none is too long."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.content import read_texts
from periplus.model import Preference, Preferences, Stored, Url, UsageError
from periplus.store.export.captures import Capture
from periplus.store.export.chunks import (
    CHARACTERS_PER_WORD,
    DEFAULT_SIZE,
    HARD_BOUND,
    Chunk,
    ChunkShape,
    chunk_line,
    chunks_of,
    cut,
)
from periplus.store.export.documents import DecodedCapture
from periplus.store.export.markdown import WrittenBlock, WrittenKind

URL = Url("https://example.org/guide")
AT = datetime(2026, 1, 1, tzinfo=UTC)
MODIFIED = datetime(2025, 12, 1, tzinfo=UTC)


def document(html: str) -> DecodedCapture:
    capture = Capture(URL, 200, AT, "text/html", Stored("f", 0, 1, "", False))
    body = html.encode()
    return DecodedCapture(capture, read_texts(body, URL, "text/html; charset=utf-8"), body, MODIFIED.timestamp())


def chunks(html: str, *shape: int | str) -> list[Chunk]:
    return list(chunks_of(document(html), 7, ChunkShape(*shape)))  # type: ignore[arg-type]


def words(number: int, of: str = "word") -> str:
    return " ".join(f"{of}{place}" for place in range(number))


CODE = "def f(x):  \n\n\treturn json.dumps(\n        x)"
LONG = f"""<html lang=en><title>Guide</title><meta name=robots content=noarchive><body><article>
<h1 id=top>Guide<a class=headerlink href=#top>¶</a></h1><p>{words(120, "a")}</p>
<section id=first><h2>First</h2><p>{words(160, "b")}</p><h3>Deeper</h3><p>{words(200, "c")}.</p><p>{words(150, "d")}</p>
</section><h2 id=second>Second</h2><ul><li>one {words(40, "e")}<pre>
<span>def</span> f(x):  \n\n\t<b>return</b> json.<i>dumps</i>(\n        x)
</pre></li><li>two</li></ul><table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>2</td></tr></table>
<p>{words(900, "f")}</p><dl><dt id=os.path.join>os.path.<b>join</b>(<i>path</i>)
<dd>{words(200, "g")}</dl></article></body>"""


def test_chunks_are_the_markdown_of_a_page() -> None:
    """Word by word, with its headings; each chunk knows where it stands."""
    found = chunks(LONG)
    markdown = document(LONG).to_markdown()
    assert " ".join(chunk.text for chunk in found).split() == markdown.split()
    assert [chunk.position for chunk in found] == list(range(len(found)))
    assert len({chunk.id for chunk in found}) == len(found)
    assert {(chunk.page_url, chunk.title, chunk.language, chunk.cluster) for chunk in found} == {
        (URL, "Guide", "en", 7)
    }
    assert {(chunk.fetched_at, chunk.modified_at) for chunk in found} == {(AT, MODIFIED)}
    assert all(chunk.content_hash == sha256(chunk.text.encode()).hexdigest() for chunk in found)
    assert all(len(chunk.text.split()) <= DEFAULT_SIZE for chunk in found)
    assert "\u00b6" not in "".join(chunk.text for chunk in found)
    assert [(chunk.headings, chunk.url) for chunk in found] == [
        (("Guide",), f"{URL}#top"),
        (("Guide", "First", "Deeper"), f"{URL}#first"),
        (("Guide", "Second"), f"{URL}#second"),
        (("Guide", "Second"), f"{URL}#second"),
        (("Guide", "Second"), f"{URL}#second"),
        (("Guide", "Second", "os.path.join(path)"), f"{URL}#os.path.join"),
    ]


def test_code_is_as_written_and_in_one_chunk() -> None:
    """Also in a list, with blanks at the ends of its lines."""
    [holding] = [chunk for chunk in chunks(LONG) if f"```\n{CODE}\n```" in chunk.text]
    assert "| x | y |" in holding.text


def test_permissions() -> None:
    """What a page and its site state, and directives of robots."""
    preferences = Preferences(train=Preference.DISALLOW)
    [chunk, *_] = chunks_of(document(LONG), preferences=preferences)
    assert chunk.permissions == {"train": "disallow", "robots": "noarchive"}
    assert b'"permissions":{"train":"disallow","robots":"noarchive"}' in chunk_line(chunk)


def test_ids_do_not_depend_on_other_sections() -> None:
    """A section that is new changes no other's id; the text of a section does not, either."""
    before = {chunk.headings: chunk.id for chunk in chunks(LONG)}
    new = f"<h2 id=new>New</h2><p>{words(300, 'n')}</p><h2 id=second>Second"
    after = {chunk.headings: chunk.id for chunk in chunks(LONG.replace("<h2 id=second>Second", new))}
    assert {path: after[path] for path in before} == before


def test_a_page_without_headings_or_title_has_a_path_all_the_same() -> None:
    assert [chunk.headings for chunk in chunks("<p>only words")] == [(URL,)]
    assert chunks("<title>t</title>") == []


@pytest.mark.parametrize("heading", ["", "<h2>Terms</h2>"])
def test_terms_without_descriptions_are_cut_too(heading: str) -> None:
    """The terms of an index: with nothing behind them they belong to no other text."""
    terms = "".join(f"<dt id=t{number}>term {number} of the index" for number in range(200))
    html = f"<title>T</title>{heading}<p>{words(5)}</p><dl>{terms}</dl><h2>Next</h2><p>{words(90)}</p>"
    found = chunks(html, 100)
    assert max(len(chunk.text.split()) for chunk in found) <= 100
    assert len(found) < 20
    assert found[-1].text.startswith("## Next")


def test_headings_are_not_left_at_the_end_of_a_chunk() -> None:
    """One goes with what follows it."""
    html = f"<title>T</title><p>{words(100)}</p><h2>Next</h2><pre>{words(350)}</pre><p>{words(40)}</p>"
    found = chunks(html)
    assert [chunk.text.startswith("## Next") for chunk in found][:2] == [False, True]


def test_long_code_and_tables_are_cut_at_lines() -> None:
    """Only if they are longer than the hard bound, between fences and below headers of their own."""
    lines = [f"line {number} of the code" for number in range(1000)]
    code = "\n".join(lines)
    found = chunks(f"<title>T</title><p>{words(30)}</p><pre>{code}</pre>")
    inside = [line for chunk in found for line in chunk.text.split("\n") if line.startswith("line ")]
    assert inside == lines
    assert all(chunk.text.count("```") == 2 for chunk in found[1:])
    rows = "".join(f"<tr><td>{number}<td>value {number}" for number in range(900))
    found = chunks(f"<title>T</title><p>{words(30)}</p><table><tr><th>x<th>y{rows}</table>")
    assert len(found) > 2
    assert all("| x | y |\n| --- | --- |\n" in chunk.text for chunk in found[1:])
    assert len(chunks(f"<title>T</title><p>{words(30)}</p><pre>{words(DEFAULT_SIZE * HARD_BOUND * 3 // 4)}</pre>")) == 2


def test_overlap() -> None:
    """The end of a chunk begins the next one, in whole sentences, but not across sections."""
    sentences = " ".join(f"Sentence {number} has {words(7)}." for number in range(120))
    html = f"<title>T</title><h1>T</h1><p>{sentences}</p><h2>U</h2><p>{words(100)}.</p>"
    found = chunks(html, 200, "words", 30)
    for one, other in pairwise(found[:-1]):
        beginning = other.text[: other.text.index(".")]
        assert beginning in one.text
        assert beginning.startswith("Sentence")
    assert all(len(chunk.text.split()) <= 200 for chunk in found)
    assert found[-1].text.startswith("## U")


def test_sizes_in_characters() -> None:
    found = chunks(f"<title>T</title><p>{words(900)}</p>", 500, "characters")
    assert all(len(chunk.text) <= 500 for chunk in found)
    assert "".join(chunk.text for chunk in found).replace(" ", "") == words(900).replace(" ", "")
    found = chunks(f"<title>T</title>{'<p>a</p>' * 900}", 500, "characters")
    assert 490 < max(len(chunk.text) for chunk in found) <= 500


def test_sizes_in_tokens_of_a_file(tmp_path: Path) -> None:
    """Of a tokenizer that was trained on other text: long words are many tokens, so a chunk has fewer of them."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, special_tokens=["?"], show_progress=False)
    made.train_from_iterator([words(2_000, "a"), "def return json dumps"], trainer)
    made.save(str(tmp_path / "tokenizer.json"))
    unit = f"tokens:{tmp_path / 'tokenizer.json'}"
    sizes = {}
    for of in ("a", "unfamiliar"):
        found = chunks(f"<article><p>{'. '.join(words(9, of) for _ in range(60))}</p></article>", 100, unit)
        counts = [len(made.encode(chunk.text, add_special_tokens=False).ids) for chunk in found]
        assert max(counts) <= 100
        assert min(counts[:-1]) >= 50
        assert "".join("".join(chunk.text.split()) for chunk in found).count(of) == 540
        sizes[of] = len(found)
    assert 2 * sizes["a"] < sizes["unfamiliar"]


@pytest.mark.parametrize("shape", [(3,), (400, "lines"), (400, "words", 300), (400, "tokens:no such tokenizer")])
def test_shapes_that_are_refused(shape: tuple[int | str, ...]) -> None:
    with pytest.raises(UsageError):
        ChunkShape(*shape)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((3, "characters"), "at least 20 characters, got 3"),
        ((400, "tokens:nosuch.json"), "no such file: nosuch.json"),
        ((400, "tokens:./nosuch"), "no such file: ./nosuch"),
    ],
)
def test_refusals_name_the_unit_and_the_file(shape: tuple[int, str], said: str) -> None:
    """A name that can only be that of a file is looked up nowhere else."""
    with pytest.raises(UsageError, match=said):
        ChunkShape(*shape)


def test_scripts_without_spaces_are_cut_too() -> None:
    sentence = "これは長い文章です。"
    html = f"<title>長文</title><p>{sentence * 800}</p>"
    found = chunks(html)
    assert len(found) > 1
    assert "".join("".join(chunk.text.split()) for chunk in found) == sentence * 800
    assert max(len(chunk.text) for chunk in found) <= DEFAULT_SIZE * CHARACTERS_PER_WORD


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 7),
            st.sampled_from([0, 1, 90, 500]),
            st.sampled_from(["word ", "Ende. ", "漢字。", "x\n", "x "]),
        ),
        max_size=8,
    ),
    st.sampled_from(["words", "characters"]),
)
def test_nothing_is_lost_or_repeated_and_no_chunk_is_too_long(blocks: list[tuple[int, int, str]], unit: str) -> None:
    """Whatever headings, terms and paragraphs there are, and a word without end."""
    chance = Random(len(blocks))
    written = []
    for level, number, of in [*blocks, (0, 1, "x" * 9000)]:
        text = (of * number).strip()
        kind = WrittenKind.TERM if level > 6 else WrittenKind.HEADING if level else WrittenKind.TEXT
        if text:
            written.append(WrittenBlock(text, kind, chance.choice(["\n", "\n\n"]), level, "a", text))
    found = list(cut(written, "root", ChunkShape(unit=unit)))
    plain = "".join("".join(block.text.split()) for block in written)
    assert "".join("".join(part.text.split()) for part in found) == plain
    assert all(part.path and part.path[0] == "root" for part in found)
    for part in [*found, *cut(written, "root", ChunkShape(unit=unit, overlap=100))]:
        assert len(part.text) <= DEFAULT_SIZE * (CHARACTERS_PER_WORD if unit == "words" else 1)
        assert unit == "characters" or len(part.text.split()) <= DEFAULT_SIZE
