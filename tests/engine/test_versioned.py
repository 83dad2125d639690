"""Messages that another version reads: by the names of their fields."""

from __future__ import annotations

import logging
import os
import pickle

import pytest
from tests.each_case import each_case

from periplus.engine.frontier import AddressShares, ClaimsReport
from periplus.engine.frontier.politeness import Setback
from periplus.engine.frontier.steering import Preview
from periplus.engine.overview import FrontierStats, SiteNow
from periplus.engine.shard import Controls, ShardOutput, ShardQuestion, ShardStatus, ShardView
from periplus.engine.sharding.builds import PROTOCOL, Build
from periplus.engine.sharding.messages import (
    Announcement,
    Asked,
    Delivery,
    Orders,
    Reply,
    ShardFailure,
    ShardStopped,
    StatusReport,
    StopShard,
)
from periplus.engine.stats import CrawlStats
from periplus.engine.versioned import UnknownMessage, VersionedMessage, restored
from periplus.model import (
    Batch,
    Bid,
    CollectionError,
    Delegation,
    Discovery,
    Freshness,
    NextVisit,
    Purpose,
    Site,
    Source,
    Url,
)
from periplus_ray.links import Lease, Overview, Renewal, Transfer, Wait

URL = Url("https://a.test/")
BATCH = Batch.of(1, 0, 7, [Delegation(Site("a.test"), URL, 1)])
STATUS = ShardStatus(
    1,
    FrontierStats(1, 2, 3, 4, 5, 6, 7, 8, Site("a.test"), 9.5, 1.0, (Setback(Site("a.test"), URL, "timeout"),)),
    CrawlStats(pages=3, errors={"timeout": 1}),
    is_idle=True,
    is_quiet=True,
    freshness=Freshness(1, 0.5, 0.4, 0.6, 7.0, 1.0, 1),
    next_visits=(NextVisit(URL, 1.0, "told"),),
    sent={0: 3},
    taken={2: 4},
    bid=Bid(1.0, 2.0, 3.0, 4.0, 5.0, 6, 7),
    claims=ClaimsReport(2**63, 1, 2, 3, (2**64 - 1,), (5,), (6,)),
    tables=b"\\x00mark",
)
REPORT = StatusReport(STATUS, 4, 5, is_quiet=False)
ORDERS = Orders(3, None, 2.5, AddressShares(1, 2, 3, ((2**64 - 1, 2),)), Controls(True, 5.0, ("a*",), ("b*",), ("c*",)))
FOUND = (Discovery(URL, Source.PING, 1.0, purpose=Purpose.SITEMAP),)
FAILURE = ShardFailure("it broke", "mend it", 3)


@each_case(
    "message",
    [
        Build.own(),
        ShardOutput((BATCH,), {2: 5}, (URL,)),
        REPORT,
        ShardStopped(STATUS),
        FAILURE,
        ORDERS,
        Delivery((URL,), (BATCH,), {1: 2}),
        Announcement(4, FOUND),
        Asked(1, ShardQuestion(5, "a*", (URL,))),
        Reply(1, ShardView((SiteNow(Site("a.test"), "busy", 1, 2, 3, 4, 5.0),), Preview(1, 2, sample=(URL,)), (URL,))),
        StopShard(2.0),
        Lease(1, 15.0),
        Wait(0.5),
        Renewal(Lease(1, 15.0), ORDERS, 3.0, restarts=True),
        Overview((STATUS,), (1,), (2,), True, False, FAILURE),
        Transfer(1, 2, 3, (URL,), (BATCH,), 9),
    ],
)
def test_every_message_arrives_as_it_was(message: VersionedMessage) -> None:
    """Over pipes and Ray, which pickle it."""
    assert pickle.loads(pickle.dumps(message)) == message


class Later(VersionedMessage, frozen=True):
    """A message as a later version has it."""

    number: int
    placement: str = "east"
    hurry: bool = True


class Earlier(VersionedMessage, frozen=True):
    """The same, as this version has it, with a field that the later one has dropped from what it sends."""

    number: int
    placement: str = "west"


def as_sent(message: VersionedMessage, kind: str) -> VersionedMessage:
    """A message that is read as another kind of this module."""
    _, (_, encoded) = message.__reduce__()
    return restored(f"{__name__}:{kind}", encoded)


def test_fields_that_are_not_known_are_dropped_and_missing_ones_have_their_defaults() -> None:
    """In both directions, while versions run side by side."""
    assert as_sent(Later(1, "north"), "Earlier") == Earlier(1, "north")
    assert as_sent(Earlier(2, "south"), "Later") == Later(2, "south", hurry=True)


def test_a_message_of_an_unknown_kind_is_reported_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is raised where it is read, and the name of the kind is logged."""
    with caplog.at_level(logging.ERROR):
        message = as_sent(Later(1), "FromTheFuture")
        broken = as_sent(StopShard(1.0), "Earlier")
    assert isinstance(message, UnknownMessage)
    assert isinstance(broken, UnknownMessage)
    assert "FromTheFuture" in caplog.text


@each_case(
    ("mine", "theirs", "is_let_in"),
    [
        ("1.4.2", "1.4.2", True),
        ("1.4.2", "1.4.9", True),
        ("1.4.2", "1.5.0", True),
        ("1.4.2", "1.3.7", True),
        ("1.4.2", "1.6.0", False),
        ("1.4.2", "2.4.2", False),
        ("1.9.0", "2.0.0", False),
        ("1.4.2", "unknown", False),
        ("unknown", "unknown", True),
    ],
)
def test_adjacent_versions_run_together(mine: str, theirs: str, is_let_in: bool) -> None:
    """One minor version apart; patches do not matter."""
    assert (Build(mine, PROTOCOL, "4").refusal(Build(theirs, PROTOCOL, "4")) == "") is is_let_in


def test_other_formats_never_run_together() -> None:
    """Whatever the versions are; the reason names both."""
    mine = Build("1.4.0", PROTOCOL, "4")
    assert "format 5" in mine.refusal(Build("1.4.0", PROTOCOL, "5"))
    assert f"protocol {PROTOCOL + 1}" in mine.refusal(Build("1.4.0", PROTOCOL + 1, "4"))


def test_a_failure_names_any_file() -> None:
    """Also one whose name is not UTF-8, as Python reads it."""
    name = os.fsdecode(b"/crawls/caf\xe9")
    failure = ShardFailure.of(CollectionError(f"{name}: No space left on device", hint=f"free some space at {name}"))
    assert pickle.loads(pickle.dumps(failure)) == failure
    assert failure.message == "/crawls/caf\\udce9: No space left on device"
