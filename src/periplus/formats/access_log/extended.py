"""The Extended Log File Format (Hallam-Baker and Behlendorf, W3C 1996): the log says which fields its lines have.

IIS writes it with spaces between fields and `+` for spaces in them, CloudFront with tabs and percent-escapes, others in
quotes. Times are in UTC. A log that names no date in its lines has it in a `#Date` directive above them.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from periplus.formats import dates
from periplus.model import Problem

from .hits import LONGEST_LINE, Hit

_DIRECTIVE: Final = re.compile(
    rb"#(Version|Fields|Software|Start-Date|End-Date|Date|Remark|GMT-Offset):\s*([^\r\n]*)", re.IGNORECASE
)
_FIELD: Final = re.compile(r'"(?:[^"]|"")*"|\S+')
_MOST_FIELDS: Final = 200
_DIGITS: Final = re.compile(r"\d{1,18}", re.ASCII)


class Layout:
    """The fields of the lines that follow; no `fields` before the log has declared them."""

    def __init__(self) -> None:
        self.fields: tuple[str, ...] = ()
        self._date = ""

    def learn(self, line: bytes) -> bool:
        """Whether this line is a directive; it applies from here on."""
        match = _DIRECTIVE.match(line[:LONGEST_LINE])
        if match is None:
            return False
        name, said = match[1].lower(), match[2].decode("utf-8", "replace")
        if name == b"fields":
            self.fields = tuple(said.lower().split()[:_MOST_FIELDS])
        elif name == b"date":
            self._date = said[:10]
        return True

    def read_line(self, line: bytes) -> Hit | Problem:
        """One line, with or without its end."""
        if len(line) > LONGEST_LINE:
            return Problem("too-long", f"{len(line)} bytes")
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        is_tabbed = "\t" in text
        words = text.split("\t") if is_tabbed else _FIELD.findall(text)
        said = dict(zip(self.fields, words, strict=False))
        status, stem = said.get("sc-status", ""), _said(said, "cs-uri-stem", "cs-uri")
        if len(words) != len(self.fields) or "time" not in said or not stem or not _is_status(status):
            return Problem("not-a-log-line", text[:200])
        day = said.get("date", self._date)
        moment = dates.read_w3c(f"{day}T{said['time']}Z")
        if moment is None:
            return Problem("impossible-time", f"{day} {said['time']}"[:200])
        query, plain = _said(said, "cs-uri-query"), _escaped if is_tabbed else _plus
        return Hit(
            _said(said, "c-ip"),
            moment.at,
            _said(said, "cs-method"),
            f"{stem}?{query}" if query else stem,
            _said(said, "cs-version", "cs-protocol-version"),
            int(status) if status != "-" else 0,
            _number(said.get("sc-bytes", "")),
            plain(_said(said, "cs(referer)", "cs(referrer)")),
            plain(_said(said, "cs(user-agent)")),
            _said(said, "cs-username"),
            _said(said, "x-host-header", "cs-host", "cs(host)"),
        )


def _said(said: dict[str, str], *names: str) -> str:
    """The first of these fields with a value, without its quotes."""
    for name in names:
        value = said.get(name, "-")
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
    """As IIS writes spaces; where spaces are written in quotes, a plus is a plus."""
    return text if " " in text else text.replace("+", " ")


def _escaped(text: str) -> str:
    """As CloudFront writes spaces, once or twice escaped."""
    once = unquote(text)
    return unquote(once) if "%20" in once else once
