"""The dialect of CDX servers, case by case as pywb documents it, over several sorted indexes at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.archives.foreign import a_site, write_warc

from periplus.collection.importing import import_archives
from periplus.model import UsageError
from periplus.store.warc import CdxLine
from periplus.store.warc.cdx_query import (
    LINES_PER_BLOCK,
    TooMuchError,
    count_lines,
    fields_of,
    find,
    index_files,
    key_range,
    make_filter,
    make_query,
)
from periplus.store.warc.cdxj import key_of

CAPTURES = [
    ("http://example.com/", "20130729195151", "text/html", "200", "AAA"),
    ("http://example.com/", "20140127171200", "text/html", "200", "AAA"),
    ("http://www.example.com/", "20140306082200", "text/html", "404", "BBB"),
    ("http://example.com/path/", "20140101000000", "text/html", "200", "CCC"),
    ("http://example.com/path/a.php", "20141231235959", "text/html", "200", "DDD"),
    ("http://example.com/path/a.php?x=1", "20150101000000", "text/plain", "500", "EEE"),
    ("http://example.com/pathology", "20140601000000", "image/png", "200", "FFF"),
    ("http://sub.example.com/page.php", "20140601000000", "text/html", "200", "GGG"),
    ("http://example.community/", "20140601000000", "text/html", "200", "HHH"),
    ("http://example-other.com/", "20140601000000", "text/html", "200", "III"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The captures dealt out to three indexes."""
    folder = tmp_path_factory.mktemp("cdx")
    made = []
    for number in range(3):
        lines = [
            CdxLine(key_of(url), at, url, mime, status, digest, 10, 100 + place, f"{number}.warc.gz").encode()
            for place, (url, at, mime, status, digest) in enumerate(CAPTURES)
            if place % 3 == number
        ]
        path = folder / f"{number}.cdxj"
        path.write_bytes(b"".join(sorted(lines)))
        made.append(path)
    return made


def asked(files: list[Path], **given: str | list[str]) -> list[str]:
    """What is found: the end of the URL, and the time."""
    named = {name.rstrip("_"): [value] if isinstance(value, str) else value for name, value in given.items()}
    return [f"{line.url.partition('//')[2]} {line.timestamp}" for line in find(files, make_query(named))]


HOME = [
    "example.com/ 20130729195151",
    "example.com/ 20140127171200",
    "www.example.com/ 20140306082200",
]


def test_exact(files: list[Path]) -> None:
    """A list of captures of a URL, in any of its spellings, the earliest first."""
    assert asked(files, url="example.com") == HOME
    assert asked(files, url="https://EXAMPLE.com:443/") == HOME
    assert asked(files, url="http://example.com/nothing") == []


def test_from_and_to_are_inclusive_and_filled_up(files: list[Path]) -> None:
    """`from=2014&to=2014` is the whole year."""
    assert asked(files, url="example.com", from_="2014", to="2014") == HOME[1:]
    assert asked(files, url="example.com", to="20130729195151") == HOME[:1]
    assert asked(files, url="example.com", from_="201402") == HOME[2:]


def test_match_types(files: list[Path]) -> None:
    """A star is short for prefix or domain."""
    below = ["example.com/path/a.php 20141231235959", "example.com/path/a.php?x=1 20150101000000"]
    assert asked(files, url="http://example.com/path/*") == below
    assert asked(files, url="http://example.com/path/", matchType="prefix") == below
    assert len(asked(files, url="http://example.com/path*")) == 4
    host = asked(files, url="http://example.com/whatever", matchType="host")
    assert len(host) == 7
    assert asked(files, url="example.com/*") == host
    domain = asked(files, url="*.example.com")
    assert set(domain) - set(host) == {"sub.example.com/page.php 20140601000000"}
    assert asked(files, url="example.com", matchType="domain") == domain


def test_limit_and_sort(files: list[Path]) -> None:
    """The first, the last, the other way round, and those nearest to a time."""
    assert asked(files, url="example.com", limit="2") == HOME[:2]
    assert asked(files, url="example.com", limit="-2") == HOME[1:]
    assert asked(files, url="example.com", sort="reverse") == HOME[::-1]
    assert asked(files, url="example.com", sort="reverse", limit="1") == HOME[2:]
    assert asked(files, url="example.com", sort="closest", closest="20140201") == [HOME[1], HOME[2], HOME[0]]
    assert asked(files, url="example.com", sort="closest", closest="2014", limit="1") == [HOME[1]]


