"""All trials, by group, in the order in which they are listed."""

from ..cases import TRIALS
from . import robots, safety

from . import life  # isort: skip - the last group

__all__ = ["TRIALS", "life", "robots", "safety"]
