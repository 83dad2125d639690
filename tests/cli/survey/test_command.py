"""Lists of domains as people keep them: names, URLs, ranks, comments, mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.each_case import each_case

from periplus.cli.survey.command import MOST_BAD, BadLine, listed, read_domains
from periplus.model import UsageError


@each_case(
    ("line", "url"),
    [
        ("example.org", "http://example.org/"),
        ("  Example.ORG  ", "http://example.org/"),
        ("https://example.org/a/b?c#d", "https://example.org/"),
        ("example.org:8080", "http://example.org:8080/"),
        ("example.org/path", "http://example.org/"),
        ("17,example.org", "http://example.org/"),
        ("17\texample.org", "http://example.org/"),
        ("example.org # the best", "http://example.org/"),
        ("bücher.example", "http://xn--bcher-kva.example/"),
        ("http://someone:secret@example.org/", "http://example.org/"),
        ("127.0.0.1", "http://127.0.0.1/"),
    ],
)
def test_a_line_stands_for_a_site(line: str, url: str) -> None:
    """However it is written; a bare name is asked over http."""
    assert listed([line]).urls == (url,)


@each_case("line", ["not a domain", "ftp://example.org/", "http://", "12345", "a..b c", "exa<mple.org"])
def test_a_line_that_names_none_is_told_with_its_number(line: str) -> None:
    """And the others count all the same."""
    found = listed(["# a list", "", "a.example", line, "b.example"])
    assert found.urls == ("http://a.example/", "http://b.example/")
    assert (found.bad, found.bad_lines) == ((BadLine(4, line),), 1)


def test_a_site_counts_once_where_it_first_stands() -> None:
    """Whatever scheme, port of the scheme or page it is named by."""
    lines = ["b.example", "a.example", "http://B.example:80/x", "https://a.example/", "www.a.example"]
    assert listed(lines).urls == ("http://b.example/", "http://a.example/", "http://www.a.example/")


def test_mistakes_without_end_are_counted_and_not_kept() -> None:
    """A file that is not a list must not fill the memory or the screen."""
    found = listed(f"no domain {number}" for number in range(5000))
    assert (len(found.bad), found.bad_lines) == (MOST_BAD, 5000)


def test_a_line_without_end_is_one_bad_line(tmp_path: Path) -> None:
    """And what follows it counts, under its own number."""
    path = tmp_path / "list.txt"
    path.write_bytes(b"\xef\xbb\xbfa.example\r\n" + b"x" * 1_000_000 + b"\n\xff\xfe\nb.example")
    found = read_domains(str(path))
    assert found.urls == ("http://a.example/", "http://b.example/")
    assert [line.number for line in found.bad] == [2, 3]


def test_a_list_that_is_not_there_is_told(tmp_path: Path) -> None:
    """By its name."""
    with pytest.raises(UsageError, match=r"nowhere\.txt"):
        read_domains(str(tmp_path / "nowhere.txt"))
