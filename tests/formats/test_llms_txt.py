"""llms.txt: what a guide says, what is wrong with it, and that a written one is read back."""

from __future__ import annotations

from periplus.formats.llms_txt import MAX_BYTES, MAX_LINKS, GuideLink, LlmsTxt, Section, read, write
from periplus.model import Url

URL = "https://site.test/llms.txt"
GUIDE = b"""\xef\xbb\xbf
# FastHTML

> FastHTML is a library
> for web pages.

Some text that is not kept, with [a link](https://site.test/not-in-a-list).

## Docs

- [Start](/start.html): How to begin
* [Page (draft)]( <https://site.test/a_(b)> "title" )
- not a link
- [mail](mailto:a@site.test)

## Optional
- [Other](https://other.test/x)
"""


def test_a_guide_is_read() -> None:
    guide = read(GUIDE, URL)
    assert (guide.title, guide.summary) == ("FastHTML", "FastHTML is a library for web pages.")
    assert guide.sections == (
        Section(
            "Docs",
            (
                GuideLink(Url("https://site.test/start.html"), "Start", "How to begin"),
                GuideLink(Url("https://site.test/a_(b)"), "Page (draft)"),
            ),
        ),
        Section("Optional", (GuideLink(Url("https://other.test/x"), "Other"),)),
    )
    assert guide.problems == ()


def test_what_is_not_a_guide_says_nothing() -> None:
    for body in (b"", b"<html>", b"Disallow: /", b"## Section\n- [a](/b)", b"#hashtag\n- [a](/b)"):
        found = read(body, URL)
        assert found.links == ()
        assert [problem.reason for problem in found.problems] == ["no-title"]


def test_bounds() -> None:
    many = b"# Title\n" + b"- [a](/b)\n" * (MAX_LINKS + 1)
    assert len(read(many, URL).links) == MAX_LINKS
    assert [problem.reason for problem in read(many, URL).problems] == ["too-many-links"]
    large = b"# Title\n" + b"x" * MAX_BYTES + b"\n- [late](/late)"
    assert read(large, URL).links == ()
    assert [problem.reason for problem in read(large, URL).problems] == ["too-large"]


def test_a_written_guide_is_read_back() -> None:
    """Texts that would be marks of their own are made harmless."""
    link = GuideLink(Url("https://site.test/a%28b%29"), "A [very]\nlong name", "A note.")
    written = write(LlmsTxt("# Title", "What\nit is", (Section("## Docs", (link,)), Section("Empty"))))
    read_again = read(written, URL)
    assert (read_again.title, read_again.summary) == ("Title", "What it is")
    assert [section.name for section in read_again.sections] == ["Docs", "Empty"]
    assert read_again.links[0].name == "A very long name"
    assert read_again.links[0].note == "A note."
    assert read_again.links[0].url in ("https://site.test/a%28b%29", "https://site.test/a(b)")
