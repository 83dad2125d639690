"""Reads access logs: the requests to a server, as Apache, nginx, IIS and CloudFront write them.

`read` takes a log line by line and returns a `LoggedRequest` for each. `read_line` reads the Common Log Format and its
successors (`combined`, `vhost_combined`, lines with further fields); `LineLayout` reads logs that declare their fields
in directives (W3C Extended Log File Format). A dash stands for an unknown value, and is read as an empty text or a 0.

Reasons of `Problem`: `not-a-log-line` (no time, no request or no status), `impossible-time` (a time that no clock
shows), `too-long` (more than 64 KiB). Crawlers are not distinguished from people here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from periplus.model import Problem

from . import dates

LONGEST_LINE: Final = 65_536
"""Bytes; the servers themselves cut what they log well before that."""


class LoggedRequest(Struct, frozen=True, gc=False):
    """One request and its result.

    `ip` may be a name where the server looks them up; `host` is the virtual host as logged, with its port if given. A
    line without a valid request line has no `method`, and `path` has all of it. Escaped bytes of a path are
    percent-encoded, as in a URL. `signature` are the fields `Signature-Agent`, `Signature-Input` and `Signature`, where
    the server logs them: by name, or in quotes behind the agent.
    """

    ip: str
    at: float
    method: str
    path: str
    protocol: str
    status: int
    size: int
    referrer: str = ""
    agent: str = ""
    user: str = ""
    host: str = ""
    signature: tuple[str, str, str] | None = None


_DIRECTIVE: Final = re.compile(
    rb"#(Version|Fields|Software|Start-Date|End-Date|Date|Remark|GMT-Offset):\s*([^\r\n]*)", re.IGNORECASE
)
_FIELD: Final = re.compile(r'"(?:[^"]|"")*"|\S+')
_MOST_FIELDS: Final = 200
_DIGITS: Final = re.compile(r"\d{1,18}", re.ASCII)


class LineLayout:
    """The fields of the lines that follow; no `fields` before the log has declared them.

    IIS writes spaces between fields and `+` for spaces in them, CloudFront tabs and percent-escapes, others quotes.
    Times are in UTC. Lines without a date have that of the `#Date` directive above them.
    """

    def __init__(self) -> None:
        self.fields: tuple[str, ...] = ()
        self._date = ""

    def learn(self, line: bytes) -> bool:
        """Whether this line is a directive; it applies from here on."""
        match = _DIRECTIVE.match(line[:LONGEST_LINE])
        if match is None:
            return False
        name, value = match[1].lower(), match[2].decode("utf-8", "replace")
        if name == b"fields":
            self.fields = tuple(value.lower().split()[:_MOST_FIELDS])
        elif name == b"date":
            self._date = value[:10]
        return True

    def read_line(self, line: bytes) -> LoggedRequest | Problem:
        """Parse one line, with or without its end."""
        if len(line) > LONGEST_LINE:
            return Problem("too-long", f"{len(line)} bytes")
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        is_tabbed = "\t" in text
        words = text.split("\t") if is_tabbed else _FIELD.findall(text)
        values = dict(zip(self.fields, words, strict=False))
        status, stem = values.get("sc-status", ""), _first_of(values, "cs-uri-stem", "cs-uri")
        if len(words) != len(self.fields) or "time" not in values or not stem or not _is_status(status):
            return Problem("not-a-log-line", text[:200])
        day = values.get("date", self._date)
        moment = dates.read_w3c(f"{day}T{values['time']}Z")
        if moment is None:
            return Problem("impossible-time", f"{day} {values['time']}"[:200])
        query, plain = _first_of(values, "cs-uri-query"), _escaped if is_tabbed else _plus
        return LoggedRequest(
            _first_of(values, "c-ip"),
            moment.at,
            _first_of(values, "cs-method"),
            f"{stem}?{query}" if query else stem,
            _first_of(values, "cs-version", "cs-protocol-version"),
            int(status) if status != "-" else 0,
            _number(values.get("sc-bytes", "")),
            plain(_first_of(values, "cs(referer)", "cs(referrer)")),
            plain(_first_of(values, "cs(user-agent)")),
            _first_of(values, "cs-username"),
            _first_of(values, "x-host-header", "cs-host", "cs(host)"),
            self._signature(values, plain) if "cs(signature-input)" in values else None,
        )

    def _signature(self, values: dict[str, str], plain: Callable[[str], str]) -> tuple[str, str, str] | None:
        given = plain(_first_of(values, "cs(signature-input)"))
        agent, signature = _first_of(values, "cs(signature-agent)"), _first_of(values, "cs(signature)")
        return (plain(agent), given, unquote(signature)) if given else None


def _first_of(values: dict[str, str], *names: str) -> str:
    """The first of these fields with a value, without its quotes."""
    for name in names:
        value = values.get(name, "-")
        if value[:1] == '"':
            value = value[1:-1].replace('""', '"')
        if value not in ("-", ""):
            return value
    return ""


def _is_status(text: str) -> bool:
    return text == "-" or (len(text) == 3 and text.isascii() and text.isdigit())


def _number(text: str) -> int:
    return int(text) if _DIGITS.fullmatch(text) else 0


def _plus(text: str) -> str:
    """Decode spaces as IIS writes them; where spaces are written in quotes, a plus is a plus."""
    return text if " " in text else text.replace("+", " ")


def _escaped(text: str) -> str:
    """Decode spaces as CloudFront writes them, escaped once or twice."""
    once = unquote(text)
    return unquote(once) if "%20" in once else once


def read(lines: Iterable[bytes]) -> Iterator[LoggedRequest | Problem]:
    """Every line that is not blank; a problem is `at` the first byte of its line, if lines keep their ends.

    A line that says what the fields of those below it are, holds until the next one does.
    """
    offset, layout = 0, LineLayout()
    for line in lines:
        if line[:1] != b"#" or not layout.learn(line):
            hit = layout.read_line(line) if layout.fields else read_line(line)
            if isinstance(hit, LoggedRequest):
                yield hit
            elif not line.isspace() and line:
                yield Problem(hit.reason, hit.detail, offset)
        offset += len(line)


_QUOTED = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
_WHEN = r"(\[\d\d/[A-Za-z]{3}/\d{4})(:\d\d:\d\d)(:\d\d) ([+-]\d{4}\])"
_WHO = r"(\S++) (\S++) (\S++)(?: (\S++))?"
_LINE = re.compile(
    rf"{_WHO} {_WHEN} {_QUOTED} (\d{{3}}) (\d+|-)(?=\s|$)"
    rf'(?:(?>(?: [^\s"]++){{0,8}}) {_QUOTED} {_QUOTED}(?=\s|$)|(?![^"]*"))',
    re.ASCII,
)

# The slow path takes a line apart from left to right, each pattern searched for once.
_ANY_WHEN = re.compile(
    r"\s\[(?:(\d{1,2})(/[A-Za-z]{3}/\d{4})(:\d\d:\d\d)(:\d\d)(?:[.,]\d{1,9})?(?: ?([+-]\d\d:?\d\d|Z|UTC|GMT))?"
    r"|(\d{4}-\d\d-\d\d[T ][\d:]{5,8}[\d.,:+Z-]{0,20}))\]",
    re.ASCII,
)
_RESULT = re.compile(r'"\s+(\d{3}|-)(?:\s+(\d+|-)(?=\s|$)|\s*$)', re.ASCII)
_BETWEEN = re.compile('" +"')
_ADDRESS = re.compile(r"\[?(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*)\]?")
_WITH_PORT = re.compile(r".+:\d{1,5}", re.ASCII)

_DAY = re.compile(r"\[\d\d/[A-Za-z]{3}/\d{4} [+-]\d{4}\]", re.ASCII)
_MINUTES = {f":{m // 60:02}:{m % 60:02}": m * 60.0 for m in range(1440)}
_SECONDS = {f":{s:02}": float(s) for s in range(61)}
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PROPFIND"})
_METHOD = re.compile(r"[A-Za-z][A-Za-z_-]{0,31}")

_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_SHORT = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"v": b"\v", b"f": b"\f", b'"': b'"', b"\\": b"\\"}


def read_line(line: bytes) -> LoggedRequest | Problem:
    r"""Parse one line of the Common Log Format or a successor, with or without its end.

    Fields between size and referrer or after the agent are skipped, and so is what a syslog puts before the address. Of
    an X-Forwarded-For in place of the address (`client, proxy, proxy`) the client counts. Apache's `mod_log_config` and
    nginx's `ngx_http_log_module` define the escapes: `\"`, `\\`, `\n` and similar, `\xNN` for other bytes. A time may
    also be in ISO 8601, have fractions, or have no zone: then it is UTC.
    """
    if len(line) > LONGEST_LINE:
        return Problem("too-long", f"{len(line)} bytes")
    text = line.decode("utf-8", "backslashreplace")
    return _read_clean(text) or _read_escaped(text) or _read_odd(text.strip())


def _read_clean(text: str) -> LoggedRequest | None:
    """A line of `combined` without escapes, as nearly all are: cutting at quotes is twice as fast as any pattern."""
    parts = text.split('"')
    if len(parts) != 7 or "\\" in text or parts[4] != " ":
        return None
    head, request, result, referrer, _, agent, _ = parts
    try:
        ip, _, user, when, zone, _ = head.split(" ")
        _, status, size = result.rstrip(" ").split(" ")
        if (
            len(when) != 21
            or len(zone) != 6
            or len(status) != 3
            or len(size) > 18
            or not (size == "-" or size.isdigit())
        ):
            return None
        at = _read_stamp(when, zone)
        if at is None or not status.isdigit():
            return None
        return LoggedRequest(
            ip,
            at,
            *_split_request(request),
            int(status),
            0 if size == "-" else int(size),
            "" if referrer == "-" else referrer,
            "" if agent == "-" else agent,
            "" if user == "-" else user,
        )
    except ValueError:
        return None


def _read_escaped(text: str) -> LoggedRequest | Problem | None:
    """A line of any of the formats, as the servers' manuals have it."""
    match = _LINE.match(text)
    if match is None:
        return None
    first, second, third, fourth, *when = match.groups()[:8]
    words = [first, second, third] if fourth is None else [first, second, third, fourth]
    request, status, size, referrer, agent = match.groups()[8:]
    rest = text[match.end() :]
    return _hit(_who(words), _read_time(tuple(when)), "".join(when), request, status, size, referrer, agent, rest)


