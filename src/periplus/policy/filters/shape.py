"""What a URL that leads nowhere looks like: guards that need nothing but the string.

Reasons: `scheme`, `too-long`, `path-depth`, `repeated-segment`.

Relative links that lost their slash make paths such as `/about/news/about/news/about/`: a segment that is there for the
third time is the sign of it, next to itself or not (cf. IRLbot, Lee et al. 2009; Olston & Najork 2010, section 6.2).
Segments of figures alone are exempt, for dates repeat: `/11/11/11/`. Guards that learn from what was fetched are in
`traps`.
"""

from __future__ import annotations

from msgspec import Struct

from ...model import Discovery, Reject, Source, Verdict
from .verdicts import ACCEPT


class ShapeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of a URL."""

    max_length: int = 2000
    """Characters. Patterns are matched only against URLs within it, so it bounds their cost as well."""
    max_segments: int = 16
    """Segments of the path."""
    max_repeats: int = 2
    """How often one segment may be in a path."""


class Shape:
    """Refuses URLs that are too long, too deep or that go in circles. For seeds only scheme and length count."""

    def __init__(self, settings: ShapeSettings | None = None) -> None:
        self._settings = settings = settings or ShapeSettings()
        self._max_length = settings.max_length
        self._max_repeats = settings.max_repeats
        # "https://host" holds two slashes and every segment brings one: with fewer, nothing can be wrong.
        self._fewest_slashes = 3 + min(settings.max_segments, settings.max_repeats)

    def judge(self, discovery: Discovery) -> Verdict:
        """By length, scheme, number of segments and their repetition."""
        url = discovery.url
        if len(url) > self._max_length:
            return Reject("too-long", f"more than {self._max_length} characters")
        if not url.startswith(("https://", "http://")):
            return Reject("scheme", "http and https only")
        if url.count("/") < self._fewest_slashes:
            return ACCEPT
        query = url.find("?")
        parts = (url if query < 0 else url[:query]).split("/")
        if len(parts) - 4 < self._settings.max_segments and len(parts) - len(set(parts)) < self._max_repeats:
            return ACCEPT  # a segment that is there n times makes n - 1 parts more than there are different ones
        return ACCEPT if discovery.source is Source.SEED else self._judge_path(parts[3:])

    def _judge_path(self, segments: list[str]) -> Verdict:
        if not segments[-1]:
            segments = segments[:-1]
        if len(segments) > self._settings.max_segments:
            return Reject("path-depth", f"more than {self._settings.max_segments} segments")
        for segment in sorted(set(segments)):
            if not segment.isdecimal() and segments.count(segment) > self._max_repeats:
                return Reject("repeated-segment", segment[:80])
        return ACCEPT
