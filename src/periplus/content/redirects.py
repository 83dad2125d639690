"""Pages that send their reader on: meta refresh, and scripts whose one plain purpose is to go elsewhere.

Meta refresh is read by the "shared declarative refresh steps" of the HTML Standard. A refresh inside `<noscript>` does
not count: it is for readers without scripts, and mostly leads to a page that asks them to have some.

Scripts are not run. A redirect is taken from a script only where it is plain to see: a small inline script that,
outside of any function, condition or other bracket, assigns a literal to `location` or hands one to
`location.replace` or `location.assign`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from ..model import Refresh, Url
from .facts import Meta, is_in_noscript

MAX_SCRIPT: Final = 2000
MAX_REDIRECT_PAGE: Final = 1 << 14
"""A page that is there to send its readers on is small; in a larger one, scripts are not looked at."""
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
    """Seconds and the URL as written (`None`: the page itself) of a refresh; `None` for what is none."""
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
    """Where a page sends its reader, as written: by a refresh after so many seconds, and by a script."""

    delay: int | None
    target: str | None
    script: str | None

    @property
    def hrefs(self) -> list[str]:
        """What is to be resolved, if anything is: the target of the refresh, and that of the script."""
        return [self.target or "", self.script or ""] if self.target or self.script else []


def read_onward(metas: Sequence[Meta], scripts: Sequence[LexborNode], size: int) -> Onward:
    """What the elements of a page of this size say."""
    delay, target = refresh_of(metas) or (None, None)
    return Onward(delay, target, script_redirect(scripts) if size <= MAX_REDIRECT_PAGE else None)


def redirects_of(onward: Onward, urls: list[Url | None]) -> tuple[Refresh | None, Url | None]:
    """The refresh and the redirect of a page, given what `onward.hrefs` became."""
    url, script = urls or (None, None)
    is_refresh = onward.delay is not None and (url is not None or not onward.target)
    return (
        Refresh(float(onward.delay or 0), url if onward.target else None) if is_refresh else None,
        script if onward.script else None,
    )


def refresh_of(metas: Sequence[Meta]) -> tuple[int, str | None] | None:
    """The first refresh among the `<meta>` elements of a page."""
    for node, attributes in metas:
        if (attributes.get("http-equiv") or "").strip().lower() == "refresh" and not is_in_noscript(node):
            refresh = read_refresh(attributes.get("content") or "")
            if refresh is not None:
                return refresh
    return None


def script_redirect(scripts: Sequence[LexborNode]) -> str | None:
    """The URL as written to which the first script that plainly redirects sends its reader."""
    for node in scripts:
        if node.attributes.get("src") is None and (target := redirect_in(node.text_lexbor())):
            return target
    return None


def redirect_in(script: str) -> str | None:
    """Where a script plainly goes, if it does."""
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
