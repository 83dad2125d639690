"""All trials, by group, in the order in which they are listed."""

from ..cases import TRIALS
from . import robots

__all__ = ["TRIALS", "robots"]
