"""Hosts that are hostile or broken, each under a name of its own below `hostile.lab.test`.

Every misbehaviour that a crawler encounters on the web has one host here, so that a test, a person with curl, or
another crawler can try it alone. Each is a small pure function from a request to an `Answer` (well-formed HTTP with bad
content) or a `Script` (bytes, waits and resets that no ordinary server would send), registered by its name with a
docstring that states what it does and what a good crawler does about it: `connections` has those below HTTP (slow, cut,
lying, bombs, TLS), `answers` those in well-formed HTTP (redirects, refusals, robots.txt, XML). Traps that are made of
ordinary pages (calendars, facets, sessions, spam) are sites of the world.
"""

from . import answers, connections
from .script import DOMAIN, REGISTRY, Action, Hostile, Reset, Script, Wait, perform

__all__ = [
    "DOMAIN",
    "REGISTRY",
    "Action",
    "Hostile",
    "Reset",
    "Script",
    "Wait",
    "answers",
    "connections",
    "perform",
]
