"""Every bug of the two lists can be planted: its line is in the source, once."""

from __future__ import annotations

from tests.faults import planted as faults
from tests.meeting import planted as meetings


def test_every_bug_has_its_line() -> None:
    """A line that was rewritten takes its bug along, or nothing is proved any more."""
    bugs = (*faults.BUGS, *meetings.BUGS, *meetings.MISSED)
    assert len(bugs) > 50
    counts = {bug.name: (faults.ROOT / "src" / "periplus" / bug.path).read_text().count(bug.old) for bug in bugs}
    assert {name: count for name, count in counts.items() if count != 1} == {}
