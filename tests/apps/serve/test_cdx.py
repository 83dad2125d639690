"""Captures over HTTP: `/cdx`, time maps, and copies of a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.apps.serve.asking import Site
from tests.archives.foreign import HOME, a_site, write_warc

from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.collection.importing import import_archives

TOKEN = "a token that is long enough"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with two versions of a page."""
    folder = tmp_path_factory.mktemp("old")
    import_archives(folder / "old", [write_warc(folder / "old.warc.gz", a_site())])
    return folder / "old"


@pytest.fixture(scope="module")
def server(old: Path) -> Iterator[Site]:
    """It, served."""
    with running(Served((old,), ServeSettings(port=0))) as url:
        yield Site(url)


def test_lines_in_three_forms(server: Site) -> None:
    """CDXJ as in the file, an object a line, and fields with blanks between."""
    plain = server.get("/cdx", url=HOME)
    assert plain.status == 200
    assert plain.headers["content-type"].startswith("text/x-cdxj")
    assert [line.split(" ", 2)[:2] for line in plain.text.splitlines()] == [
        ["test,old)/", "20200101000002"],
        ["test,old)/", "20210101000000"],
        ["test,old)/", "20220101000000"],
    ]
    found = [json.loads(line) for line in server.get("/cdx", url=HOME, output="json").text.splitlines()]
    assert [(line["timestamp"], line["mime"]) for line in found][1:] == [
        ("20210101000000", "text/html"),
        ("20220101000000", "warc/revisit"),
    ]
    assert server.get("/cdx", url="old.test/*", output="text", fl="original,statuscode", limit=2).text == (
        "http://old.test/ 200\nhttp://old.test/ 200\n"
    )
    some = server.get("/cdx", url=HOME, fl="urlkey,timestamp,status", limit=1).text
    assert some == 'test,old)/ 20200101000002 {"status":"200"}\n'


def test_pages_and_resume_keys(server: Site) -> None:
    """How many pages there are; a key behind the answer leads to the next one."""
    assert server.get("/cdx", url="old.test/*", showNumPages="true").json == {"blocks": 1, "pages": 1, "pageSize": 5}
    answer = server.get("/cdx", url="old.test/*", limit=4, showResumeKey="true", output="text", fl="url").text
    *first, empty, key = answer.splitlines()
    rest = server.get("/cdx", url="old.test/*", resumeKey=key, output="text", fl="url").text.splitlines()
    assert (len(first), empty, len(rest)) == (4, "", 6)
    assert first + rest == server.get("/cdx", url="old.test/*", output="text", fl="url").text.splitlines()


@pytest.mark.parametrize(
    "parameters",
    [{}, {"url": HOME, "output": "xml"}, {"url": HOME, "filter": "~url:(a"}, {"url": HOME, "fl": "colour"}],
)
def test_what_cannot_be_asked_is_refused(server: Site, parameters: dict[str, str]) -> None:
    """Before an answer begins."""
    refused = server.ask("GET", f"/cdx?{'&'.join(f'{name}={quote(value)}' for name, value in parameters.items())}", {})
    assert refused.status == 400
    assert refused.json["hint"]


def test_time_maps(server: Site) -> None:
    """The original, the versions with their dates, the first and the last of them; each leads to its copy."""
    found = server.get(f"/timemap/link/{HOME}")
    assert found.status == 200
    assert found.headers["content-type"] == "application/link-format"
    links = found.text.strip().split(",\n")
    assert links[0] == f'<{HOME}>; rel="original"'
    assert [link.partition("; ")[2] for link in links[3:]] == [
        'rel="first memento"; datetime="Wed, 01 Jan 2020 00:00:02 GMT"',
        'rel="memento"; datetime="Fri, 01 Jan 2021 00:00:00 GMT"',
        'rel="last memento"; datetime="Sat, 01 Jan 2022 00:00:00 GMT"',
    ]
    copy = links[3].partition(">")[0].removeprefix(f"<{server.origin}")
    answer = server.get(copy)
    assert answer.headers["memento-datetime"] == "Wed, 01 Jan 2020 00:00:02 GMT"
    assert "<title>home</title>" in answer.text
    assert server.get(f"/timemap/link/{HOME}nothing").status == 404
    assert server.get("/timemap/link/no:url").status in (400, 404)


def test_copies_of_a_time(server: Site) -> None:
    """By `at`, by `Accept-Datetime`, and by default the last; with links to the original and the time map."""
    last = server.get("/cached", url=HOME)
    assert last.headers["memento-datetime"] == "Sat, 01 Jan 2022 00:00:00 GMT"
    assert f'<{HOME}>; rel="original"' in last.headers["link"]
    assert "/timemap/link/" in last.headers["link"]
    assert last.headers["vary"] == "accept-datetime"
    first = server.get("/cached", {"Accept-Datetime": "Thu, 01 Jan 2015 00:00:00 GMT"}, url=HOME)
    assert first.headers["memento-datetime"] == "Wed, 01 Jan 2020 00:00:02 GMT"
    middle = server.get("/cached", url=HOME, at="2021")
    assert middle.headers["memento-datetime"] == "Fri, 01 Jan 2021 00:00:00 GMT"
    assert "<title>home, changed</title>" in middle.text
    assert server.get("/cached", url=HOME, at="soon").status == 400
    assert server.get("/cached", {"Accept-Datetime": "soon"}, url=HOME).status == 400
    assert server.get("/cached", url=f"{HOME}hidden").status == 404


def test_strangers_do_not_see_the_index(old: Path) -> None:
    """A search may be public; the list of all captures is not."""
    with running(Served((old,), ServeSettings(port=0, token=TOKEN, public_search=True))) as url:
        server = Site(url)
        assert server.ask("GET", f"/cdx?url={HOME}", {}).status == 401
        assert server.ask("GET", f"/timemap/link/{HOME}", {}).status == 401
        assert server.ask("GET", f"/cdx?url={HOME}", {"Authorization": f"Bearer {TOKEN}"}).status == 200
