"""Numbers as people write them, and text of strangers that stays one harmless line."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.view.html import link, prose
from periplus.view.wording import clean, lasting, one_line, pace, share, size, top


@given(st.text())
def test_texts_are_one_line_and_harmless(text: str) -> None:
    """Nothing that moves the cursor or opens a tag, never longer than its bound."""
    assert clean(text).isprintable()
    assert len(clean(text, 20)) <= 20
    assert "<" not in re.sub(r"</?code>|<span class=\"flag\">|</span>", "", prose(text))
    assert "<script" not in link(f"http://a.test/{text}")


@each_case(
    ("part", "said"),
    [(0.0, "0 %"), (0.00001, "< 0.01 %"), (0.004, "0.4 %"), (0.5, "50 %"), (0.9999, "99.9 %"), (1, "100 %")],
)
def test_shares_do_not_round_to_all_or_nothing(part: float, said: str) -> None:
    """What is not quite nothing or all does not look like it."""
    assert share(part) == said


def test_numbers_as_people_say_them() -> None:
    """Sizes in three figures, times in two units, rates as exact as one can tell."""
    assert [size(each) for each in (0, 999, 1_234, 340_000_000, 5.5e12)] == [
        "0 B",
        "999 B",
        "1.2 kB",
        "340 MB",
        "5.5 TB",
    ]
    assert [lasting(each) for each in (0, 59.6, 61, 3_600, 4_340, 90_000)] == [
        "0 s",
        "1 m",
        "1 m 1 s",
        "1 h",
        "1 h 12 m",
        "1 d 1 h",
    ]
    assert [pace(each) for each in (0.0, 1.25, 512.3)] == ["0.0/s", "1.2/s", "512/s"]
    assert top({"http-404": 5, "timeout": 9, "reset": 1, "tls": 1}) == "timeout 9 · 404 5 · reset 1 · …"


def test_one_line_stays_one_line() -> None:
    """Line ends are replaced where a text must not break a table."""
    assert one_line("a\nb\x1bc") == "a\ufffdb\ufffdc"
    assert one_line("ordinary é") == "ordinary é"
