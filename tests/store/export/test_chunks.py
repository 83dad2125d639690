"""Chunks of pages: together they are the main text, each has its headings, and none is too long."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.content import read_page
from periplus.model import Stored, Url
from periplus.store.export.captures import Capture
from periplus.store.export.chunks import CHARACTERS_PER_WORD, MAX_WORDS, MIN_WORDS, Chunk, chunk_line, chunks_of, cut
from periplus.store.export.documents import DecodedCapture

URL = Url("https://example.org/guide")
MARK = "\x02"


def chunks(html: str, cluster: int | None = 7) -> list[Chunk]:
    capture = Capture(URL, 200, datetime(2026, 1, 1, tzinfo=UTC), "text/html", Stored("f", 0, 1, "", False))
    body = html.encode()
    return list(chunks_of(DecodedCapture(capture, read_page(body, URL, "text/html; charset=utf-8"), body), cluster))


def text_of(html: str) -> str:
    return read_page(html.encode(), URL, "text/html; charset=utf-8").main_text


def words(number: int, of: str = "word") -> str:
    return " ".join(f"{of}{place}" for place in range(number))


LONG = f"""<html lang=en><title>Guide</title><body><article><h1>Guide</h1><p>{words(120, "a")}</p>
<h2>First</h2><p>{words(160, "b")}</p><h3>Deeper</h3><p>{words(200, "c")}.</p><p>{words(150, "d")}</p>
<h2>Second</h2><ul><li>one {words(40, "e")}</li><li>two</li></ul><pre>code  line 1
code line 2</pre><table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>2</td></tr></table>
<p>{words(900, "f")}</p></article></body>"""


def test_chunks_are_the_main_text() -> None:
    """Word by word, with its headings; each chunk knows where it stands."""
    found = chunks(LONG)
    assert " ".join(chunk.text for chunk in found).split() == text_of(LONG).split()
    assert [chunk.position for chunk in found] == list(range(len(found)))
    assert len({chunk.id for chunk in found}) == len(found)
    assert {(chunk.url, chunk.title, chunk.language, chunk.cluster) for chunk in found} == {(URL, "Guide", "en", 7)}
    assert all(len(chunk.text.split()) <= MAX_WORDS for chunk in found)
    assert all(len(chunk.text.split()) >= MIN_WORDS for chunk in found[:-1])
    paths = [chunk.headings for chunk in found]
    assert paths[0] == ("Guide",)
    assert ("Guide", "First", "Deeper") in paths
    assert paths[-1] == ("Guide", "Second")
    assert b"\\u0002" not in b"".join(map(chunk_line, found))


def test_a_page_without_headings_or_title_has_a_path_all_the_same() -> None:
    assert [chunk.headings for chunk in chunks("<p>only words")] == [(URL,)]
    assert chunks("<title>t</title>") == []


def test_scripts_without_spaces_are_cut_too() -> None:
    sentence = "これは長い文章です。"
    html = f"<title>長文</title><p>{sentence * 800}</p>"
    found = chunks(html)
    assert len(found) > 1
    assert "".join("".join(chunk.text.split()) for chunk in found) == sentence * 800
    assert max(len(chunk.text) for chunk in found) <= MAX_WORDS * CHARACTERS_PER_WORD


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 6), st.sampled_from([0, 1, 90, 500]), st.sampled_from(["word ", "Ende. ", "漢字。", "x\n"])
        ),
        max_size=8,
    )
)
def test_nothing_is_lost_or_repeated(blocks: list[tuple[int, int, str]]) -> None:
    """Whatever headings and paragraphs there are, and a word without end."""
    blocks = [*blocks, (0, 1, "x" * 9000)]
    texts = [(f"{MARK}{level}" if level else "") + (of * number).strip() for level, number, of in blocks]
    found = list(cut("\n\n".join(texts), "root"))
    plain = "".join("".join((of * number).split()) for _, number, of in blocks)
    assert "".join("".join(text.split()) for _, text in found) == plain
    assert all(path and path[0] == "root" for path, _ in found)
