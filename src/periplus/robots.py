"""robots.txt for programs: read a file, ask what it allows, write one (RFC 9309 and the common extensions).

    robots = periplus.robots.parse(body)
    robots.allows("Foobot", "https://example.org/private/")

A thin public module: `periplus.formats.robots` does the work and lists the reasons of problems.
"""

from periplus.formats.robots import (
    Access,
    CleanParam,
    Group,
    RequestRate,
    Robots,
    Rule,
    Ruling,
    VisitTime,
    parse,
    write,
)

__all__ = ["Access", "CleanParam", "Group", "RequestRate", "Robots", "Rule", "Ruling", "VisitTime", "parse", "write"]