def _read_odd(text: str) -> LoggedRequest | Problem:
    """Names with spaces, quotes that were not escaped, spaces too many: find what no line can do without."""
    when = _ANY_WHEN.search(text)
    opened = text.find('"', when.end()) if when else -1
    result = _RESULT.search(text, opened + 1) if opened >= 0 else None
    if when is None or result is None:
        return Problem("not-a-log-line", text[:200])
    referrer, agent = _last_two(text[result.end() :])
    request = text[opened + 1 : result.start()]
    who, size = _who(text[: when.start()].split()), result[2] or "-"
    rest = text[result.end() :]
    return _hit(who, _odd_time(when), when[0].strip(), request, result[1], size, referrer, agent, rest)


def _last_two(text: str) -> tuple[str, str]:
    """Referrer and agent, the one up to the first quote that can end it, the other up to the last."""
    opened = text.find('"')
    between = _BETWEEN.search(text, opened + 1)
    if opened < 0 or between is None:
        return "", ""
    return text[opened + 1 : between.start()], text[between.end() : max(text.rfind('"'), between.end())]


def _who(words: list[str]) -> tuple[str, str, str]:
    """Address, user and virtual host, from the words before the time: `[host] address[, proxy ...] ident user`."""
    if words and words[0].endswith(","):
        hops = next((number for number, word in enumerate(words) if not word.endswith(",")), len(words) - 1)
        words = [words[0].rstrip(","), *words[hops + 1 :]]
    if len(words) > 4 and not any(map(_ADDRESS.fullmatch, words[:2])):  # a syslog's words come before
        words = words[next((place for place in range(len(words) - 3, 1, -1) if _ADDRESS.fullmatch(words[place])), 0) :]
    if len(words) > 1 and (_ADDRESS.fullmatch(words[1]) or (words[1] != "-" and _WITH_PORT.fullmatch(words[0]))):
        return words[1], " ".join(words[3:]), words[0]
    return " ".join(words[:1]), " ".join(words[2:]), ""


