"""Names to addresses: what holds how long, what failed why, and that no lookup waits forever."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from tests.each_case import each_case

from periplus.engine.fetch import HostAddress, NoAddress, Resolver, ResolverSettings
from periplus.model import ConfigError
from periplus_lab.server import SteppedClock


class Names:
    """A name server in memory that counts its questions."""

    def __init__(self, **records: Sequence[str] | Exception) -> None:
        self.records = {name.replace("_", "."): found for name, found in records.items()}
        self.asked: list[str] = []

    def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        found = self.records[host]
        if isinstance(found, Exception):
            raise found
        return found


@contextmanager
def resolving(
    names: Callable[[str], Sequence[str]], clock: SteppedClock | None = None, **settings: object
) -> Iterator[Resolver]:
    chosen = ResolverSettings(**settings)  # type: ignore[arg-type]
    resolver = Resolver(chosen, clock=clock or SteppedClock(1000.0), look_up=names)
    yield resolver
    resolver.close()


def wait_for(resolver: Resolver, count: int) -> dict[str, HostAddress | NoAddress]:
    found: dict[str, HostAddress | NoAddress] = {}
    until = time.monotonic() + 60
    while len(found) < count and time.monotonic() < until:
        found |= dict(resolver.answered())
        time.sleep(0.001)
    return found


def find(resolver: Resolver, host: str) -> HostAddress | NoAddress:
    """Look up one host, from the cache or with a lookup."""
    known = resolver.known(host)
    if known is None:
        resolver.ask(host)
    return known or wait_for(resolver, 1)[host]


def test_an_answer_holds_for_its_lifetime() -> None:
    """One question an hour, however often the name is used."""
    clock = SteppedClock(1000.0)
    names = Names(a_test=["192.0.2.1"])
    with resolving(names, clock, lifetime=60.0) as resolver:
        assert resolver.known("a.test") is None
        resolver.ask("a.test")
        assert wait_for(resolver, 1) == {"a.test": HostAddress("192.0.2.1", 1060.0)}
        clock.advance(59.0)
        assert resolver.known("a.test") == HostAddress("192.0.2.1", 1060.0)
        clock.advance(1.0)
        assert resolver.known("a.test") is None
    assert names.asked == ["a.test"]


def test_a_name_keeps_its_address_while_it_is_still_named() -> None:
    """Name servers turn their lists around; politeness by address needs the same one."""
    clock = SteppedClock(1000.0)
    names = Names(a_test=["192.0.2.1", "192.0.2.2"])
    with resolving(names, clock) as resolver:
        assert find(resolver, "a.test") == HostAddress("192.0.2.1", 4600.0, ("192.0.2.2",))
        names.records["a.test"] = ["192.0.2.2", "192.0.2.1"]
        clock.advance(3600.0)
        assert find(resolver, "a.test") == HostAddress("192.0.2.1", 8200.0, ("192.0.2.2",))
        names.records["a.test"] = ["192.0.2.3", "192.0.2.2"]
        clock.advance(3600.0)
        assert find(resolver, "a.test") == HostAddress("192.0.2.3", 11800.0, ("192.0.2.2",))


def test_address_that_failed_goes_behind_the_others() -> None:
    """Of every name, for a while; among several that failed, the one that failed last is the last."""
    clock = SteppedClock(1000.0)
    names = Names(a_test=["192.0.2.1", "192.0.2.2"], b_test=["192.0.2.1", "192.0.2.3"])
    with resolving(names, clock, failure_lifetime=60.0) as resolver:
        find(resolver, "a.test")
        resolver.failed("192.0.2.1")
        for host, other in (("a.test", "192.0.2.2"), ("b.test", "192.0.2.3")):
            assert find(resolver, host) == HostAddress(other, 4600.0, ("192.0.2.1",))
        clock.advance(1.0)
        resolver.failed("192.0.2.2")
        assert find(resolver, "a.test") == HostAddress("192.0.2.1", 4600.0, ("192.0.2.2",))
        clock.advance(60.0)
        assert find(resolver, "a.test") == HostAddress("192.0.2.1", 4600.0, ("192.0.2.2",))
    assert names.asked == ["a.test", "b.test"]


def test_name_that_is_forgotten_is_looked_up_again() -> None:
    """An address that the name was left at is not returned before that."""
    names = Names(a_test=["192.0.2.1", "192.0.2.2"])
    with resolving(names) as resolver:
        find(resolver, "a.test")
        resolver.leave("a.test", "192.0.2.1")
        assert find(resolver, "a.test") == HostAddress("192.0.2.2", 4600.0)
        names.records["a.test"] = ["192.0.2.3"]
        resolver.forget("a.test")
        assert find(resolver, "a.test") == HostAddress("192.0.2.3", 4600.0)


@each_case(
    ("error", "reason", "holds"),
    [
        (socket.gaierror(socket.EAI_NONAME, "no such name"), "dns-not-found", 300.0),
        (socket.gaierror(socket.EAI_AGAIN, "try again"), "dns-unavailable", 60.0),
        (socket.gaierror(socket.EAI_FAIL, "failed"), "dns-unavailable", 60.0),
        (OSError(5, "no network"), "dns-unavailable", 60.0),
        (UnicodeError("label too long"), "dns-not-found", 300.0),
    ],
)
def test_why_a_name_has_no_address(error: Exception, reason: str, holds: float) -> None:
    """A name that does not exist is another thing than a name server that does not answer; both are remembered."""
    with resolving(Names(a_test=error)) as resolver:
        resolver.ask("a.test")
        [answer] = wait_for(resolver, 1).values()
        assert isinstance(answer, NoAddress)
        assert (answer.reason, answer.expires_at) == (reason, 1000.0 + holds)
        assert resolver.known("a.test") == answer


def test_no_address_at_all_is_not_found() -> None:
    """A name with only mail records exists, and cannot be visited."""
    with resolving(Names(a_test=[])) as resolver:
        assert find(resolver, "a.test") == NoAddress("dns-not-found", 1300.0)


def test_a_lookup_that_hangs_times_out_and_comes_too_late() -> None:
    """Its answer, when it comes, does not end another question."""
    release = threading.Event()

    def hang(host: str) -> list[str]:
        release.wait(60)
        return ["192.0.2.1"]

    with resolving(hang, timeout=0.05, threads=1) as resolver:
        resolver.ask("a.test")
        resolver.ask("queued.test")
        found = wait_for(resolver, 2)
        assert {getattr(answer, "reason", "") for answer in found.values()} == {"dns-timeout"}
        assert resolver.next_deadline() is None
        release.set()
        time.sleep(0.05)
        assert resolver.answered() == []


def test_a_name_is_asked_for_once_at_a_time() -> None:
    """Ten tasks of a new host are one question."""
    names = Names(a_test=["192.0.2.1"])
    with resolving(names) as resolver:
        for _ in range(10):
            resolver.ask("a.test")
        assert len(wait_for(resolver, 1)) == 1
    assert names.asked == ["a.test"]


def test_addresses_need_no_name_server() -> None:
    """Literal addresses, and the table, which knows wildcards; the longest entry wins."""
    table = {"A.test": "192.0.2.1", "*.test": "192.0.2.2", "*.b.test": "192.0.2.3"}
    with resolving(Names(), hosts=table) as resolver:
        found = {host: resolver.known(host) for host in ("a.test", "x.y.test", "c.b.test", "b.test", "192.0.2.9")}
        assert {host: answer.ip for host, answer in found.items() if isinstance(answer, HostAddress)} == {
            "a.test": "192.0.2.1",
            "x.y.test": "192.0.2.2",
            "c.b.test": "192.0.2.3",
            "b.test": "192.0.2.2",
            "192.0.2.9": "192.0.2.9",
        }
        six = resolver.known("[2001:db8::1]")
        assert isinstance(six, HostAddress)
        assert six.ip == "2001:db8::1"
        assert resolver.known("test") is None
        assert resolver.known("example.org") is None


def test_a_table_with_a_wrong_address_is_our_mistake() -> None:
    """Found when the settings are read, not when a page fails."""
    with pytest.raises(ConfigError) as error:
        ResolverSettings(hosts={"a.test": "somewhere"})
    assert "a.test" in error.value.hint


def test_what_is_remembered_is_bounded() -> None:
    """The least used name goes first."""
    with resolving(lambda host: ["192.0.2.1"], max_names=3) as resolver:
        for host in ("a.test", "b.test", "c.test"):
            find(resolver, host)
        assert resolver.known("a.test")
        find(resolver, "d.test")
        assert [host for host in ("a.test", "b.test", "c.test", "d.test") if resolver.known(host)] == [
            "a.test",
            "c.test",
            "d.test",
        ]


def test_many_at_once() -> None:
    """Hundreds of hosts through a few threads, each answered once; every request that waits gets its answer."""
    rings = []
    with resolving(lambda host: [f"192.0.2.{int(host[:3]) % 250}"], threads=4) as resolver:
        resolver.on_answer = lambda: rings.append(1)
        hosts = [f"{number:03}.test" for number in range(400)]
        for host in hosts:
            resolver.ask(host)
        found = wait_for(resolver, 400)
        assert sorted(found) == hosts
        assert all(isinstance(answer, HostAddress) for answer in found.values())
        assert len(resolver._threads) <= 4
        until = time.monotonic() + 60
        while len(rings) < 400 and time.monotonic() < until:  # an answer is there a moment before it is announced
            time.sleep(0.001)
    assert len(rings) == 400


def test_the_system_knows_this_machine() -> None:
    """The real lookup, without a network: IPv4 first."""
    found = find(Resolver(clock=SteppedClock(0.0)), "localhost")
    assert isinstance(found, HostAddress)
    assert found.ip in ("127.0.0.1", "::1")
