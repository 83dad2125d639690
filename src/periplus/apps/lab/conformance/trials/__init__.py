"""All trials, by group, in the order in which they are listed."""

from ..cases import TRIALS
from . import robots, safety

__all__ = ["TRIALS", "robots", "safety"]
