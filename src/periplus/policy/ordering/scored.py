"""A program's own ordering: the function given as `score=`."""

from __future__ import annotations

import math

from ...model import Discovery, UsageError
from ..found import Score, failed_call, found_of
from .levels import LAST_LEVEL, ZERO_LEVEL
from .worth import ByWorth

_STEPS = LAST_LEVEL - ZERO_LEVEL
"""Number of levels between the scores 1 and 0: those that `levels` gives to whole numbers below zero."""


class Scored(ByWorth):
    """URLs by the score of a function, from 1 (first) to 0 (last); equal scores in the order of discovery.

    Scores outside that range count as 0 or 1. Differences of less than 1/127 may not count.
    """

    def __init__(self, score: Score) -> None:
        self._score = score

    def score(self, discovery: Discovery) -> float:
        """Ask the function. Raises `UsageError` if it raises or returns something other than a number."""
        try:
            value = float(self._score(discovery.url, found_of(discovery)))
        except Exception as error:
            raise failed_call("score", discovery.url, error) from error
        if math.isnan(value):
            raise UsageError(f"score= returned NaN for {discovery.url}", hint="return a number from 0 to 1")
        return (min(max(value, 0.0), 1.0) - 1.0) * _STEPS
