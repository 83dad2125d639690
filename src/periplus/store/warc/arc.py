"""ARC, the form of web archives before WARC (Burner and Kahle 1996): read only, as if it were WARC.

A record is one line, `URL IP-address Archive-date Content-type Archive-length`, and its block; in version 2 there are
five more words before the length. The first record, whose URL is `filedesc://...`, describes the file. What the line
says is told in the fields that WARC has for it. Some writers left spaces in URLs and parameters in content types.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_LINE: Final = 1 << 16

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,31}:[^\r\n]*", re.ASCII | re.IGNORECASE)
_DATE: Final = re.compile(r"\d{14,20}", re.ASCII)


def read_arc_line(line: bytes) -> dict[str, str] | None:
    """The fields of a record that begins with this line; `None` where it is not a line of ARC."""
    words = line.decode("latin-1").rstrip().split(" ")
    place = next((place for place in range(len(words) - 2, 1, -1) if _DATE.fullmatch(words[place])), None)
    url = " ".join(words[: place - 1]) if place else ""
    if place is None or len(words) < place + 3 or not _URL.fullmatch(url):
        return None
    date, kind = words[place], _kind(url)
    return {
        "warc-type": kind,
        "warc-target-uri": url,
        "warc-ip-address": words[place - 1],
        "warc-date": f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[8:10]}:{date[10:12]}:{date[12:14]}Z",
        "content-type": "application/http; msgtype=response" if kind == "response" else words[place + 1].rstrip(";"),
        "content-length": words[-1],
    }


def _kind(url: str) -> str:
    if url.startswith("filedesc:"):
        return "warcinfo"
    return "response" if url.startswith("http") else "resource"
