"""Any bytes are a log: every line is counted once, and nothing raises."""

from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.published.log_lines import line

from periplus_sites.commands.logs.tables import page
from periplus_sites.logs import LogReport, read_logs

PIECES = st.one_of(
    st.binary(max_size=80),
    st.builds(
        lambda path, at, agent, ip, status: line(path, at, agent, ip=ip, status=status).encode("utf-8", "replace"),
        st.text(max_size=20).map(lambda text: "/" + text),
        st.floats(0, 4e9),
        st.sampled_from(["Googlebot/2.1", "bingbot/2.0 <script>", "\\x00", 'a"b', ""]),
        st.sampled_from(["192.0.2.1", "::1", "a.test", "-"]),
        st.integers(0, 999),
    ),
)


@given(st.lists(PIECES, max_size=30), st.booleans())
def test_any_bytes_give_counts(pieces: list[bytes], is_gzip: bool) -> None:
    body = b"\n".join(pieces)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "access.log"
        path.write_bytes(gzip.compress(body) if is_gzip else body)
        report = read_logs([path])
    assert report.lines == report.requests + sum(report.problems.values())
    assert report.crawler_requests <= report.requests
    assert sum(day.requests for day in report.days) == report.requests
    assert msgspec.json.decode(msgspec.json.encode(report), type=LogReport) == report
    assert page(report, 0.0, paper=True).count("<script>") == 1


@given(st.binary(max_size=400))
def test_damaged_gzip_gives_counts(rest: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "access.log.gz"
        path.write_bytes(gzip.compress(b"x\n" * 50)[:20] + rest)
        report = read_logs([path])
    assert report.requests == 0
    assert report.problems
