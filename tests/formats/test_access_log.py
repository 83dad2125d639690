"""Access logs: the formats of Apache and nginx, their escapes, and what is not a line of either."""

from __future__ import annotations

import pytest
from tests.each_case import each_case
from tests.formats.linear_time import assert_linear
from tests.reference import access_log_writing

from periplus.formats import access_log
from periplus.formats.access_log import LoggedRequest
from periplus.model import Problem

AT = 971211336.0  # 10/Oct/2000:13:55:36 -0700, the example in Apache's manual
WHEN = "[10/Oct/2000:13:55:36 -0700]"
HIT = LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, agent="x")


@each_case(
    ("line", "hit"),
    [
        (
            f'127.0.0.1 - frank {WHEN} "GET /apache_pb.gif HTTP/1.0" 200 2326',
            LoggedRequest("127.0.0.1", AT, "GET", "/apache_pb.gif", "HTTP/1.0", 200, 2326, user="frank"),
        ),
        (
            f'127.0.0.1 - - {WHEN} "GET /a HTTP/1.0" 304 - "http://e.com/s" "Mozilla/4.08 [en] (Win98; I ;Nav)"\n',
            LoggedRequest(
                "127.0.0.1", AT, "GET", "/a", "HTTP/1.0", 304, 0, "http://e.com/s", "Mozilla/4.08 [en] (Win98; I ;Nav)"
            ),
        ),
        (
            f'www.e.com:443 2001:db8::1 - - {WHEN} "HEAD / HTTP/2.0" 200 5 "-" "-"\r\n',
            LoggedRequest("2001:db8::1", AT, "HEAD", "/", "HTTP/2.0", 200, 5, host="www.e.com:443"),
        ),
        (
            f'www.e.com 192.0.2.7 - ann {WHEN} "GET / HTTP/1.1" 200 5',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, user="ann", host="www.e.com"),
        ),
        (
            f'www.e.com:80 client.example - - {WHEN} "GET / HTTP/1.1" 200 5 "-" "x"',
            LoggedRequest("client.example", AT, "GET", "/", "HTTP/1.1", 200, 5, agent="x", host="www.e.com:80"),
        ),
        (
            f'::1 - Jo Ann Doe {WHEN} "GET / HTTP/1.1" 200 5 "-" "x"',
            LoggedRequest("::1", AT, "GET", "/", "HTTP/1.1", 200, 5, agent="x", user="Jo Ann Doe"),
        ),
        (
            f'192.0.2.7 - Jo Doe {WHEN} "GET / HTTP/1.1" 200 5 "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, agent="x", user="Jo Doe"),
        ),
        (
            f'192.0.2.7 - "" {WHEN} "GET / HTTP/1.1" 401 5 "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 401, 5, agent="x"),
        ),
        (
            rf'192.0.2.7 - - {WHEN} "GET /\"q\"?\xc3\xa9\x22 HTTP/1.1" 200 5 "http://\xd0\xb6/" "a \"b\" \\ c\x41\t"',
            LoggedRequest("192.0.2.7", AT, "GET", '/"q"?%C3%A9"', "HTTP/1.1", 200, 5, "http://ж/", 'a "b" \\ cA\t'),
        ),
        (
            f'192.0.2.7 - - {WHEN} "GET /a b HTTP/1.1" 200 5 "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/a b", "HTTP/1.1", 200, 5, agent="x"),
        ),
        (
            f'192.0.2.7 - - {WHEN} "GET /" 200 5 "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "", 200, 5, agent="x"),
        ),
        (
            f'192.0.2.7 - - {WHEN} "-" 408 - "-" "-"',
            LoggedRequest("192.0.2.7", AT, "", "", "", 408, 0),
        ),
        (
            rf'192.0.2.7 - - {WHEN} "\x16\x03\x01" 400 226 "-" "-"',
            LoggedRequest("192.0.2.7", AT, "", "\x16\x03\x01", "", 400, 226),
        ),
        (
            f'192.0.2.7 - - {WHEN} "" 400 0 "-" "-"',
            LoggedRequest("192.0.2.7", AT, "", "", "", 400, 0),
        ),
        (
            f'192.0.2.7 - - {WHEN} "GET / HTTP/1.1" 200 5 "-" "x" "203.0.113.9" 0.003',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, agent="x"),
        ),
        (
            f'192.0.2.7 - - {WHEN} "GET / HTTP/1.1" 200 5 "-" "the "best" agent"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, agent='the "best" agent'),
        ),
        (
            f'192.0.2.7 - - {WHEN} "GET /"x" HTTP/1.1" 200 5 "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", '/"x"', "HTTP/1.1", 200, 5, agent="x"),
        ),
        (
            f'192.0.2.7 - - {WHEN} "GET / HTTP/1.1" - - "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 0, 0, agent="x"),
        ),
        (
            f'192.0.2.7, 203.0.113.9 - - {WHEN} "GET / HTTP/1.1" 200 5 "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, agent="x"),
        ),
        (
            f'192.0.2.7, 203.0.113.9, ::1 - ann {WHEN} "GET / HTTP/1.1" 200 5 "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, agent="x", user="ann"),
        ),
        (
            f'192.0.2.7 - - {WHEN}  "GET / HTTP/1.1"  200  5  "http://e.com/"  "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, "http://e.com/", "x"),
        ),
        (
            f'192.0.2.7 - - {WHEN} "GET / HTTP/1.1" 200 {"9" * 30} "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 10**18 - 1, agent="x"),
        ),
        (
            f'192.0.2.7 - - {WHEN} "GET / HTTP/1.1" 200 5 0.003 - "http://e.com/" "x" "y"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, "http://e.com/", "x"),
        ),
        (
            f'192.0.2.7 - - {WHEN} "GET / HTTP/1.1" 200',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 0),
        ),
        (
            f'192.0.2.7\t-\t-\t{WHEN}\t"GET / HTTP/1.1"\t200\t5',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5),
        ),
        (
            f'Oct 10 13:55:36 front nginx: 192.0.2.7 - ann {WHEN} "GET / HTTP/1.1" 200 5 "-" "x"',
            LoggedRequest("192.0.2.7", AT, "GET", "/", "HTTP/1.1", 200, 5, agent="x", user="ann"),
        ),
        *(
            (f'192.0.2.7 - - {when} "GET / HTTP/1.1" 200 5 "-" "x"', HIT)
            for when in (
                "[10/Oct/2000:13:55:36.789 -0700]",
                "[10/Oct/2000:13:55:36 -07:00]",
                "[10/Oct/2000:20:55:36 Z]",
                "[10/Oct/2000:20:55:36]",
                "[2000-10-10T13:55:36-07:00]",
                "[2000-10-10T20:55:36Z]",
            )
        ),
        (
            '192.0.2.7 - - [1/Oct/2000:20:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "x"',
            LoggedRequest("192.0.2.7", AT - 9 * 86_400, "GET", "/", "HTTP/1.1", 200, 5, agent="x"),
        ),
    ],
)
def test_lines(line: str, hit: LoggedRequest) -> None:
    """Every format of the two servers, with or without escapes, gives the same fields."""
    assert access_log.read_line(line.encode()) == hit


