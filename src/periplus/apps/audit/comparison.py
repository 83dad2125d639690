"""The difference between two audits of a site, what is new, fixed and remaining, and the trend over all its audits.

The last audit of each site is kept in the folder `audit` of the collection, with all examples; of earlier ones a few
numbers. A fault is known by its finding and its URL; a finding that is not about single URLs, or of which not all URLs
are known, is compared by its counts. Of every finding, the new and the remaining faults are all that there are now,
and the fixed and the remaining ones all that there were. What one of the audits could not check is neither new nor
fixed, and neither is the cost of a crawl, which differs from crawl to crawl.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from periplus.collection.announcing import NEW_FAULTS, announce
from periplus.collection.collection import CollectionSetup
from periplus.store.durable import write_file
from periplus.view.findings import Severity

from .embedded_files import FOLDER
from .results import Area, Audit, SiteFinding

MAX_FAULTS: Final = 10_000
"""Faults of one finding that are kept and compared: a file of some megabytes at most."""
MAX_ANNOUNCED: Final = 100
"""URLs of one finding in an announcement."""
MAX_TREND: Final = 200
"""Audits of a site of which numbers are kept: some 200 kB at most."""
_UNSAFE: Final = re.compile(r"[^a-z0-9.-]+")


def announce_faults(collection: CollectionSetup, found: Audit, comparison: AuditComparison | None) -> None:
    """Tell the parts which faults are new since the last audit, if any are."""
    if comparison is None or not comparison.new:
        return
    findings = [
        {"finding": change.name, "new": change.new_faults, "urls": change.new[:MAX_ANNOUNCED]}
        for change in comparison.changes
        if change.new_faults
    ]
    data = {"site": found.site, "new": comparison.new, "fixed": comparison.fixed, "findings": findings}
    announce(collection, NEW_FAULTS, data)


class FindingChange(msgspec.Struct, frozen=True):
    """One finding in both audits. `new` and `fixed` are URLs, as far as all are known; the counts are exact."""

    name: str
    new: tuple[str, ...]
    fixed: tuple[str, ...]
    remaining: int
    before: int
    after: int

    @property
    def new_faults(self) -> int:
        """How many faults are new."""
        return self.after - self.remaining

    @property
    def fixed_faults(self) -> int:
        """How many faults are fixed."""
        return self.before - self.remaining


class AuditComparison(msgspec.Struct, frozen=True):
    """All findings that either audit has. `before`: when the answers of the earlier audit were fetched."""

    before: float | None
    changes: tuple[FindingChange, ...]
    unknown: tuple[str, ...] = ()

    @property
    def new(self) -> int:
        """How many faults are new."""
        return sum(change.new_faults for change in self.changes)

    @property
    def fixed(self) -> int:
        """How many faults are fixed."""
        return sum(change.fixed_faults for change in self.changes)

    @property
    def remaining(self) -> int:
        """How many faults remain."""
        return sum(change.remaining for change in self.changes)

    @property
    def new_findings(self) -> frozenset[str]:
        """Names of the findings with faults that are new."""
        return frozenset(change.name for change in self.changes if change.new_faults)

    def states(self) -> Callable[[str, str], str]:
        """A function of finding and URL: `new` or `remaining`, or empty if that is not known."""
        changes = {change.name: change for change in self.changes}
        added = {change.name: frozenset(change.new) for change in self.changes}

        def state(name: str, url: str) -> str:
            change = changes.get(name)
            if change is None or (url and change.new_faults and change.remaining and not change.new):
                return ""
            return "new" if url in added[name] or not change.remaining else "remaining"

        return state


def compare(before: Audit, after: Audit) -> AuditComparison:
    """Compare two audits of a site, both with all examples (at most `MAX_FAULTS` of a finding)."""
    earlier = {found.name: found for found in before.findings if found.area is not Area.COST}
    later = {found.name: found for found in after.findings if found.area is not Area.COST}
    changes, unknown = [], []
    for name in dict.fromkeys([*later, *earlier]):
        if (name not in later and name in after.unjudged) or (name not in earlier and name in before.unjudged):
            unknown.append(name)
        else:
            changes.append(_change(name, earlier.get(name), later.get(name)))
    return AuditComparison(before.seen_until, tuple(changes), tuple(unknown))


def _change(name: str, before: SiteFinding | None, after: SiteFinding | None) -> FindingChange:
    counts = (before.count if before else 0), (after.count if after else 0)
    old, new = _faults(before), _faults(after)
    if old is None or new is None:
        return FindingChange(name, (), (), min(counts), *counts)
    remaining = old & new
    added, removed = (tuple(sorted(url for url in each if url or not remaining)) for each in (new - old, old - new))
    return FindingChange(name, added, removed, remaining.total(), *counts)


def _faults(found: SiteFinding | None) -> Counter[str] | None:
    """How many faults each URL has; the empty URL has those that are not about one. `None` if not all are known."""
    if found is None:
        return Counter()
    if not any(example.url for example in found.examples):
        return Counter({"": found.count})
    return Counter(example.url for example in found.examples) if len(found.examples) == found.count else None


def load_last(folder: Path, site: str) -> Audit | None:
    """The last audit of a site that a collection keeps."""
    return read_audit(kept_path(folder, site, "last"))


def read_audit(path: Path) -> Audit | None:
    """An audit from a file, as kept in a collection or as printed by `--json`; `None` if it is not one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Audit)
    except (OSError, msgspec.MsgspecError):
        return None


