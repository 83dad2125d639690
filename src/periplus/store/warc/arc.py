"""ARC, the form of web archives before WARC (Burner and Kahle 1996): read only, as if it were WARC.

A record is one line, `URL IP-address Archive-date Content-type Archive-length`, and its block. The first, whose URL is
`filedesc://...`, describes the file. What the line says is told in the fields that WARC has for it.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_LINE: Final = 1 << 16

_LINE: Final = re.compile(
    r"(?P<url>[a-z][a-z0-9+.-]{1,31}:[^\r\n]*) (?P<ip>\S+) (?P<date>\d{14})\d* (?P<type>\S*) (?P<length>\S+)\s*",
    re.ASCII | re.IGNORECASE,
)


def read_arc_line(line: bytes) -> dict[str, str] | None:
    """The fields of a record that begins with this line; `None` where it is no line of ARC."""
    match = _LINE.fullmatch(line.decode("latin-1"))
    if match is None:
        return None
    url, date = match["url"], match["date"]
    kind = _kind(url)
    return {
        "warc-type": kind,
        "warc-target-uri": url,
        "warc-ip-address": match["ip"],
        "warc-date": f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[8:10]}:{date[10:12]}:{date[12:]}Z",
        "content-type": "application/http; msgtype=response" if kind == "response" else match["type"],
        "content-length": match["length"],
    }


def _kind(url: str) -> str:
    if url.startswith("filedesc:"):
        return "warcinfo"
    return "response" if url.startswith("http") else "resource"
