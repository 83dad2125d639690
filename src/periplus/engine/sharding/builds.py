"""Which versions of Periplus may run shards of one crawl together: adjacent ones, with the same formats.

`PROTOCOL` numbers the messages between processes, `FORMAT` the state. A release that only appends fields with defaults
changes neither. One that sends a new kind of message is preceded by a release that understands it; otherwise it raises
`PROTOCOL`, and the crawl has to be stopped for the upgrade.
"""

from __future__ import annotations

from typing import Final

from periplus import __version__
from periplus.store.state.marks import FORMAT

from ..versioned import VersionedMessage

PROTOCOL: Final = 1
"""The number of the message protocol."""


class Build(VersionedMessage, frozen=True):
    """The version that a process runs, and its formats. A worker posts it first of all."""

    version: str
    protocol: int
    state_format: str

    @classmethod
    def own(cls) -> Build:
        """That of this process."""
        return cls(__version__, PROTOCOL, FORMAT.decode("ascii"))

    def refusal(self, other: Build) -> str:
        """Why a process of another build may not run a shard beside this one; empty if it may."""
        if other.state_format != self.state_format:
            return f"its state has format {other.state_format}, and that of {self.version} has {self.state_format}"
        if other.protocol != self.protocol:
            return f"its messages have protocol {other.protocol}, and those of {self.version} have {self.protocol}"
        if not _are_adjacent(self.version, other.version):
            return f"only adjacent versions run together, and here is {self.version}"
        return ""


def _are_adjacent(one: str, other: str) -> bool:
    """Whether two versions are the same up to the patch number, or differ by one minor version."""
    mine, theirs = _minor(one), _minor(other)
    if mine is None or theirs is None:
        return one == other
    return mine[0] == theirs[0] and abs(mine[1] - theirs[1]) <= 1


def _minor(version: str) -> tuple[int, int] | None:
    parts = version.split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) > 1 and parts[0].isdecimal() and parts[1].isdecimal() else None