def _hit(
    who: tuple[str, str, str],
    at: float | None,
    when: str,
    request: str,
    status: str,
    size: str,
    referrer: str | None,
    agent: str | None,
    rest: str,
) -> LoggedRequest | Problem:
    """The words of a line as values."""
    if at is None:
        return Problem("impossible-time", when)
    ip, user, host = who
    method, path, protocol = _split_request(request)
    if "\\" in path:
        path = _ESCAPE.sub(_percent_encoded, path.encode()).decode(errors="replace")  # an escape may cut a character
    return LoggedRequest(
        ip,
        at,
        method,
        path,
        protocol,
        0 if status == "-" else int(status),
        0 if size == "-" else int(size[:18]),
        _unlogged(referrer),
        _unlogged(agent),
        _unlogged(user),
        _unlogged(host),
        _logged_signature(rest) if "web-bot-auth" in rest else None,
    )


_INPUT = re.compile(r"[a-z*][a-z0-9_.*-]*=\(")
_SIGNATURE = re.compile(r"[a-z*][a-z0-9_.*-]*=:[A-Za-z0-9+/=]*:")
_AGENT = re.compile(r'(?:[a-z*][a-z0-9_.*-]*=)?"http')


def _logged_signature(text: str) -> tuple[str, str, str] | None:
    """The fields of a signature among those in quotes, which are known by their forms."""
    fields = [_unlogged(found) for found in re.findall(_QUOTED, text)]
    agent, given, signature = (
        next((field for field in fields if form.match(field)), "") for form in (_AGENT, _INPUT, _SIGNATURE)
    )
    return (agent, given, signature) if given else None


