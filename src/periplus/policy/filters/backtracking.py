"""Finds regular expressions that may take exponential time: a group that varies inside, repeated without a bound.

`(a+)+`, `(a|ab)*` and similar can split one text in exponentially many ways, and a backtracking matcher tries them all.
The test looks at the text of the expression and errs on the safe side: `(?:/a|/b)*` is harmless and is refused as well.
A repetition that ends an atomic group, `(?>(a+)+)`, or is possessive, `(a+)++`, never goes back and is allowed. Atomic
groups are the better choice: Python before 3.11.5 misreads possessive groups. Polynomial time is accepted: the length
of a URL is bounded.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
      \\.                                     # an escaped character
    | \[\^?\]?(?>(?:\\.|[^\]\\])*)\]          # a class
    | \(\?\#[^)]*+\)                          # a comment
    | (?P<open>\() (?P<atomic>\?>)?
    | (?P<close>\)) (?P<repeat>[*+]|\{\d*+,\d*+\})? (?P<possessive>\+)? (?P<is_last>(?=\)))?
    | (?P<vary>[*+?|]|\{\d*+,\d*+\}) (?P<kept>\+)?
    | .
    """,
    re.VERBOSE | re.DOTALL,
)


def backtracks(expression: str) -> bool:
    """Whether a group that holds a repetition or alternatives is itself repeated in a way that can go back."""
    varies, atomic = [False], [False]
    for token in _TOKEN.finditer(expression):
        if token["open"]:
            varies.append(False)
            atomic.append(token["atomic"] is not None)
        elif token["close"] and len(varies) > 1:
            inside = varies.pop()
            atomic.pop()
            is_kept = token["possessive"] or (token["is_last"] is not None and atomic[-1])
            if token["repeat"] and not is_kept and inside:
                return True
            varies[-1] |= inside or bool(token["repeat"] and not is_kept)
        elif token["vary"] and not token["kept"]:
            varies[-1] = True
    return False
