"""All trials, by group, in the order in which they are listed."""

from ..cases import TRIALS
from . import finding, freshness, robots

__all__ = ["TRIALS", "finding", "freshness", "robots"]
