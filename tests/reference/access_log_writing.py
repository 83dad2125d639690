"""Lines of access logs as Apache writes them, for `periplus.formats.access_log` to read back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from math import floor

from periplus.formats.access_log import LoggedRequest

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_UNSAFE = re.compile(rb'[\x00-\x1f\x7f-\xff"\\]')
_UNSAFE_IN_WORD = re.compile(rb'[\x00-\x20\x7f-\xff"\\\[]')


def write(hit: LoggedRequest) -> str:
    """A line in `combined`, or `vhost_combined` where the host is known, in UTC, without its end."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=floor(hit.at))
    when = f"{moment.day:02}/{_MONTHS[moment.month - 1]}/{moment.year:04}:{moment:%H:%M:%S} +0000"
    who = [_escaped_word(hit.ip), "-", _escaped_word(hit.user)]
    if hit.host:
        who.insert(0, _escaped_word(hit.host))
    request = " ".join(word for word in (hit.method, hit.path, hit.protocol) if word)
    result = f"{hit.status:03} {hit.size}"
    return f'{" ".join(who)} [{when}] "{_escaped(request)}" {result} "{_escaped(hit.referrer)}" "{_escaped(hit.agent)}"'


def _escaped(text: str, unsafe: re.Pattern[bytes] = _UNSAFE) -> str:
    """As Apache escapes, so that no field can end early or begin a line of its own; a dash for nothing."""
    return unsafe.sub(lambda match: b"\\x%02x" % match[0][0], text.encode("utf-8", "replace")).decode() or "-"


def _escaped_word(text: str) -> str:
    """What stands outside quotes cannot hold a space either, nor the bracket that opens the time."""
    return _escaped(text, _UNSAFE_IN_WORD)
