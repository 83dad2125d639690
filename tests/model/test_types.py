"""The words themselves: frozen, comparable, and able to travel between processes."""

from __future__ import annotations

import msgspec
import pytest
from tests.each_case import each_case

from periplus import model
from periplus.model import (
    ConfigError,
    Discovery,
    Excluded,
    Failed,
    FetchOutcome,
    FetchTask,
    Granularity,
    Hints,
    Lane,
    Lastmod,
    NotModified,
    Purpose,
    Redirected,
    Reject,
    Rewrite,
    Site,
    Source,
    Url,
    Verdict,
)
from periplus.model.types import Accept, Fetched

URL = Url("https://example.org/")
TASK = FetchTask(URL, Site("example.org"), Purpose.PAGE, Lane.DISCOVERY, lease_ends_at=60.0)


def test_a_discovery_survives_the_journey_between_shards() -> None:
    """Batches of `Discovery` travel between shards as msgpack and arrive equal."""
    batch = [
        Discovery(URL, Source.SITEMAP, 1.5, hints=Hints(Lastmod(0.0, Granularity.DAY), priority=0.5)),
        Discovery(URL, Source.LINK, 2.0, depth=3, referrer=URL, hints=Hints(anchor="home")),
    ]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(batch), type=list[Discovery]) == batch


@each_case(
    "outcome",
    [
        Fetched(TASK, 200, (("Content-Type", "text/html"),), b"<p>", 1.0, 0.1),
        NotModified(TASK, (), 1.0, 0.1),
        Redirected(TASK, 301, Url("https://example.org/b"), (), 1.0, 0.1),
        Failed(TASK, "timeout", 1.0, 30.0),
        Excluded(TASK, "robots", "Disallow: /"),
    ],
)
def test_an_outcome_is_told_apart_by_its_type(outcome: FetchOutcome) -> None:
    """The five outcomes share one wire form and come back as what they were."""
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(outcome), type=FetchOutcome) == outcome


@each_case("verdict", [Accept(), Reject("trap", "depth"), Rewrite(URL, "dust")])
def test_a_verdict_is_told_apart_by_its_type(verdict: Verdict) -> None:
    """So do the three verdicts."""
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


def test_values_are_frozen() -> None:
    """What has passed between rooms cannot be changed behind anyone's back."""
    with pytest.raises(AttributeError):
        TASK.attempt = 2  # type: ignore[misc]


def test_granularity_orders_from_coarse_to_fine() -> None:
    """Finer dates name shorter periods."""
    periods = [granularity.seconds for granularity in sorted(Granularity)]
    assert periods == sorted(periods, reverse=True)


def test_every_error_of_ours_has_one_root_and_an_exit_code() -> None:
    """A caller can catch all that we raise on purpose, and the command line knows how to end."""
    errors = [
        value for value in vars(model.errors).values() if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert len(errors) >= 7
    for error in errors:
        assert issubclass(error, model.PeriplusError)
        assert error.exit_code in {1, 2, 3}


def test_an_error_carries_the_next_step() -> None:
    """An error says what to type next."""
    error = ConfigError("unknown key 'dealy'", hint="did you mean 'delay'?")
    assert str(error) == "unknown key 'dealy'"
    assert error.hint == "did you mean 'delay'?"
