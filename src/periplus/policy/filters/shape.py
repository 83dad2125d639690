"""Bounds on the shape of a URL, checked on the string alone.

Reasons: `scheme`, `too-long`, `path-depth`, `repeated-segment`.

Relative links that lost their slash make paths such as `/about/news/about/news/about/`: a segment that is there for the
third time is the sign of it, next to itself or not (cf. IRLbot, Lee et al. 2009; Olston & Najork 2010, section 6.2).
Segments of figures alone are exempt, for dates repeat: `/11/11/11/`. A name that stands twice at the beginning, as
owner and project do (`/scipy/scipy/blob/main/scipy/`), counts once. Guards that learn from what was fetched are in
`traps`.
"""

from __future__ import annotations

from msgspec import Struct

from ...model import Discovery, Reject, Source, Verdict
from .verdicts import ACCEPT

_REMEMBERED = 65_536
_LONGEST_REMEMBERED = 200


class ShapeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of a URL."""

    max_length: int = 2000
    """Maximum characters."""
    max_segments: int = 16
    """Maximum segments of the path."""
    max_repeats: int = 2
    """Maximum occurrences of one segment in a path."""


class Shape:
    """Refuses URLs that are too long, too deep or that go in circles. For seeds only scheme and length count.

    The URLs of a page share few directories. One that leaves room for any last segment is remembered, and URLs in it
    are not cut to pieces again.
    """

    def __init__(self, settings: ShapeSettings | None = None) -> None:
        self._settings = settings or ShapeSettings()
        self._max_length = self._settings.max_length
        self._harmless: set[str] = set()

    def judge(self, discovery: Discovery) -> Verdict:
        """By length, scheme, number of segments and their repetition."""
        url = discovery.url
        if len(url) > self._max_length:
            return Reject("too-long", f"max_length = {self._max_length}")
        directory = (url if "?" not in url else url.partition("?")[0]).rpartition("/")[0]
        if directory in self._harmless:
            return ACCEPT
        return self._judge_parts(discovery, directory)

    def _judge_parts(self, discovery: Discovery, directory: str) -> Verdict:
        url = discovery.url
        if not url.startswith(("https://", "http://")):
            return Reject("scheme", "http and https only")
        if self._complaint(directory.split("/")[3:], room=1) is None:
            self._remember(directory)
            return ACCEPT
        segments = url.partition("?")[0].split("/")[3:]
        complaint = self._complaint(segments if segments[-1] else segments[:-1], room=0)
        return ACCEPT if complaint is None or discovery.source is Source.SEED else complaint

    def _remember(self, directory: str) -> None:
        if len(self._harmless) >= _REMEMBERED:
            self._harmless.clear()
        if len(directory) <= _LONGEST_REMEMBERED:
            self._harmless.add(directory)

    def _complaint(self, segments: list[str], room: int) -> Reject | None:
        """What is wrong with a path that has `room` more segments."""
        settings = self._settings
        if len(segments) + room > settings.max_segments:
            return Reject("path-depth", f"max_segments = {settings.max_segments}")
        if len(segments) > 2 and segments[0] == segments[1] != segments[2]:
            segments = segments[1:]
        for segment in dict.fromkeys(segments):
            if segments.count(segment) + room > settings.max_repeats and not segment.isdecimal():
                return Reject("repeated-segment", segment[:80])
        return None
