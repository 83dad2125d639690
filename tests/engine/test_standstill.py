"""A crawl that cannot go on: it is noticed, repaired once as a restart would, and else ended with what waits."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from tests.lab.crawling import rows
from tests.lab.scripted_web import ScriptedWeb, page

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.engine.frontier import ActiveSite, Schedule
from periplus.engine.inputs import Emit
from periplus.engine.standstill import Standstill
from periplus.model import CrawlStalled

HOME = "http://a.test/"
WEB: dict[str, str | bytes] = {
    HOME: page("home", "/x", "/y"), f"{HOME}x": page("x"), f"{HOME}y": page("y"), "http://b.test/": page("b"),
}  # fmt: skip


class Forgetful:
    """A schedule that forgets to place a site whose requests have ended: it stays busy with nothing under way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self._times = times
        place = Schedule.place

        def forget(schedule: Schedule, active: ActiveSite, until: float) -> None:
            if self._times and active.site == "a.test" and active.record.pages:
                self._times -= 1
            else:
                place(schedule, active, until)

        monkeypatch.setattr(Schedule, "place", forget)
        monkeypatch.setattr("periplus.engine.engine.PATIENCE", 0.3)


def crawl(folder: Path, web: ScriptedWeb) -> set[str]:
    config = Config().with_options(web.settings | {"scope.kind": "any", "crawl.for": 60.0})
    open_crawl(config, folder, seeds_from([HOME, "http://b.test/"]), 1).run()
    settle(folder)
    return {row["url"] for row in rows(folder, "select url from pages")}


def test_a_site_that_was_forgotten_is_scheduled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The crawl says that it stood still, and fetches every page."""
    Forgetful(monkeypatch, times=1)
    with caplog.at_level(logging.ERROR), ScriptedWeb(WEB) as web:
        assert crawl(tmp_path, web) == set(WEB)
    assert re.search(r"the crawl stood still \(\d URLs wait at 1 scheduled sites; a.test is busy with", caplog.text)
    assert "a defect in the state of the crawl: a.test is BUSY with 0 requests under way" in caplog.text


@pytest.mark.proof
def test_a_crawl_that_no_restart_helps_ends_with_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an error of its own; the same command continues once the defect is gone."""
    Forgetful(monkeypatch, times=10_000)
    with ScriptedWeb(WEB) as web, pytest.raises(CrawlStalled, match=r"cannot go on: .* a\.test is busy") as raised:
        crawl(tmp_path, web)
    assert raised.value.exit_code == 1
    assert "the same command tries again" in raised.value.hint
    monkeypatch.undo()
    with ScriptedWeb(WEB) as web:
        assert crawl(tmp_path, web) == set(WEB)
    assert HOME not in web.asked


def looks(still: Standstill, *times: float) -> list[bool]:
    return [still.is_over_patience(at, is_still=True) for at in times]


def test_patience_counts_from_the_last_movement() -> None:
    """Whatever happens in between starts it again, and a clock that is set back does not end it early."""
    still = Standstill(10.0)
    assert looks(still, 0.0, 2.0, 4.0, 6.0, 8.0, 9.5, 10.0) == 6 * [False] + [True]
    still.moved([Emit([])])
    assert looks(still, 11.0, 13.0, 15.0, 17.0, 19.0, 20.5) == 6 * [False]
    assert not still.is_over_patience(21.5, is_still=False)
    assert looks(still, 22.0, 5.0, 7.0, 9.0, 11.0, 13.0, 14.5, 15.0) == 7 * [False] + [True]


def test_a_machine_that_was_suspended_does_not_stand_still() -> None:
    """What it slept through between two looks is no evidence: the shard did nothing because it could not."""
    still = Standstill(10.0)
    assert looks(still, 0.0, 400.0, 400.5, 401.0, 401.5) == 5 * [False]
    assert looks(still, 403.5, 405.5, 407.5) == [False, False, True]
