"""Hosts that are hostile or broken, each under a name of its own below `hostile.lab.test`.

Every misbehaviour that a crawler meets outside has one host here, so that a test, a person with curl, or another
crawler can meet it alone. Each is a small pure function from a request to an `Answer` (ordinary HTTP with bad news in
it) or a `Script` (bytes, waits and resets that no ordinary server would send), registered by its name with a docstring
that says what it does and what a good crawler does about it. The files are by kind: `slowness`, `bombs`, `lies`,
`robots`, `redirects`, `refusals`, `cuts` (with the TLS ones) and `xml`. Traps that are made of ordinary pages
(calendars, facets, sessions, spam) are sites of the world.
"""

from . import bombs, cuts, lies, redirects, refusals, robots, slowness, xml
from .script import DOMAIN, REGISTRY, Action, Hostile, Reset, Script, Wait, perform

__all__ = [
    "DOMAIN",
    "REGISTRY",
    "Action",
    "Hostile",
    "Reset",
    "Script",
    "Wait",
    "bombs",
    "cuts",
    "lies",
    "perform",
    "redirects",
    "refusals",
    "robots",
    "slowness",
    "xml",
]
