"""The difference between two audits of a site: what is new, what is fixed, and what remains.

The last audit of each site is kept in the folder `audit` of the collection, with all examples. A fault is known by its
finding and its URL; findings that are not about single URLs count as one fault. What one of the audits could not check
is neither new nor fixed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from periplus.store.durable import write_file

from .embedded_files import FOLDER
from .results import Audit, SiteFinding

MAX_FAULTS: Final = 10_000
"""Faults of one finding that are kept and compared: a file of some megabytes at most."""
_UNSAFE: Final = re.compile(r"[^a-z0-9.-]+")


class FindingChange(msgspec.Struct, frozen=True):
    """One finding in both audits. `new` and `fixed` are URLs; counts are exact where the lists are not complete."""

    name: str
    new: tuple[str, ...]
    fixed: tuple[str, ...]
    remaining: int
    before: int
    after: int


class AuditComparison(msgspec.Struct, frozen=True):
    """All findings that either audit has. `before`: when the answers of the earlier audit were fetched."""

    before: float | None
    changes: tuple[FindingChange, ...]
    unknown: tuple[str, ...] = ()

    @property
    def new(self) -> int:
        """How many faults are new."""
        return sum(max(len(change.new), change.after - change.before) for change in self.changes)

    @property
    def fixed(self) -> int:
        """How many faults are fixed."""
        return sum(max(len(change.fixed), change.before - change.after) for change in self.changes)

    @property
    def remaining(self) -> int:
        """How many faults remain."""
        return sum(change.remaining for change in self.changes)

    def is_new(self, name: str, url: str) -> bool:
        """Whether a fault was not in the earlier audit."""
        return any(change.name == name and url in change.new for change in self.changes)


def compare(before: Audit, after: Audit) -> AuditComparison:
    """Compare two audits of a site, both with all examples (at most `MAX_FAULTS` of a finding)."""
    earlier = {found.name: found for found in before.findings}
    later = {found.name: found for found in after.findings}
    names = [found.name for found in (*after.findings, *before.findings)]
    changes, unknown = [], []
    for name in dict.fromkeys(names):
        if (name not in later and name in after.unjudged) or (name not in earlier and name in before.unjudged):
            unknown.append(name)
        else:
            changes.append(_change(name, earlier.get(name), later.get(name)))
    return AuditComparison(before.seen_until, tuple(changes), tuple(unknown))


def _change(name: str, before: SiteFinding | None, after: SiteFinding | None) -> FindingChange:
    old, new = _faults(before), _faults(after)
    counts = (before.count if before else 0), (after.count if after else 0)
    if old is None or new is None:
        return FindingChange(name, (), (), min(counts), *counts)
    added = tuple(sorted(new - old))
    return FindingChange(name, added, tuple(sorted(old - new)), len(old & new), *counts)


def _faults(found: SiteFinding | None) -> frozenset[str] | None:
    """The URLs of a finding, or one empty URL if it has none; `None` if they are not all known."""
    if found is None:
        return frozenset()
    urls = frozenset(example.url for example in found.examples)
    if urls - {""}:
        return urls if len(found.examples) >= found.count else None
    return frozenset({""}) if not found.examples or urls == {""} else None


def load_last(folder: Path, site: str) -> Audit | None:
    """The last audit of a site that a collection keeps."""
    return read_audit(_path(folder, site))


def read_audit(path: Path) -> Audit | None:
    """An audit from a file, as kept in a collection or as printed by `--json`; `None` if it is not one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Audit)
    except (OSError, msgspec.MsgspecError):
        return None


def save_last(folder: Path, audit: Audit) -> None:
    """Keep an audit as the last one of its site."""
    path = _path(folder, audit.site)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, msgspec.json.encode(audit))


def _path(folder: Path, site: str) -> Path:
    return folder / FOLDER / f"last-{_UNSAFE.sub('_', site.lower())}.json"