def save_last(folder: Path, audit: Audit) -> None:
    """Keep an audit as the last one of its site."""
    path = kept_path(folder, audit.site, "last")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, msgspec.json.encode(audit))


class TrendPoint(msgspec.Struct, frozen=True):
    """One audit of many: when its answers were fetched, pages, findings by severity, and faults by finding.

    `new` and `fixed` are null for the first audit. The cost of the crawl is left out.
    """

    at: float
    pages: int
    errors: int
    warnings: int
    notices: int
    faults: dict[str, int]
    new: int | None = None
    fixed: int | None = None


def load_trend(folder: Path, site: str) -> tuple[TrendPoint, ...]:
    """All audits of a site that a collection keeps, the oldest first; none if the file is missing or damaged."""
    try:
        return msgspec.json.decode(kept_path(folder, site, "trend").read_bytes(), type=tuple[TrendPoint, ...])
    except (OSError, msgspec.MsgspecError):
        return ()


def with_audit(trend: Sequence[TrendPoint], audit: Audit, comparison: AuditComparison | None) -> tuple[TrendPoint, ...]:
    """A trend with one more audit. Another audit of the same answers takes the place of the last; old ones are thinned.

    At most `MAX_TREND` are kept: above that, every second of the older half is dropped.
    """
    if not audit.pages or audit.seen_until is None:
        return tuple(trend)
    findings = [found for found in audit.findings if found.area is not Area.COST]
    severities = Counter(found.severity for found in findings)
    point = TrendPoint(
        at=audit.seen_until,
        pages=audit.pages,
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        notices=severities[Severity.NOTICE],
        faults={found.name: found.count for found in findings},
        new=None if comparison is None else comparison.new,
        fixed=None if comparison is None else comparison.fixed,
    )
    earlier = [each for each in trend if each.at < point.at]
    if len(trend) > len(earlier):
        point = msgspec.structs.replace(point, new=trend[-1].new, fixed=trend[-1].fixed)
    if len(earlier) >= MAX_TREND:
        half = len(earlier) // 2
        earlier = [*earlier[:half:2], *earlier[half:]]
    return (*earlier, point)


def save_trend(folder: Path, site: str, trend: Sequence[TrendPoint]) -> None:
    """Keep the trend of a site."""
    path = kept_path(folder, site, "trend")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, msgspec.json.encode(trend))


def kept_path(folder: Path, site: str, what: str, ending: str = "json") -> Path:
    """The file in which audits of a site keep something."""
    return folder / FOLDER / f"{what}-{_UNSAFE.sub('_', site.lower())}.{ending}"
