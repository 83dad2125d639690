"""Real access logs of others: every well-formed line is read, with sensible fields."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.reference import access_log_writing

from periplus.formats import access_log
from periplus.formats.access_log import LoggedRequest

pytestmark = pytest.mark.corpus

# file: the byte offsets of lines that are not log lines, with the reason
KNOWN_PROBLEMS: dict[str, dict[int, str]] = {
    "elastic_apache_logs.log.gz": {},
    "nielsbasjes_hackers-access.log.gz": {},
}


@pytest.mark.parametrize("name", KNOWN_PROBLEMS)
def test_every_line_is_read(corpus: Path, name: str) -> None:
    """All of 13,456 lines of two servers, but for those named above."""
    lines = gzip.decompress((corpus / "logs" / name).read_bytes()).splitlines(keepends=True)
    read = list(access_log.read(lines))
    assert len(read) == len(lines)
    assert {value.at: value.reason for value in read if not isinstance(value, LoggedRequest)} == KNOWN_PROBLEMS[name]
    for hit in read:
        assert isinstance(hit, LoggedRequest)
        assert hit.method in {"GET", "HEAD", "POST", "OPTIONS"}
        assert hit.protocol in {"HTTP/1.0", "HTTP/1.1"}
        assert 200 <= hit.status < 600
        assert 1_400_000_000 < hit.at < 1_500_000_000


@pytest.mark.parametrize("name", KNOWN_PROBLEMS)
def test_writing_loses_nothing(corpus: Path, name: str) -> None:
    """A hit that was written and read again is the same hit."""
    lines = gzip.decompress((corpus / "logs" / name).read_bytes()).splitlines()
    for value in access_log.read(lines):
        if isinstance(value, LoggedRequest):
            assert access_log.read_line(access_log_writing.write(value).encode()) == value


def test_a_known_line(corpus: Path) -> None:
    """The first line of the first log, field by field."""
    lines = gzip.decompress((corpus / "logs" / "elastic_apache_logs.log.gz").read_bytes()).splitlines()
    hit = access_log.read_line(lines[0])
    assert isinstance(hit, LoggedRequest)
    assert (hit.ip, hit.at, hit.method, hit.status, hit.size) == ("83.149.9.216", 1431857103.0, "GET", 200, 203023)
    assert hit.path == "/presentations/logstash-monitorama-2013/images/kibana-search.png"
    assert hit.referrer == "http://semicomplete.com/presentations/logstash-monitorama-2013/"
    assert hit.agent.endswith("Chrome/32.0.1700.77 Safari/537.36")
