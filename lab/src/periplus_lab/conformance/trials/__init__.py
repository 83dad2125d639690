"""All trials, by group, in the order in which they are listed."""

from ..cases import REGISTERED
from . import drowning, finding, freshness, life, load, robots, safety

__all__ = ["GROUPS", "TRIALS", "drowning", "finding", "freshness", "life", "load", "robots", "safety"]

GROUPS = {
    "robots": "robots.txt",
    "load": "load",
    "finding": "finding pages",
    "drowning": "not drowning",
    "freshness": "freshness",
    "safety": "safety",
    "life": "kills and faults",
}
"""The groups in their order, and what they are called in tables."""

TRIALS = {each.full_name: each for group in GROUPS for each in REGISTERED if each.group == group}
"""Every trial by `group/trial`."""
