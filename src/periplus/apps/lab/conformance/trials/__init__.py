"""All trials, by group, in the order in which they are listed."""

from ..cases import TRIALS
from . import robots

from . import drowning  # isort: skip

__all__ = ["TRIALS", "drowning", "robots"]
