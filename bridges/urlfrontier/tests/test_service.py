"""The sentences of the URLFrontier API's documentation, each against our server over gRPC."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

grpc = pytest.importorskip("grpc")
pytest.importorskip("google.protobuf")

from periplus.model import PeriplusError, UsageError  # noqa: E402
from periplus_urlfrontier.crawls import Crawls  # noqa: E402
from periplus_urlfrontier.messages import CALLS  # noqa: E402
from periplus_urlfrontier.server import FrontierServerSettings, parsed_address, serve  # noqa: E402
from periplus_urlfrontier.worker import Worker  # noqa: E402

from .frontier_client import Client, Time, generated, serving  # noqa: E402

OK, SKIPPED, FAIL = 0, 1, 2
_numbers = count()


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return generated(tmp_path_factory.mktemp("schema"))


@pytest.fixture(scope="module")
def clock() -> Time:
    return Time()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, clock: Time) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("frontier"), clock) as address:
        yield address


@pytest.fixture
def client(address: str, messages: dict[str, Any]) -> Iterator[Client]:
    client = Client(address, messages, f"crawl {next(_numbers)}")
    yield client
    client.channel.close()


def urls(host: str, n: int) -> list[str]:
    return [f"https://{host}/{number}" for number in range(n)]


# GetURLs


def test_urls_of_a_queue_come_in_the_order_in_which_they_were_discovered(client: Client) -> None:
    sent = urls("a.example", 30)
    client.discover(*sent)
    assert client.get(each=20) + client.get(each=20) == sent


def test_urls_of_each_queue_and_queues_are_limited(client: Client) -> None:
    for host in ("a.example", "b.example", "c.example"):
        client.discover(*urls(host, 5))
    assert client.get(queues=2, each=2) == [*urls("a.example", 2), *urls("b.example", 2)]


def test_queues_take_turns(client: Client) -> None:
    for host in ("a.example", "b.example", "c.example"):
        client.discover(*urls(host, 3))
    hosts = [client.get(queues=1, each=1)[0].split("/")[2] for _ in range(6)]
    assert hosts == ["a.example", "b.example", "c.example"] * 2


def test_a_call_can_be_restricted_to_one_queue(client: Client) -> None:
    client.discover(*urls("a.example", 2))
    client.discover(*urls("b.example", 2))
    assert client.get(key="b.example") == urls("b.example", 2)
    assert client.get(key="none.example") == []


def test_a_url_is_hidden_until_its_delay_has_elapsed(client: Client, clock: Time) -> None:
    client.discover("https://a.example/")
    assert client.get(lease=60) == ["https://a.example/"]
    clock.at += 59
    assert client.get() == []
    clock.at += 2
    assert client.get() == ["https://a.example/"]


def test_without_a_delay_a_url_is_hidden_for_thirty_seconds(client: Client, clock: Time) -> None:
    client.discover("https://a.example/")
    client.get()
    clock.at += 29
    assert client.get() == []
    clock.at += 2
    assert client.get() == ["https://a.example/"]


def test_two_clients_never_get_the_same_url(client: Client, address: str, messages: dict[str, Any]) -> None:
    client.discover(*urls("a.example", 10), *urls("b.example", 10))
    other = Client(address, messages, client.crawl)
    first, second = client.get(queues=1), other.get(queues=1)
    assert (first, second) == (urls("a.example", 10), urls("b.example", 10))
    other.channel.close()


# PutURLs and PutDiscovered


def test_acknowledgements_have_the_ids_and_the_order_of_the_items(client: Client) -> None:
    named = [client.discovered(client.info(url), f"item {n}") for n, url in enumerate(urls("a.example", 40))]
    assert client.put(named) == [(f"item {n}", OK) for n in range(40)]


def test_without_an_id_the_url_is_returned(client: Client) -> None:
    assert client.discover("https://a.example/") == [("https://a.example/", OK)]


def test_a_batch_is_acknowledged_as_a_whole_with_a_status_for_each_url(client: Client) -> None:
    batch = client.messages["DiscoveredBatch"]
    sent = [
        batch(ID="first", items=[client.info("https://a.example/"), client.info("mailto:x@a.example")]),
        batch(ID="empty"),
    ]
    acks = client.call("PutDiscovered", iter(sent))
    assert [(ack.ID, list(ack.statuses)) for ack in acks] == [("first", [OK, SKIPPED]), ("empty", [])]


def test_a_discovered_url_that_is_known_is_ignored(client: Client) -> None:
    client.put([client.discovered(client.info("https://a.example/", metadata={"seen": ["first"]}))])
    assert client.put([client.discovered(client.info("https://a.example/", metadata={"seen": ["second"]}))])[0][1] == OK
    [found] = client.ask("GetURLs")
    assert found.metadata["seen"].values == ["first"]
    client.done("https://a.example/")
    client.discover("https://a.example/")
    assert client.get() == []


def test_a_known_url_without_a_date_is_never_returned_again(client: Client, clock: Time) -> None:
    client.discover("https://a.example/")
    client.get(lease=10)
    client.done("https://a.example/")
    clock.at += 1e6
    assert client.get() == []


def test_a_known_url_is_returned_from_its_date_on(client: Client, clock: Time) -> None:
    client.discover("https://a.example/")
    client.get(lease=10)
    client.done("https://a.example/", date=clock.at + 3_600)
    clock.at += 3_590
    assert client.get() == []
    clock.at += 20
    assert client.get() == ["https://a.example/"]


def test_a_known_url_that_was_never_discovered_is_kept(client: Client, clock: Time) -> None:
    client.done("https://a.example/", date=clock.at - 5)
    assert client.get() == ["https://a.example/"]


def test_discovered_and_known_in_one_stream_are_taken_in_order(client: Client) -> None:
    info = client.info("https://a.example/")
    client.put([client.discovered(info), client.known(info)])
    assert client.get() == []
    assert client.ask("GetStats").counts["completed"] == 1


def test_metadata_is_returned_and_replaced(client: Client) -> None:
    client.put([client.discovered(client.info("https://a.example/", metadata={"depth": ["1"], "path": ["x", "y"]}))])
    [found] = client.ask("GetURLs")
    assert {name: list(each.values) for name, each in found.metadata.items()} == {"depth": ["1"], "path": ["x", "y"]}
    assert (found.key, found.crawlID) == ("a.example", client.crawl)
    client.put([client.known(client.info("https://a.example/", metadata={"status": ["200"]}))])
    found = client.ask("GetURLStatus", url="https://a.example/").known.info
    assert {name: list(each.values) for name, each in found.metadata.items()} == {"status": ["200"]}


def test_the_key_is_the_clients_and_by_default_the_host(client: Client) -> None:
    client.discover("https://WWW.A.example:8080/x")
    client.discover("https://b.example/", key="an address")
    assert client.ask("ListQueues").values == ["www.a.example", "an address"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "ftp://a.example/",
        "http://",
        "http:///path",
        "https://a.example/a b",
        "https://a.example/\n",
        "https://a.example/" + "x" * 2_000,
        "mailto:someone@a.example",
    ],
)
def test_what_is_not_a_url_for_us_is_skipped(client: Client, url: str) -> None:
    assert client.discover(url) == [(url, SKIPPED)]


def test_what_exceeds_a_bound_is_skipped(client: Client) -> None:
    many = {f"key{n}": ["x"] for n in range(65)}
    items = [
        client.info("https://a.example/1", metadata=many),
        client.info("https://a.example/2", metadata={"large": ["x" * 17_000]}),
        client.info("https://a.example/3", key="k" * 256),
        client.messages["URLInfo"](url="https://a.example/4", crawlID="c" * 500),
        client.info("https://a.example/5"),
    ]
    assert [status for _, status in client.put(map(client.discovered, items))] == [SKIPPED] * 4 + [OK]
    assert client.put([client.messages["URLItem"](ID="nothing")]) == [("nothing", SKIPPED)]


def test_a_batch_that_is_too_large_is_refused(client: Client) -> None:
    batch = client.messages["DiscoveredBatch"](items=[client.info("https://a.example/")] * 10_001)
    with pytest.raises(grpc.RpcError) as error:
        client.call("PutDiscovered", iter([batch]))
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("name", ["GetStats", "GetURLs", "PutURLs", "PutDiscovered"])
def test_what_is_not_a_message_is_the_fault_of_the_client(client: Client, name: str) -> None:
    """Of a call with one message as of a stream; the next call is answered."""
    takes, returns = CALLS[name]
    kinds = ["stream" if "stream " in each else "unary" for each in (takes, returns)]
    call = getattr(client.channel, "_".join(kinds))(f"/urlfrontier.URLFrontier/{name}")
    garbage = b"\xff\xff\xff\xff garbage"
    read = list if "stream" in returns else bytes
    with pytest.raises(grpc.RpcError) as error:
        read(call(iter([garbage]) if "stream" in takes else garbage, timeout=120))
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert client.discover("https://a.example/") == [("https://a.example/", OK)]


# queues


def test_a_blocked_queue_returns_nothing_until_its_time_or_until_it_is_unblocked(client: Client, clock: Time) -> None:
    client.discover(*urls("a.example", 3))
    client.ask("BlockQueueUntil", key="a.example", time=int(clock.at) + 100)
    assert client.get() == []
    client.ask("BlockQueueUntil", key="a.example", time=0)
    assert len(client.get(each=1)) == 1
    client.ask("BlockQueueUntil", key="a.example", time=int(clock.at) + 100)
    clock.at += 101
    assert len(client.get(each=1)) == 1


def test_a_queue_rests_for_its_delay_after_urls_were_retrieved(client: Client, clock: Time) -> None:
    client.discover(*urls("a.example", 3), *urls("b.example", 3))
    client.ask("SetDelay", key="a.example", delay_requestable=10)
    assert client.get(each=1) == ["https://a.example/0", "https://b.example/0"]
    assert client.get(each=1) == ["https://b.example/1"]
    clock.at += 11
    assert sorted(client.get(each=1)) == ["https://a.example/1", "https://b.example/2"]


def test_an_empty_key_sets_the_delay_of_all_queues_without_their_own(client: Client, clock: Time) -> None:
    client.discover(*urls("a.example", 3), *urls("b.example", 3))
    client.ask("SetDelay", key="b.example", delay_requestable=0)
    client.ask("SetDelay", delay_requestable=10)
    assert len(client.get(each=1)) == 2
    assert client.get(each=1) == ["https://b.example/1"]
    client.ask("SetDelay", delay_requestable=0)
    assert client.get(each=1) == ["https://a.example/1", "https://b.example/2"]


def test_a_limit_bounds_what_is_done_or_out(client: Client, clock: Time) -> None:
    client.discover(*urls("a.example", 10))
    client.ask("SetCrawlLimit", key="a.example", limit=3)
    assert len(client.get(each=2)) == 2
    assert len(client.get(each=2)) == 1
    client.done("https://a.example/0")
    assert client.get() == []
    clock.at += 31  # two leases end
    assert client.get() == urls("a.example", 10)[3:5]
    client.ask("SetCrawlLimit", key="a.example", limit=0)
    assert len(client.get()) == 7


def test_a_limit_of_an_unknown_queue_is_an_error(client: Client) -> None:
    client.discover("https://a.example/")
    with pytest.raises(grpc.RpcError) as error:
        client.ask("SetCrawlLimit", key="b.example", limit=3)
    assert error.value.code() is grpc.StatusCode.NOT_FOUND


def test_queues_are_listed_in_pages_active_ones_by_default(client: Client) -> None:
    client.discover(*(f"https://h{n:03}.example/" for n in range(120)))
    client.get(queues=5)
    active = client.ask("ListQueues")
    assert (len(active.values), active.total, active.size) == (100, 120, 100)
    assert active.values[0] == "h005.example"
    page = client.ask("ListQueues", start=110, size=50, include_inactive=True)
    assert page.values == [f"h{n}.example" for n in range(110, 120)]


def test_statistics_of_a_crawl_and_of_a_queue(client: Client, clock: Time) -> None:
    client.discover(*urls("a.example", 4), *urls("b.example", 2))
    client.get(queues=1, each=3, lease=20)
    client.done("https://a.example/0")
    stats = client.ask("GetStats")
    assert (stats.size, stats.inProcess, stats.numberOfQueues, stats.crawlID) == (5, 2, 2, client.crawl)
    assert dict(stats.counts) == {"completed": 1, "active_queues": 2}
    queue = client.ask("GetStats", key="b.example")
    assert (queue.size, queue.inProcess, queue.numberOfQueues) == (2, 0, 1)
    clock.at += 21
    assert client.ask("GetStats").inProcess == 0


def test_deleting_a_queue_returns_how_many_urls_it_had(client: Client) -> None:
    client.discover(*urls("a.example", 5), *urls("b.example", 2))
    client.get(each=2)
    client.done("https://a.example/0")
    assert client.ask("DeleteQueue", key="a.example").value == 5
    assert client.ask("DeleteQueue", key="a.example").value == 0
    stats = client.ask("GetStats")
    assert (stats.size, stats.inProcess, stats.numberOfQueues, stats.counts["completed"]) == (2, 2, 1, 0)
    client.discover("https://a.example/0")
    assert client.get() == ["https://a.example/0"]


# URLs as they are known


def test_status_counts_and_lists(client: Client, clock: Time) -> None:
    client.discover(*urls("a.example", 3), "https://b.example/Page")
    client.done("https://a.example/0")
    client.done("https://a.example/1", date=clock.at + 50)
    done, later, new = (client.ask("GetURLStatus", url=url) for url in urls("a.example", 3))
    assert done.known.refetchable_from_date == 0
    assert later.known.refetchable_from_date == int(clock.at + 50)
    assert new.known.refetchable_from_date > 0
    assert new.creation_date == int(clock.at)
    listed = [item.known.info.url for item in client.ask("ListURLs")]
    assert sorted(listed) == sorted([*urls("a.example", 3), "https://b.example/Page"])
    assert [item.known.info.url for item in client.ask("ListURLs", start=1, size=2)] == listed[1:3]
    assert len(client.ask("ListURLs", key="a.example")) == 3
    assert client.ask("CountURLs").value == 4
    assert client.ask("CountURLs", key="a.example").value == 3
    assert client.ask("CountURLs", filter="page").value == 0
    assert client.ask("CountURLs", filter="page", ignoreCase=True).value == 1


def test_the_status_of_an_unknown_url_is_not_found(client: Client) -> None:
    with pytest.raises(grpc.RpcError) as error:
        client.ask("GetURLStatus", url="https://a.example/")
    assert error.value.code() is grpc.StatusCode.NOT_FOUND


def test_purging_deletes_urls_older_than_a_number_of_days(client: Client, clock: Time) -> None:
    client.discover(*urls("a.example", 3), *urls("b.example", 3))
    clock.at += 3 * 86_400
    client.discover("https://a.example/new")
    assert client.ask("PurgeURLs", key="b.example", days=2).value == 3
    assert client.ask("PurgeURLs", days=2).value == 3
    assert client.get() == ["https://a.example/new"]


# crawls, and the server


def test_crawls_are_apart(address: str, messages: dict[str, Any]) -> None:
    one, two = Client(address, messages, "one/../x"), Client(address, messages, "two")
    one.discover("https://a.example/")
    assert two.get() == []
    assert two.discover("https://a.example/") == [("https://a.example/", OK)]
    assert {"one/../x", "two"} <= set(one.ask("ListCrawls").values)
    assert one.ask("DeleteCrawl", value="one/../x").value == 1
    assert one.get() == []
    assert "one/../x" not in one.ask("ListCrawls").values
    assert two.get() == ["https://a.example/"]
    for client in (one, two):
        client.channel.close()


def test_the_default_crawl_and_any_crawl(tmp_path: Path, messages: dict[str, Any]) -> None:
    with serving(tmp_path, Time()) as address:
        default, other = Client(address, messages), Client(address, messages, "other")
        default.discover("https://a.example/")
        other.discover("https://b.example/")
        found = default.ask("GetURLs", anyCrawlID=messages["AnyCrawlID"]())
        assert {(info.url, info.crawlID) for info in found} == {
            ("https://a.example/", "DEFAULT"),
            ("https://b.example/", "other"),
        }


def test_an_inactive_frontier_takes_urls_and_returns_none(client: Client) -> None:
    client.ask("SetActive", state=False)
    try:
        assert client.ask("GetActive").state is False
        assert client.discover("https://a.example/") == [("https://a.example/", OK)]
        assert client.get() == []
    finally:
        client.ask("SetActive", state=True)
    assert client.get() == ["https://a.example/"]


def test_nodes_and_log_levels(client: Client, address: str) -> None:
    assert client.ask("ListNodes").values == [address]
    client.ask("SetLogLevel", package="periplus_urlfrontier.worker", level=3)


def test_the_numbers_of_fields_on_the_wire(address: str) -> None:
    """Bytes written by hand: field and wire type, length, value."""
    with grpc.insecure_channel(address) as channel:
        url, crawl = b"https://wire.example/1", b"wire"
        metadata = b"\x1a\x08\n\x01m\x12\x03\n\x01v"
        info = b"\n" + bytes([len(url)]) + url + b"\x12\x01k" + metadata + b'"\x04' + crawl
        discovered = b"\n" + bytes([len(info)]) + info
        item = b"\n" + bytes([len(discovered)]) + discovered + b"\x1a\x02id"
        put = channel.stream_stream("/urlfrontier.URLFrontier/PutURLs")
        assert list(put(iter([item]))) == [b"\n\x02id"]
        get = channel.unary_stream("/urlfrontier.URLFrontier/GetURLs")
        assert list(get(b"\x08\x01\x10\x01\x1a\x01k \x05" + b"2\x04" + crawl)) == [info]


def test_canonical_urls_are_one_and_the_sent_one_is_returned(tmp_path: Path, messages: dict[str, Any]) -> None:
    with serving(tmp_path, Time(), canonical=True) as address:
        client = Client(address, messages)
        client.discover("HTTPS://A.example:443/x/../y#part", "https://a.example/y")
        assert client.get() == ["HTTPS://A.example:443/x/../y#part"]
        client.done("https://a.example/y")
        assert client.ask("GetStats").counts["completed"] == 1


def test_a_token_is_asked_for(tmp_path: Path, messages: dict[str, Any]) -> None:
    with serving(tmp_path, token="0123456789abcdef") as address:
        for token in ("", "wrong"):
            with pytest.raises(grpc.RpcError) as error:
                Client(address, messages, token=token).get()
            assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert Client(address, messages, token="0123456789abcdef").get() == []


def test_other_machines_need_a_token(tmp_path: Path) -> None:
    with pytest.raises(PeriplusError, match=r"0\.0\.0\.0 can be reached from other machines and needs a token"):
        serve(tmp_path, FrontierServerSettings(host="0.0.0.0", port=0), print)


def test_a_folder_is_served_once_and_is_not_a_collection(tmp_path: Path) -> None:
    with serving(tmp_path), pytest.raises(PeriplusError, match="is in use by process"):
        serve(tmp_path, FrontierServerSettings(port=0), print)
    (tmp_path / "periplus.toml").touch()
    with pytest.raises(PeriplusError, match="is a collection"):
        serve(tmp_path, FrontierServerSettings(port=0), print)


def test_a_port_in_use_leaves_no_folder_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}") as raised:
            serve(tmp_path / "new", FrontierServerSettings(port=port), print)
    assert "--grpc" in raised.value.hint
    assert not (tmp_path / "new").exists()


def test_an_address_is_a_host_and_a_port() -> None:
    assert parsed_address("[::1]:7071") == ("::1", 7071)
    for wrong in ("7071", ":7071", "a:b", "a:70000"):
        with pytest.raises(PeriplusError, match="is not HOST:PORT"):
            parsed_address(wrong)


# restarts


def test_a_restart_keeps_urls_leases_and_settings(tmp_path: Path, messages: dict[str, Any]) -> None:
    clock = Time()
    with serving(tmp_path, clock) as address:
        client = Client(address, messages, "c")
        client.discover(*urls("a.example", 4), *urls("b.example", 2))
        client.ask("SetDelay", key="a.example", delay_requestable=100)
        client.ask("BlockQueueUntil", key="b.example", time=int(clock.at) + 50)
        assert client.get(each=1, lease=10) == ["https://a.example/0"]
    clock.at += 5
    with serving(tmp_path, clock) as address:
        client = Client(address, messages, "c")
        assert client.get() == []
        assert client.ask("GetStats").inProcess == 1
        clock.at += 50
        assert client.get() == urls("b.example", 2)
        clock.at += 60
        assert client.get(key="a.example") == [*urls("a.example", 4)[1:], "https://a.example/0"]


def test_grants_become_durable_without_a_pause_between_calls(tmp_path: Path) -> None:
    """A client that never stops asking, and puts nothing: its leases are committed all the same."""

    async def ask() -> int:
        crawls = Crawls(tmp_path)
        commits, commit = [0], crawls.commit

        def counted() -> None:
            commits[0] += 1
            commit()

        crawls.commit = counted  # type: ignore[method-assign]
        worker = Worker(crawls)
        started = time.monotonic()
        while not commits[0] and time.monotonic() < started + 300:
            await worker.do(lambda: None, durable=False)
        found = commits[0]
        await worker.close()
        return found

    assert asyncio.run(ask()) >= 1


_SERVER = """
import resource, sys
from pathlib import Path
from periplus_urlfrontier.server import FrontierServerSettings, serve
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
serve(Path(sys.argv[1]), FrontierServerSettings(port=0), lambda address: print(address, flush=True))
"""


def test_what_was_acknowledged_survives_a_kill_and_a_full_disk(tmp_path: Path, messages: dict[str, Any]) -> None:
    """Files of the second server may not grow beyond a bound, as on a full disk; it ends in order all the same."""
    kept: list[str] = []
    statuses: set[int] = set()
    for number, (signal, largest) in enumerate([(9, 1 << 30), (2, 400_000)]):
        with subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(tmp_path), str(largest)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server:
            assert server.stdout is not None
            client = Client(server.stdout.readline().strip(), messages)
            for host in range(1 + 4 * number):
                sent = urls(f"{number}-{host}.example", 500)
                batch = messages["DiscoveredBatch"](items=map(client.info, sent))
                [ack] = client.call("PutDiscovered", iter([batch]))
                statuses |= set(ack.statuses)
                kept += [url for url, status in zip(sent, ack.statuses, strict=True) if status == OK]
            client.get(each=10)
            server.send_signal(signal)
            assert server.wait(120) == (-9 if signal == 9 else 0)
    assert statuses == {OK, FAIL}
    with serving(tmp_path) as address:
        listed = Client(address, messages).ask("ListURLs", size=10_000)
        assert sorted(item.known.info.url for item in listed) == sorted(kept)