def _read_time(when: tuple[str, ...]) -> float | None:
    """From the pieces `[17/May/2015`, `:10:05`, `:03` and `+0000]`."""
    day, minutes, seconds, zone = when
    midnight = _midnight(day, zone)
    if midnight is None or minutes not in _MINUTES or seconds not in _SECONDS:
        return None
    return midnight + _MINUTES[minutes] + _SECONDS[seconds]


@lru_cache(maxsize=4096)
def _read_stamp(when: str, zone: str) -> float | None:
    """From `[17/May/2015:10:05:03` and `+0000]`; neighbouring lines often have the same."""
    return _read_time((when[:12], when[12:18], when[18:], zone))


def _odd_time(when: re.Match[str]) -> float | None:
    """A day of one digit, a fraction of a second, a zone of another form or none, or ISO 8601."""
    day, month, minutes, seconds, zone, iso = when.groups()
    if iso is not None:
        read = dates.read_w3c(iso.replace(" ", "T", 1).replace(",", "."))
        return None if read is None else read.at
    zone = zone.replace(":", "") if zone and zone[0] in "+-" else "+0000"
    return _read_time((f"[{day:0>2}{month}", minutes, seconds, f"{zone}]"))


@lru_cache(maxsize=1024)
def _midnight(day: str, zone: str) -> float | None:
    """The start of a day in its zone; a log has few days, and its lines are sorted by them."""
    text = f"{day} {zone}"
    return dates.read_http(f"{day[1:].replace('/', ' ')} 00:00:00 {zone[:-1]}") if _DAY.fullmatch(text) else None


@lru_cache(maxsize=8192)
def _split_request(request: str) -> tuple[str, str, str]:
    """Method, target and protocol; a target may hold spaces, and HTTP/0.9 named no protocol."""
    method, _, rest = request.partition(" ")
    if not rest or not (method in _METHODS or _METHOD.fullmatch(method)):
        return "", "" if request == "-" else request, ""
    path, _, protocol = rest.rpartition(" ")
    if path and protocol.startswith("HTTP/"):
        return method, path, protocol
    return method, rest, ""


def _unlogged(text: str | None) -> str:
    """A field as it was before it was logged; empty for what was not known."""
    if not text or text in ("-", '""'):
        return ""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_byte, text.encode()).decode("utf-8", "replace")


def _byte(escape: re.Match[bytes]) -> bytes:
    return bytes((int(escape[1], 16),)) if escape[1] else _SHORT.get(escape[2], escape[0])


def _percent_encoded(escape: re.Match[bytes]) -> bytes:
    byte = _byte(escape)
    return byte if byte.isascii() else b"%%%02X" % byte[0]
