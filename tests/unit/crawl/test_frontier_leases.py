"""Who has what, and until when."""

from __future__ import annotations

from msgspec.structs import replace

from periplus.crawl.frontier import Lease, Leases
from periplus.model import FetchTask, Lane, Purpose, Site, Url

TASK = FetchTask(Url("https://a.test/"), Site("a.test"), Purpose.PAGE, Lane.DISCOVERY, 10.0)


def lease(task: FetchTask) -> Lease:
    return Lease(task, None, task.site)


def test_a_lease_ends_once() -> None:
    """A second report of one task finds nobody who waits for it."""
    leases = Leases()
    leases.grant(lease(TASK))
    assert leases.end(TASK) is not None
    assert leases.end(TASK) is None
    assert leases.next_end is None


def test_a_task_that_travelled_is_still_the_same() -> None:
    """Tasks are compared by value: one that went through a journal ends its lease."""
    leases = Leases()
    leases.grant(lease(TASK))
    assert leases.end(replace(TASK)) is not None


def test_what_is_over_is_over() -> None:
    """A report after the lease, when another has the URL, does not end the other's."""
    leases = Leases()
    leases.grant(lease(TASK))
    assert leases.expired(9.9) == []
    assert [each.task for each in leases.expired(10.0)] == [TASK]
    second = replace(TASK, lease_ends_at=20.0)
    leases.grant(lease(second))
    assert leases.end(TASK) is None
    assert leases.next_end == 20.0


def test_leases_that_ended_well_take_no_room() -> None:
    """Memory grows with what is out, not with what was."""
    leases = Leases()
    for number in range(20_000):
        task = replace(TASK, url=Url(f"https://a.test/{number}"), lease_ends_at=1e9 - number)
        leases.grant(lease(task))
        leases.end(task)
    assert leases.weight < 100