def test_bytes_of_no_charset_survive() -> None:
    """A raw byte in a path is percent-encoded, as a client should have done; elsewhere it is replaced."""
    line = b'192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /\xe9 HTTP/1.1" 200 5 "-" "caf\xe9 \xc3\xa9"'
    hit = access_log.read_line(line)
    assert isinstance(hit, LoggedRequest)
    assert (hit.path, hit.agent) == ("/%E9", "caf\ufffd é")


@each_case(
    ("line", "reason"),
    [
        ("", "not-a-log-line"),
        ("hello", "not-a-log-line"),
        ("#Fields: date time", "not-a-log-line"),
        ('{"ip": "1.2.3.4"}', "not-a-log-line"),
        (f"192.0.2.7 - - {WHEN} GET / HTTP/1.1 200 5", "not-a-log-line"),
        (f'192.0.2.7 - - {WHEN} "GET / HTTP/1.1" ok', "not-a-log-line"),
        (f'192.0.2.7 - - {WHEN} "GET / HT', "not-a-log-line"),
        ('192.0.2.7 - - [31/Feb/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5', "impossible-time"),
        ('192.0.2.7 - - [10/Oct/2000:25:55:36 -0700] "GET / HTTP/1.1" 200 5 "-" "x"', "impossible-time"),
        ('192.0.2.7 - - [10/Foo/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5 "-" "x"', "impossible-time"),
        ('192.0.2.7 - - [2000-13-10T13:55:36Z] "GET / HTTP/1.1" 200 5', "impossible-time"),
        ("x" * 70_000, "too-long"),
    ],
)
def test_what_is_not_a_line(line: str, reason: str) -> None:
    """Garbage is a problem with a reason."""
    problem = access_log.read_line(line.encode())
    assert isinstance(problem, Problem)
    assert problem.reason == reason
    assert len(problem.detail) <= 200


