"""Faults with robots.txt."""

from __future__ import annotations

from tests.conformance_lab.small_crawler import SmallCrawler


class IgnoresRobots(SmallCrawler):
    """Never asks for robots.txt."""

    def is_allowed(self, url: str) -> bool:
        """All is allowed."""
        return True


class ObeysEveryGroup(SmallCrawler):
    """Takes the rules of every group for its own."""

    def is_allowed(self, url: str) -> bool:
        """Nothing that is disallowed for anybody."""
        parser = self.rules_of(url)
        groups = [*parser.entries, parser.default_entry]  # type: ignore[attr-defined]
        path = "/" + "/".join(url.split("/")[3:])
        return all(group is None or group.allowance(path) for group in groups)


FAULTS = {"ignores-robots": IgnoresRobots, "obeys-every-group": ObeysEveryGroup}
FAILS = {
    "longest-match": "ignores-robots",
    "allow-wins-a-tie": "-",
    "wildcard": "ignores-robots",
    "end-of-pattern": "ignores-robots",
    "query": "ignores-robots",
    "own-group": "ignores-robots",
    "own-group-replaces-star": "obeys-every-group",
    "groups-are-combined": "ignores-robots",
}
"""The fault that fails each case; `-`: what Python's library does."""
