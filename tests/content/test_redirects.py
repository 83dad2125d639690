"""The value of a refresh, in the forms that the HTML Standard allows (4.2.5.3, shared declarative refresh steps)."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.content import read_refresh


@each_case(
    ("content", "expected"),
    [
        ("5", (5, None)),
        (" 5 ", (5, None)),
        ("1.5; url=a", (1, "a")),
        (".5;url=a", (0, "a")),
        ("0; URL = a b", (0, "a b")),
        ("0,url='a\"b'c", (0, 'a"b')),
        ('0 url="a', (0, "a")),
        ("0; 'a'", (0, "a")),
        ("0; a", (0, "a")),
        ("0; url", (0, "url")),
        ("", None),
        ("url=a", None),
        ("-1; url=a", None),
        ("5x; url=a", None),
    ],
)
def test_forms_of_a_refresh(content: str, expected: tuple[int, str | None] | None) -> None:
    """Seconds, a separator or only white space, and a URL with or without `url=` and quotes."""
    assert read_refresh(content) == expected
