"""Pages that redirect: meta refresh, the Refresh field, and scripts that plainly do nothing else.

Both kinds of refresh are read by the "shared declarative refresh steps" of the HTML Standard. A refresh inside
`<noscript>` does not count: it is for readers without scripts, and mostly leads to a page that asks them to enable
scripts.

Scripts are not run. A redirect is taken from a script only where it is plain to see: a small inline script that,
outside of any function, condition or other bracket, assigns a literal to `location` or passes one to
`location.replace` or `location.assign`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from periplus.model import Refresh, Url

from .facts import is_equivalent
from .scan.columns import MAX_SCRIPT, Head

_MAX_DELAY: Final = 10**9
_REFRESH: Final = re.compile(r"[\t\n\f\r ]*+(?:([0-9]++)|(?=\.))[0-9.]*+(?:$|(?=[;,\t\n\f\r ]))")
_SEPARATOR: Final = re.compile(r"[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+")
_URL_EQUALS: Final = re.compile(r"url[\t\n\f\r ]*+=[\t\n\f\r ]*+", re.IGNORECASE | re.ASCII)
_NOISE: Final = re.compile(r"""("[^"\n]*"|'[^'\n]*')|<!--|-->|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_MAY_GO: Final = re.compile(r"location\s*(?:\.\s*href\s*)?=[^=]|location\s*\.\s*(?:replace|assign)\s*\(")
_STRING: Final = r"""(?:"([^"\\\n<>]*)"|'([^'\\\n<>]*)')"""
_GO: Final = re.compile(
    r"(?:^|;|(?<!\))(?<!else)\n)\s*(?:(?:window|document|self|top|parent)\s*\.\s*)?location\s*"
    rf"(?:(?:\.\s*href\s*)?=\s*{_STRING}|\.\s*(?:replace|assign)\s*\(\s*{_STRING}\s*\))\s*(?=[;\n]|$)"
)


def read_refresh(content: str) -> tuple[int, str | None] | None:
    """Seconds and the URL as written (`None`: the page itself) of a refresh; `None` if it is not a valid one."""
    start = _REFRESH.match(content)
    if start is None:
        return None
    delay = min(int((start[1] or "0")[:10]), _MAX_DELAY)
    separator = _SEPARATOR.match(content, start.end())
    at = separator.end() if separator else start.end()
    if at >= len(content):
        return delay, None
    prefix = _URL_EQUALS.match(content, at)
    if prefix is None and content[at] not in "\"'":
        return delay, content[at:]
    if prefix is not None:
        at = prefix.end()
    if content[at : at + 1] in ('"', "'"):
        return delay, content[at + 1 :].partition(content[at])[0]
    return delay, content[at:]


class Onward(NamedTuple):
    """Where a page redirects, as written: by a refresh after `delay` seconds, and by a script."""

    delay: int | None
    target: str | None
    script: str | None

    @property
    def hrefs(self) -> list[str]:
        """The links to resolve, if any: the target of the refresh, and that of the script."""
        return [self.target or "", self.script or ""] if self.target or self.script else []


_NOWHERE: Final = Onward(None, None, None)


def read_onward(head: Head, header: str = "") -> Onward:
    """Where a page redirects: its first refresh, and the first of its scripts that plainly redirects.

    `header` is the Refresh field of the answer, which comes before all of the page.
    """
    if not (head.metas or head.scripts or header):  # as nearly all pages
        return _NOWHERE
    refresh = read_refresh(header) if header else None
    for _, attributes, is_in_noscript, _ in head.metas:
        if "http-equiv" in attributes and not is_in_noscript and is_equivalent(attributes["http-equiv"], "refresh"):
            refresh = refresh or read_refresh(attributes.get("content") or "")
    delay, target = refresh or (None, None)
    return Onward(delay, target, next(filter(None, [redirect_in(script.content) for script in head.scripts]), None))


def redirects_of(onward: Onward, urls: list[Url | None]) -> tuple[Refresh | None, Url | None]:
    """The refresh and the redirect of a page, given what `onward.hrefs` became."""
    if onward is _NOWHERE:
        return None, None
    url, script = urls or (None, None)
    is_refresh = onward.delay is not None and (url is not None or not onward.target)
    return (
        Refresh(float(onward.delay or 0), url if onward.target else None) if is_refresh else None,
        script if onward.script else None,
    )


def redirect_in(script: str) -> str | None:
    """The URL to which a script plainly redirects, as written."""
    if len(script) > MAX_SCRIPT or not _MAY_GO.search(script):
        return None
    plain = _NOISE.sub(lambda noise: noise[1] or " ", script)
    found = _GO.search(_outside_braces(re.sub(r"\s*\n\s*", "\n", plain)))
    return next((group for group in found.groups() if group), None) if found else None


def _outside_braces(script: str) -> str:
    """A script with every outermost pair of braces emptied: no functions, conditions or objects remain."""
    kept, depth = [], 0
    for part in re.split(r"([{}])", script):
        if part == "}":
            depth = max(0, depth - 1)
        if depth == 0:
            kept.append(part)
        if part == "{":
            depth += 1
    return "".join(kept)
