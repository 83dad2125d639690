"""Regular expressions that some text makes run for ever: a group that varies inside, repeated without a bound.

`(a+)+`, `(a|ab)*` and their like can split one text in exponentially many ways, and a backtracking matcher tries them
all. The test is on the text of the expression and errs on the safe side: `(?:/a|/b)*` is harmless and is refused as
well. Possessive repetitions (`++`, `*+`, Python 3.11) never look back and are fine. What is only polynomial passes: the
length of a URL is bounded.
"""

from __future__ import annotations

import re

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
