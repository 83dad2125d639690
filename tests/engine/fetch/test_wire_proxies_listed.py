"""A list of proxies: a site keeps its own, one that fails rests, and passwords are nowhere."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.engine.fetch.raw_fetching import fetch_all, impatient_wire, task_for
from tests.engine.fetch.raw_servers import HOME, RawServer, answering

from periplus.engine.fetch import WireSettings
from periplus.engine.fetch.proxies import Proxies, read_proxies, split_password, with_password
from periplus.model import ConfigError, Failed, Fetched, Site

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
SECRET = "hunter2-password"


def closed_port() -> int:
    with socket.create_server((HOME, 0)) as listener:
        return int(listener.getsockname()[1])


def listed(folder: Path, *ports: int) -> str:
    file = folder / "proxies.txt"
    file.write_text("# ours\n\n" + "".join(f"http://ann:{SECRET}@{HOME}:{port}\n" for port in ports))
    return str(file)


def test_a_dead_proxy_costs_no_page_and_rests(tmp_path: Path) -> None:
    """Every page comes through the one that works, and the other is soon not asked any more."""
    with RawServer(answering([ANSWER])) as server:
        wire = impatient_wire(proxies=listed(tmp_path, closed_port(), server.port))
        tasks = [task_for(f"http://s{number}.test/", ip=f"s{number}.test") for number in range(12)]
        for task in tasks:
            [outcome] = fetch_all(wire, [task])
            assert isinstance(outcome, Fetched)
            assert outcome.ip is None
        assert server.connections == len(tasks)
        wire.close()


def test_where_all_rest_a_request_fails_at_once(tmp_path: Path) -> None:
    """With a reason that names no proxy's password, and without a connection."""
    wire = impatient_wire(proxies=listed(tmp_path, closed_port(), closed_port()))
    outcomes = [
        outcome
        for number in range(6)
        for outcome in fetch_all(wire, [task_for(f"http://s{number}.test/", ip=f"s{number}.test")])
    ]
    assert all(isinstance(outcome, Failed) and outcome.reason == "proxy" for outcome in outcomes)
    details = [outcome.detail for outcome in outcomes if isinstance(outcome, Failed)]
    assert "refuses connections" in details[0]
    assert "all 2 proxies rest after failures" in details[-1]
    assert SECRET not in " ".join(details)
    wire.close()


def test_private_addresses_are_refused_behind_a_list(tmp_path: Path) -> None:
    """A proxy looks names up itself; what is written as an address is checked here."""
    wire = impatient_wire(proxies=listed(tmp_path, closed_port()))
    [outcome] = fetch_all(wire, [task_for("http://10.0.0.7/", ip="10.0.0.7")])
    assert getattr(outcome, "reason", "") == "private-address"
    wire.close()


def test_health(tmp_path: Path) -> None:
    """A site keeps its proxy; after three failures in a row a proxy rests, longer each time; one alone never does."""
    proxies = Proxies(WireSettings(proxies=listed(tmp_path, 1, 2, 3)))
    site = Site("a.test")
    own = proxies.of(site, 0.0)
    assert own is not None
    assert own is proxies.of(site, 5.0)
    assert SECRET not in repr(own)
    proxies.failed(own, 0.0)
    proxies.worked(own)
    for _ in range(2):
        proxies.failed(own, 0.0)
    assert proxies.of(site, 0.0) is own
    proxies.failed(own, 0.0)
    other = proxies.of(site, 59.0)
    assert other not in (None, own)
    assert proxies.of(site, 61.0) is own
    proxies.failed(own, 61.0)
    assert proxies.of(site, 61.0 + 119.0) is other
    assert proxies.of(site, 61.0 + 121.0) is own
    assert proxies.of(site, 61.0, [other]) not in (None, own, other)
    alone = Proxies(WireSettings(proxy="http://proxy.test:3128"), f"ann:{SECRET}")
    [first] = [alone.of(site, 0.0)]
    assert first is not None
    for _ in range(1100):
        alone.failed(first, 0.0)
    assert first.rests_until == 3600.0
    assert alone.of(site, 1.0) is first
    assert first.url == f"http://ann:{SECRET}@proxy.test:3128"


def test_passwords_of_proxies_are_split_off() -> None:
    """And put back."""
    for whole in ("http://ann:p%40ss@proxy.test:3128/", "ann:secret@proxy.test:3128", "socks5h://127.0.0.1:1080"):
        place, password = split_password(whole)
        assert "ann" not in place
        assert with_password(place, password) == whole


@pytest.mark.parametrize("text", ["", "# nothing\n", f"http://a.test:1\nnot a proxy {SECRET}\n"])
def test_files_that_are_no_lists(tmp_path: Path, text: str) -> None:
    """The error names the line, and does not show it."""
    file = tmp_path / "proxies.txt"
    file.write_text(text)
    with pytest.raises(ConfigError, match="proxies: ") as refused:
        read_proxies(str(file))
    assert SECRET not in str(refused.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_proxies(str(tmp_path / "none.txt"))


@pytest.mark.parametrize(
    "url",
    [
        f"http://ann:{SECRET}@{HOME}:99999",
        f"http://ann:{SECRET}@{HOME}:80a",
        f"http://ann:{SECRET}#@{HOME}:9",
        f"http://ann:{SECRET}?@{HOME}:9",
        f"http://ann:{SECRET}@more@{HOME}:9",
        f"http://ann:{SECRET}\N{LATIN SMALL LETTER E WITH ACUTE}@{HOME}:9",
        f"http://ann:{SECRET}@[::1:9",
        f"http://ann:{SECRET}@",
    ],
)
def test_urls_that_libcurl_does_not_accept_are_refused(tmp_path: Path, url: str) -> None:
    """Before it can quote them; the error does not show the password."""
    (tmp_path / "proxies.txt").write_text(f"{url}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1 of") as refused:
        read_proxies(str(tmp_path / "proxies.txt"))
    assert SECRET not in str(refused.value)
    with pytest.raises(ConfigError, match="proxy must be") as refused:
        WireSettings(proxy=url)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("times", [1, 20])
def test_the_url_that_libcurl_quotes_is_not_shown(times: int) -> None:
    """A host name that only libcurl knows to be wrong, also if its message ends inside the password."""
    wire = impatient_wire(proxy=f"http://ann:{SECRET * times}@a%b:9")
    [outcome] = fetch_all(wire, [task_for("http://s.test/", ip="s.test")])
    wire.close()
    assert isinstance(outcome, Failed)
    assert outcome.reason == "proxy"
    assert outcome.detail.startswith("a%b:9 failed: Unsupported proxy syntax in 'a%b:9")
    assert "hunter" not in outcome.detail
    assert "ann" not in outcome.detail


def test_proxies_are_known_by_their_form() -> None:
    """Each of these is one to libcurl."""
    for url in ("proxy.test:65535", "ann@proxy.test:1/", "http://h", "http://h:/", "socks5h://u:p%40[]@[::1]:1080"):
        assert WireSettings(proxy=url).is_proxied
