"""The truth of the crawl bench: which pages links lead to."""

from __future__ import annotations

from pathlib import Path

from bench.crawl.web import cleaned, file_of, is_page, links_in, reachable, served, targets
from tests.each_case import each_case

HOST = "127.0.1.2:18080"
OTHER = "127.0.1.3:18080"


def lay_out(folder: Path, files: dict[str, str]) -> Path:
    for name, body in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body)
    return folder


@each_case(
    ("url", "path"),
    [
        (f"http://{HOST}", "/"),
        (f"http://{HOST}/a/../b.html", "/b.html"),
        (f"http://{HOST}/../../b.html", "/b.html"),
        (f"http://{HOST}//a//b.html?q=1#f", "/a/b.html"),
        (f"http://{HOST}/a%20b.html", "/a b.html"),
        (f"http://{HOST}/a/b/..", "/a/"),
        (f"http://{HOST}/a/./", "/a/"),
    ],
)
def test_a_url_names_the_file_that_nginx_looks_up(url: str, path: str) -> None:
    """Dot segments and double slashes go, escapes are decoded, queries name no file."""
    assert file_of(url) == (HOST, path)


@each_case("url", ["mailto:someone@example.org", "https://example.org/", "http://[broken/", "x.html"])
def test_what_is_not_plain_http_names_no_file(url: str) -> None:
    """The bench serves plain HTTP; everything else is outside it."""
    assert file_of(url) is None


def test_a_folder_is_its_index_and_other_files_are_not_pages(tmp_path: Path) -> None:
    """`/a`, `/a/` and `/a/index.html` are one page; a folder without an index, a text and a stranger are none."""
    roots = {HOST: lay_out(tmp_path, {"a/index.html": "", "b/c.txt": ""})}
    assert served(roots, HOST, "/a") == served(roots, HOST, "/a/") == (HOST, "/a/index.html")
    assert served(roots, HOST, "/b/") is None
    assert served(roots, HOST, "/b/c.txt") is None
    assert served(roots, OTHER, "/a/") is None


@each_case(("path", "page"), [("/a.html", True), ("/A.HTM", True), ("/a/.html", False), ("/html", False)])
def test_a_page_is_what_the_server_calls_one(path: str, page: bool) -> None:
    """nginx looks for the ending after a first character, in any case; Boost has a page of `operator/` at `/.html`."""
    assert is_page(path) is page


def test_links_are_those_of_a_and_area() -> None:
    """Frames, images and `link` are not what every crawler follows."""
    body = b'<link href=1><a href="2#x">t</a><iframe src=3></iframe><map><area href=" 4\n"></map><a name=5>'
    assert links_in(body) == (None, ["2", "4"])


@each_case("body", [b"", b"  \n", b"\x00\x00", b"<!-- nothing -->", b"\xff\xfe<\x00"])
def test_a_page_of_nothing_has_no_links(body: bytes) -> None:
    """Empty and broken files are pages without links, never an end of the walk."""
    assert links_in(body)[1] == []


def test_the_base_of_a_page_moves_its_links() -> None:
    """A page may name the address that its links are relative to, itself relative to where it was found."""
    assert list(targets(f"http://{HOST}/a/b.html", "../c/", ["d.html", "d.html"])) == [f"http://{HOST}/c/d.html"]


def test_white_space_of_a_link_is_dropped() -> None:
    """As browsers do: none around it, no line breaks inside."""
    assert cleaned(" a\n/b.html\t#part ") == "a/b.html"


def test_the_walk_finds_all_that_links_lead_to_and_nothing_else(tmp_path: Path) -> None:
    """Circles end, hosts join, missing pages and pages without links to them are not found."""
    roots = {
        HOST: lay_out(
            tmp_path / "one",
            {
                "index.html": f'<a href="sub/">s</a> <a href="missing.html">m</a> <a href="http://{OTHER}/">o</a>',
                "sub/index.html": '<a href="../index.html?again">up</a> <a href="100%25.htm#x">odd</a>',
                "sub/100%.htm": '<a href="notes.txt">text</a> <a href="http://[/">broken</a>',
                "sub/notes.txt": '<a href="../lonely.html">no page</a>',
                "lonely.html": "",
            },
        ),
        OTHER: lay_out(tmp_path / "two", {"index.html": ""}),
    }
    told: list[tuple[int, int]] = []
    found = reachable(f"http://{HOST}/index.html", roots, on_page=lambda body, links: told.append((body, links)))
    assert found == {(HOST, "/index.html"), (HOST, "/sub/index.html"), (HOST, "/sub/100%.htm"), (OTHER, "/index.html")}
    assert sorted(links for _, links in told) == [0, 2, 2, 3]
