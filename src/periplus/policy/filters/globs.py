"""Simple patterns over URLs, in which `*` stands for anything and nothing else is special.

Taking for each star the first place where what follows it occurs is enough to find a match if there is one, so no star
is ever tried twice: the time is linear, whatever the pattern and the URL. How a pattern is written decides what it is
laid upon: the whole URL, the URL behind its scheme, or path and query (see `patterns`).
"""

from __future__ import annotations

from collections.abc import Callable


def glob(pattern: str) -> Callable[[str], bool]:
    """A function that says whether a URL matches from end to end."""
    matches = _matcher(pattern)
    if pattern.startswith("/"):
        return lambda url: matches(url[url.index("/", 8) :])
    if "://" not in pattern and not pattern.startswith("*"):
        return lambda url: matches(url.partition("://")[2])
    return matches


def _matcher(pattern: str) -> Callable[[str], bool]:
    first, *others = pattern.split("*")
    if not others:
        return pattern.__eq__
    middle, last = [piece for piece in others[:-1] if piece], others[-1]
    if len(middle) == 1 and not first and not last:
        piece = middle[0]
        return lambda text: piece in text

    def matches(text: str) -> bool:
        if not text.startswith(first):
            return False
        end = len(first)
        for piece in middle:
            start = text.find(piece, end)
            if start < 0:
                return False
            end = start + len(piece)
        return text.endswith(last) and len(text) - len(last) >= end

    return matches
