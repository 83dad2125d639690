"""The schedule of sites on a state on disk: what it writes can be written, and is read back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import (
    Domains,
    FrontierDesk,
    FrontierRules,
    FrontierSettings,
    PolitenessSettings,
    Schedule,
    SiteRecords,
    SiteStage,
)
from periplus.model import Lane, Queued, Site, Url
from periplus.policy.filters import Chain
from periplus.policy.ordering import BreadthFirst
from periplus.store import DiskState, SiteState, State

SITE = Site("a.test")
ENTRY = Queued(Url("https://a.test/"), SITE, Lane.DISCOVERY, 0)


def schedule_on(state: State, ip_delay: float) -> Schedule:
    rules = FrontierRules(politeness=PolitenessSettings(ip_delay=ip_delay), frontier=FrontierSettings(max_sites=9))
    records = SiteRecords(state.sites)
    desk = FrontierDesk(state, records, rules, Chain([]), BreadthFirst(), MemoryEventSink(), Random(1))
    return Schedule(desk, Domains(state.domains), lambda _site: 0)


@pytest.mark.parametrize("ip_delay", [0.0, 1.5])
def test_a_request_is_written_and_read_back(tmp_path: Path, ip_delay: float) -> None:
    """A site that is asked at its address, whether requests to one address are kept apart or not."""
    with closing(DiskState(tmp_path)) as state:
        state.sites.put([SiteState(SITE, ip="192.0.2.1")])
        schedule = schedule_on(state, ip_delay)
        state.queues.push([ENTRY])
        schedule.queued([ENTRY], 1.0)
        active = schedule.pop_ready(1.0)
        assert active is not None
        schedule.grant(active, "192.0.2.1", 1.0)
        schedule.flush()
        state.commit()
        assert [row.stage for row in state.visits] == [SiteStage.BUSY]
        assert [row.next_at for row in state.addresses] == ([1.0 + ip_delay] if ip_delay else [])
        again = schedule_on(state, ip_delay)
        assert [each.site for each in again] == [SITE]
