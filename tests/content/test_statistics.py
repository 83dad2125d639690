"""Counts of a page: compression, hidden text, words, and what is sampled."""

from __future__ import annotations

import pytest

from periplus.content import compression_ratio, hidden_share, read_page

STUFFED = "buy cheap pills online now " * 40


def test_compression_of_known_texts() -> None:
    """Deflate level 6: 1,080 bytes of one phrase become 46; a short text counts as 1."""
    assert compression_ratio(STUFFED.encode()) == pytest.approx(1080 / 46)
    assert compression_ratio(b"a short text") == 1.0


def test_hidden_text_is_a_share() -> None:
    """Not displayed, of size 0, or in the colour of its background; nested elements end where they end."""
    hidden = '<div style="display: none"><div>inner</div> words</div>'
    assert hidden_share(f"<p>visible</p>{hidden}<p>more</p>".encode(), 12) == pytest.approx(11 / 12)
    assert hidden_share(b'<p style="color:#fff;background:#fff">white on white</p>', 100) == pytest.approx(0.14)
    assert hidden_share(b'<p style="font-size:0">zero</p>', 100) == pytest.approx(0.04)
    assert hidden_share(b'<p style="font-size:0.8em;color:red">shown</p>', 100) == 0.0


def test_counts_of_a_stuffed_home_page() -> None:
    """Words, titles and links are counted; a home page is always compressed."""
    html = f'<title>pills pills buy pills</title><p>{STUFFED}</p><a href="/x">two words</a>'.encode()
    counts = read_page(html, "http://pills.example/", "text/html").statistics
    assert counts.words == pytest.approx(203, abs=2)
    assert (counts.title_words, counts.anchor_words) == (4, 2)
    assert counts.title_repeats == 3  # two are said before, and the name has it
    assert counts.distinct_share is not None
    assert counts.distinct_share < 0.05
    assert counts.top_word_share == pytest.approx(0.2, abs=0.02)
    assert counts.compression is not None
    assert counts.compression > 15


def test_texts_without_spaces_have_no_words() -> None:
    """Chinese has no spaces between words: its words are unknown, not very long."""
    counts = read_page(
        ("<p>" + "漢字仮名交じり文" * 100 + "</p>").encode(), "http://a.example/x", "text/html"
    ).statistics
    assert counts.word_length is None
    assert counts.distinct_share is None
