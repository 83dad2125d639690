"""Whether a pattern matches a URL, and whether it could take forever.

In a glob `*` stands for anything and nothing else is special. Taking for each star the first place where what follows
it occurs is enough to find a match if there is one, so no star is ever tried twice: the time is linear, whatever the
pattern and the URL. How a pattern is written decides what it is compared with: the whole URL, the URL without its
scheme, or path and query (see `patterns`).

`backtracks` finds regular expressions that some text makes run forever: `(a+)+`, `(a|ab)*` and the like can split one
text in exponentially many ways, and a backtracking matcher tries them all. The test is on the text of the expression
and errs on the safe side: `(?:/a|/b)*` is harmless and is refused as well. Possessive repetitions (`++`, `*+`, Python
3.11) never look back and are fine. What is only polynomial passes: the length of a URL is bounded.
"""

from __future__ import annotations

import re
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


_TOKEN = re.compile(
    r"""
      \\.                                     # an escaped character
    | \[\^?\]?(?:\\.|[^\]\\])*+\]             # a class
    | \(\?\#[^)]*+\)                          # a comment
    | (?P<open>\()
    | (?P<close>\)) (?P<repeat>[*+]|\{\d*+,\d*+\})? (?P<possessive>\+)?
    | (?P<vary>[*+?|]|\{\d*+,\d*+\}) (?P<kept>\+)?
    | .
    """,
    re.VERBOSE | re.DOTALL,
)


def backtracks(expression: str) -> bool:
    """Whether a group that holds a repetition or alternatives is itself repeated, not possessively."""
    varies = [False]
    for token in _TOKEN.finditer(expression):
        if token["open"]:
            varies.append(False)
        elif token["close"] and len(varies) > 1:
            inside = varies.pop()
            if token["repeat"] and not token["possessive"] and inside:
                return True
            varies[-1] |= inside or bool(token["repeat"] and not token["possessive"])
        elif token["vary"] and not token["kept"]:
            varies[-1] = True
    return False