def test_filters(files: list[Path]) -> None:
    """Contains, is, matches from the beginning, and their opposites; several must all hold."""
    both = asked(files, url="example.com/*", filter=["=mime:text/html", "!=status:200"])
    assert both == HOME[2:]
    ends = asked(files, url="example.com", matchType="domain", filter=r"~url:.*\.php$")
    assert ends == ["example.com/path/a.php 20141231235959", "sub.example.com/page.php 20140601000000"]
    assert len(asked(files, url="example.com/*", filter="mime:html")) == 5
    assert len(asked(files, url="example.com/*", filter="!mime:html")) == 2
    assert len(asked(files, url="example.com/*", filter="~mime:.*/html$")) == 5
    assert len(asked(files, url="example.com/*", filter="!~mime:text/.*")) == 1
    assert asked(files, url="example.com/*", filter="~mime:html") == []
    assert asked(files, url="example.com", filter="statuscode:404") == HOME[2:]


def test_collapse(files: list[Path]) -> None:
    """Of neighbours with the same value, the first."""
    assert asked(files, url="example.com", collapse="digest") == [HOME[0], HOME[2]]
    assert asked(files, url="example.com", collapse="timestamp:4") == HOME[:2]
    assert len(asked(files, url="example.com/*", collapse="urlkey")) == 5


def test_going_on_where_an_answer_ended(files: list[Path]) -> None:
    """Three answers of three lines, two of two and one of all are the same."""
    whole = list(find(files, make_query({"url": ["*.example.com"]})))
    for size in (1, 3, 5):
        found: list[CdxLine] = []
        key = ""
        while some := list(
            find(files, make_query({"url": ["*.example.com"], "limit": [str(size)], "resumeKey": [key]}))
        ):
            found += some
            key = some[-1].encode().decode().strip()
        assert found == whole


def test_pages(tmp_path: Path) -> None:
    """Pages are blocks of the index, and all of them are all lines."""
    lines = [
        CdxLine(
            f"com,example)/{number:06d}", "20140101000000", f"http://example.com/{number:06d}", "", "", "", 1, 1, ""
        )
        for number in range(LINES_PER_BLOCK * 2 + 5)
    ]
    path = tmp_path / "index.cdxj"
    path.write_bytes(b"".join(line.encode() for line in lines))
    query = make_query({"url": ["example.com/*"]})
    assert count_lines([path], query) == len(lines)
    found = [
        line
        for page in range(3)
        for line in find([path], make_query({"url": ["example.com/*"], "page": [str(page)], "pageSize": ["1"]}))
    ]
    assert [line.url for line in found] == [line.url for line in lines]
    assert count_lines([path], make_query({"url": ["example.com/000001"]})) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"url": ""},
        {"url": "example.com", "matchType": "suffix"},
        {"url": "example.com", "from": "tomorrow"},
        {"url": "example.com", "limit": "0"},
        {"url": "example.com", "limit": "many"},
        {"url": "example.com", "sort": "sideways"},
        {"url": "example.com", "sort": "closest"},
        {"url": "example.com", "filter": "colour:red"},
        {"url": "example.com", "filter": "~url:(unclosed"},
        {"url": "example.com", "filter": r"~url:(a)\1"},
        {"url": "example.com", "filter": "~url:(?=a)"},
        {"url": "example.com", "filter": "~url:" + "a" * 1000},
        {"url": "example.com", "collapse": "colour"},
        {"url": "example.com", "page": "-1"},
    ],
)
def test_what_cannot_be_asked(given: dict[str, str]) -> None:
    """Is refused with a hint."""
    with pytest.raises(UsageError) as refused:
        make_query({name: [value] for name, value in given.items()})
    assert refused.value.hint


def test_expressions_take_linear_time() -> None:
    """The classic that backtracking matchers never finish."""
    line = CdxLine("k", "2014", "a" * 5000 + "!", "", "", "", 1, 1, "")
    assert make_filter("~url:(a+)+$")([line]) == [False]
    assert make_filter("~url:(a|aa)*b")([line]) == [False]


def test_a_question_ends_in_time(tmp_path: Path) -> None:
    """Beyond its deadline it is given up."""
    path = tmp_path / "index.cdxj"
    path.write_bytes(
        b"".join(b'com,example)/%06d 2014 {"url":"http://example.com/"}\n' % number for number in range(3000))
    )
    with pytest.raises(TooMuchError):
        list(find([path], make_query({"url": ["example.com/*"]}), deadline=time.monotonic() - 1))


def test_fields_and_ranges() -> None:
    """Names of both dialects; the end of a range is the first key that does not belong to it."""
    assert fields_of("urlkey,original, mimetype") == ("urlkey", "url", "mime")
    with pytest.raises(UsageError):
        fields_of("urlkey,colour")
    assert key_range("example.com/a") == (b"com,example)/a ", b"com,example)/a!")
    assert key_range("*.example.com") == (b"com,example)", b"com,example-")


def test_which_indexes_are_asked(tmp_path: Path) -> None:
    """The one for all, if it is as new as the others."""
    import_archives(tmp_path / "old", [write_warc(tmp_path / "old.warc.gz", a_site())])
    [only] = index_files(tmp_path / "old" / "warc")
    assert only.name == "index.cdxj"
    assert index_files(tmp_path) == []