def test_a_log_is_read_line_by_line() -> None:
    """Blank lines are nothing, garbage is reported where it begins, and reading goes on after it."""
    line = f'192.0.2.7 - - {WHEN} "GET / HTTP/1.1" 200 5\n'.encode()
    read = list(access_log.read([line, b"\n", b"junk\n", line]))
    assert [type(value) for value in read] == [LoggedRequest, Problem, LoggedRequest]
    assert read[1] == Problem("not-a-log-line", "junk", len(line) + 1)


IIS = """#Software: Microsoft Internet Information Services 10.0
#Version: 1.0
#Date: 2000-10-10 20:00:00
#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status
2000-10-10 20:55:36 10.0.0.1 GET /a.aspx q=1&r=2 443 DOM\\ann 192.0.2.7 Mozilla/5.0+(X;+Y) http://e.com/ 200
2000-10-10 20:55:36 10.0.0.1 GET / - 443 - 192.0.2.7 - - 404
2000-10-10 20:55:36 10.0.0.1 GET / - 443
2000-10-10 25:55:36 10.0.0.1 GET / - 443 - 192.0.2.7 - - 404
#Fields: time c-ip cs-method cs-uri-stem sc-status sc-bytes cs-version cs(User-Agent)
20:55:36 192.0.2.7 HEAD /b 304 12 HTTP/1.1 "an ""agent"" + x"
"""
CLOUD = (
    "#Version: 1.0\r\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status "
    "cs(Referer) cs(User-Agent) cs-uri-query x-host-header cs-protocol-version\r\n"
    "2000-10-10\t20:55:36\tIAD89\t335\t2001:db8::1\tGET\td1.cloudfront.net\t/x\t200\t-\tBot%201.0%2520(+y)\t"
    "a=b\te.com\tHTTP/2.0\r\n"
)


def test_a_log_may_say_what_its_fields_are() -> None:
    """The W3C's extended format: of IIS, of CloudFront, with a date above the lines, and with fields that change."""
    found = list(access_log.read(IIS.encode().splitlines(keepends=True)))
    assert found[0] == LoggedRequest(
        "192.0.2.7", AT, "GET", "/a.aspx?q=1&r=2", "", 200, 0, "http://e.com/", "Mozilla/5.0 (X; Y)", "DOM\\ann"
    )
    assert found[1] == LoggedRequest("192.0.2.7", AT, "GET", "/", "", 404, 0)
    assert [value.reason for value in found[2:4] if isinstance(value, Problem)] == ["not-a-log-line", "impossible-time"]
    assert found[4:] == [LoggedRequest("192.0.2.7", AT, "HEAD", "/b", "HTTP/1.1", 304, 12, agent='an "agent" + x')]
    assert list(access_log.read(CLOUD.encode().splitlines(keepends=True))) == [
        LoggedRequest("2001:db8::1", AT, "GET", "/x?a=b", "HTTP/2.0", 200, 335, agent="Bot 1.0 (+y)", host="e.com")
    ]


def test_a_comment_is_not_a_directive() -> None:
    """What a log does not say in a way that we know is not a line of it."""
    assert list(access_log.read([b"# hello\n"])) == [Problem("not-a-log-line", "# hello", 0)]


def test_a_written_line_cannot_be_forged() -> None:
    """No field can end its own quotes, its line, or open the time."""
    hit = LoggedRequest(
        "1.2.3.4", AT, "GET", '/" 200 1\n', "HTTP/1.1", 200, 5, 'a"b', "c\\", "x [10/Oct/2000:13:55:36 +0000]", "h:1"
    )
    line = access_log_writing.write(hit)
    assert "\n" not in line
    assert access_log.read_line(line.encode()) == hit


@pytest.mark.parametrize("piece", ['"', '" 200 5 "', "\\", '\\"', " ", f" {WHEN} ", f'{WHEN} "', "a ", '" "'])
def test_lines_take_linear_time(piece: str) -> None:
    """No line, however repetitive, takes a pattern into a maze."""

    def read(size: int) -> None:
        line = (piece * (size // len(piece))).encode()
        for prefix in (b"", f'a - - {WHEN} "'.encode(), f'a - - {WHEN} "GET / HTTP/1.1" 200 5 "'.encode()):
            access_log.read_line(prefix + line)

    assert_linear(read, 60_000)
