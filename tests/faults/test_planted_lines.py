"""Single lines whose loss no other test notices; see `planted`."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.engine.frontier.robots import read_robots
from periplus.engine.pipeline import redirection
from periplus.model import Discovery, Fetched, FetchTask, Lane, Purpose, Redirected, Site, Source, Url
from periplus.store import DiskState

SITE = Site("a.test")


def task(purpose: Purpose, redirects: int = 0) -> FetchTask:
    return FetchTask(Url("https://a.test/x"), SITE, purpose, Lane.DISCOVERY, 300.0, ip="192.0.2.1", redirects=redirects)


@pytest.mark.parametrize(("status", "access"), [(404, "all"), (403, "all"), (429, "none"), (503, "none")])
def test_what_the_status_of_robots_txt_means(status: int, access: str) -> None:
    """A site that is asked too often has not said that everything is allowed (RFC 9309 section 2.3.1)."""
    outcome = Fetched(task(Purpose.ROBOTS), status, (), b"", 1.0, 0.1, "192.0.2.1")
    assert read_robots(SITE, outcome, None, 2.0).access == access


def test_redirects_in_a_row_are_counted() -> None:
    """One more than those that led here."""
    outcome = Redirected(task(Purpose.PAGE, redirects=2), 301, Url("https://a.test/y"), (), 1.0, 0.1, "192.0.2.1")
    assert redirection(outcome).redirects == 3


def test_batches_leave_after_their_commit(tmp_path: Path) -> None:
    """One that left before would have its number given to another batch if this process died."""
    state = DiskState(tmp_path)
    for number in (1, 2):
        state.exchange.send(1, [Discovery(Url("https://b.test/"), Source.LINK, 1.0)])
        assert state.exchange.unsent(1, 10) == []
        state.commit()
        assert [batch.number for batch in state.exchange.unsent(1, 10)] == [number]
    state.close()


def test_a_killed_writer_leaves_no_seal(tmp_path: Path) -> None:
    """The seal of the close before it does not fit what it wrote."""
    DiskState(tmp_path).close()
    killed = DiskState(tmp_path)
    killed.mark("written", b"before the end")
    killed.commit()
    killed.environment._lmdb.close()
    killed.environment._unlock()
    again = DiskState(tmp_path)
    assert again.marked("written") == b"before the end"
    again.close()
