"""Open leases: what is out, and until when."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.engine.frontier.opened_frontier import FrontierOptions, OpenedFrontier

from periplus.engine.frontier import Lease, Leases, PolitenessSettings, RetrySettings
from periplus.model import Discovery, Fetched, FetchTask, InvariantError, Lane, Located, Purpose, Site, Source, Url
from periplus.store import MemoryState

TASK = FetchTask(Url("https://a.test/"), Site("a.test"), Purpose.PAGE, Lane.DISCOVERY, 10.0)


def lease(task: FetchTask) -> Lease:
    return Lease(task, None, task.site)


def test_a_lease_ends_once() -> None:
    """A second report of the same task finds no lease."""
    leases = Leases()
    leases.grant(lease(TASK))
    assert leases.end(TASK) is not None
    assert leases.end(TASK) is None
    assert leases.next_end is None


def test_tasks_are_compared_by_value() -> None:
    """A task that was written to the log and read back ends its lease."""
    leases = Leases()
    leases.grant(lease(TASK))
    assert leases.end(replace(TASK)) is not None


def test_late_report_does_not_end_the_next_lease() -> None:
    """A report after the end of its lease, when the URL was granted again, does not end the new lease."""
    leases = Leases()
    leases.grant(lease(TASK))
    assert leases.next_expired(9.9) is None
    expired = leases.next_expired(10.0)
    assert expired is not None
    assert expired.task == TASK
    second = replace(TASK, lease_ends_at=20.0)
    leases.grant(lease(second))
    assert leases.end(TASK) is None
    assert leases.next_end == 20.0


def test_ended_leases_take_no_memory() -> None:
    """Memory grows with what is out, not with what was."""
    leases = Leases()
    for number in range(20_000):
        task = replace(TASK, url=Url(f"https://a.test/{number}"), lease_ends_at=1e9 - number)
        leases.grant(lease(task))
        leases.end(task)
    assert leases.weight < 100


def test_all_leases_end_with_a_process() -> None:
    """Whatever their time; the heap of ends is empty as well."""
    leases = Leases([lease(TASK)])
    assert [each.task for each in leases.end_all()] == [TASK]
    assert (len(leases), leases.next_end, leases.end(TASK)) == (0, None, None)


def test_a_task_is_out_once() -> None:
    """A second lease for what is being fetched would hide the first, and its site would wait for it forever."""
    leases = Leases([lease(TASK)])
    with pytest.raises(InvariantError, match="while it is being fetched"):
        leases.grant(lease(replace(TASK, lease_ends_at=20.0)))


def test_requests_of_a_site_are_counted_by_its_leases() -> None:
    """However a lease ends, the site has one request less under way."""
    tasks = [replace(TASK, url=Url(f"https://a.test/{number}"), lease_ends_at=10.0 + number) for number in range(3)]
    leases = Leases(lease(task) for task in tasks)
    counts = [leases.under_way(TASK.site)]
    leases.end(tasks[1])
    counts.append(leases.under_way(TASK.site))
    leases.next_expired(10.0)
    counts.append(leases.under_way(TASK.site))
    assert list(leases.names(TASK.site)) == [tasks[2].url]
    leases.end_all()
    assert [*counts, leases.under_way(TASK.site)] == [3, 2, 1, 0]


def test_leases_of_a_visit_that_expire_together_are_lost_one_by_one() -> None:
    """The last attempts of all URLs of a site, lost while the machine slept: its site is parked after the last one."""
    politeness = PolitenessSettings(delay=0.0, slow_factor=0.0, ip_delay=0.0, max_parallel=4)
    options = FrontierOptions(politeness=politeness, retries=RetrySettings(max_attempts=1))
    frontier = OpenedFrontier(MemoryState(), options).frontier
    urls = [Url(f"https://a.test/{number}") for number in range(4)]
    frontier.discover([Discovery(url, Source.SEED, 1.0) for url in urls], 1.0)
    now, tasks = 1.0, frontier.take(9, 1.0)
    while tasks[0].purpose is not Purpose.PAGE:
        (task,) = tasks
        is_lookup = task.ip is None
        now += 1.0
        frontier.report(
            Located(task, "192.0.2.1", 1e6) if is_lookup else Fetched(task, 404, (), b"", now, 0.1, "192.0.2.1"), now
        )
        tasks = frontier.take(9, now + 1.0)
    assert {task.url for task in tasks} == set(urls)
    frontier.take(9, now + politeness.lease + 10.0)
    frontier.check_invariants()
    assert frontier.leases.under_way(Site("a.test")) == 0
    assert frontier.is_idle
