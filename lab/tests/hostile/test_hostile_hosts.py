"""Every hostile host, as a raw client sees it: bounded reads, real sockets, waits a hundredth of their length."""

from __future__ import annotations

import contextlib
import re
import socket
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import brotli
import pytest

from periplus_lab import Request, World
from periplus_lab.hostile import DOMAIN, REGISTRY, Script, answers, connections, perform
from periplus_lab.server import ConnectionLimits, RunningLab, Server, SteppedClock

PACE = 0.01
SOME = 300_000
"""No client here reads more than this of a stream that may not end."""


@pytest.fixture(scope="module")
def lab() -> Iterator[RunningLab]:
    world = World(sites=2)
    with RunningLab(Server(world, SteppedClock(world.epoch), pace=PACE)) as lab:
        yield lab


def connect(lab: RunningLab, name: str, target: str, fields: str) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", lab.port), timeout=60)
    sock.sendall(f"GET {target} HTTP/1.1\r\nHost: {name}.{DOMAIN}\r\n{fields}\r\n".encode())
    return sock


def fetch(lab: RunningLab, name: str, target: str = "/", *, most: int = SOME, fields: str = "") -> bytes:
    """What comes within `most` bytes, until the server closes."""
    wire = b""
    with connect(lab, name, target, fields or "Connection: close\r\n") as sock:
        while len(wire) < most and (part := sock.recv(65536)):
            wire += part
    return wire


def unchunked(wire: bytes) -> Iterator[bytes]:
    place = 0
    while (end := wire.find(b"\r\n", place)) > 0 and (size := int(wire[place:end], 16)):
        yield wire[end + 2 : end + 2 + size]
        place = end + 4 + size


def split(wire: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = wire.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    if fields.get("transfer-encoding") == "chunked":
        body = b"".join(unchunked(body))
    return int(lines[0].split()[1]), fields, body


def get(lab: RunningLab, name: str, target: str = "/", most: int = SOME) -> tuple[int, dict[str, str], bytes]:
    return split(fetch(lab, name, target, most=most))


def now(name: str, target: str = "/", at: float = 0.0) -> Request:
    return Request("GET", f"{name}.{DOMAIN}", target, (), at)


# Slowness.


def test_slow_first_byte(lab: RunningLab) -> None:
    """Nothing for 30 seconds (here 0.3), then all at once."""
    started = time.monotonic()
    with connect(lab, "slow-first-byte", "/", "") as sock:
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
    assert time.monotonic() - started >= 30 * PACE


def test_slow_drip(lab: RunningLab) -> None:
    """The body comes one byte at a time: no read waits long, the whole does."""
    started = time.monotonic()
    with connect(lab, "slow-drip", "/", "") as sock:
        wire = b""
        while len(wire.partition(b"\r\n\r\n")[2]) < 5:
            wire += sock.recv(1)
        assert time.monotonic() - started >= 4 * PACE


def test_endless_body(lab: RunningLab) -> None:
    """No length, no end, and links that differ from chunk to chunk."""
    status, fields, body = get(lab, "endless-body")
    assert status == 200
    assert "content-length" not in fields
    assert len(body) >= SOME - 1000
    assert len(set(re.findall(rb"/more/(\d+)", body))) > 2


def test_endless_headers(lab: RunningLab) -> None:
    """Fields without end, and never a body."""
    wire = fetch(lab, "endless-headers")
    assert b"\r\n\r\n" not in wire
    assert wire.count(b"\r\nX-Filler-") > 1000


# Bombs.


def test_gzip_bomb(lab: RunningLab) -> None:
    """A thousandfold: the first 100 KB are already 90 MB of zeros."""
    status, fields, body = get(lab, "gzip-bomb", most=100_000)
    assert (status, fields["content-encoding"]) == (200, "gzip")
    inflated = zlib.decompressobj(31).decompress(body, 2 * connections.MEBIBYTE)
    assert inflated == bytes(2 * connections.MEBIBYTE)
    assert len(zlib.decompressobj(31).decompress(body)) > 900 * len(body)


def test_gzip_bomb_is_one_stream_of_the_promised_size() -> None:
    """Its pieces join: 10,240 mebibytes in one gzip member."""
    reply = perform(now("gzip-bomb"))
    assert isinstance(reply, Script)
    pieces = [action for action in reply.actions if isinstance(action, bytes)]
    assert sum(len(piece) for piece in pieces) < 11 * connections.MEBIBYTE
    assert (
        len(pieces[2]) * len(pieces[2:-1])
        == len(connections._gzip_piece()) * connections.BOMB_SIZE // connections.MEBIBYTE
    )


def test_brotli_bomb(lab: RunningLab) -> None:
    """Ten gibibytes in 17 KB; the first 32 MiB are looked at."""
    status, fields, body = get(lab, "brotli-bomb")
    assert (status, fields["content-encoding"]) == (200, "br")
    assert int(fields["content-length"]) == len(body) < 20_000
    decompressor = brotli.Decompressor()
    inflated = b"".join(decompressor.process(body[place : place + 1]) for place in range(60))
    assert len(inflated) >= 32 * connections.MEBIBYTE
    assert not inflated.strip(b"\0")


def test_deep_html(lab: RunningLab) -> None:
    """A hundred thousand elements deep, with a link at the bottom."""
    _, _, body = get(lab, "deep-html", most=2_000_000)
    assert body.count(b"<div>") == connections.NESTED
    assert body.index(b'href="/bottom"') > 5 * connections.NESTED


# Lies.


def test_length_too_long(lab: RunningLab) -> None:
    """The promised bytes never come."""
    _, fields, body = get(lab, "length-too-long")
    assert int(fields["content-length"]) == len(body) + 1000


def test_length_too_short(lab: RunningLab) -> None:
    """More comes than was promised, and what follows is not an answer to the next request."""
    with connect(lab, "length-too-short", "/", "") as sock:
        _, fields, body = split(sock.recv(65536))
        assert fields["connection"] == "keep-alive"
        assert len(body) // 2 == int(fields["content-length"])
        sock.sendall(b"GET / HTTP/1.1\r\nHost: length-too-short.hostile.lab.test\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("target", "claim", "truth"),
    [
        ("/", "utf-8", "cp1251"),
        ("/unknown", "x-klingon", "cp1251"),
        ("/meta", "windows-1251", "cp1251"),
        ("/bom", "iso-8859-1", "utf-16"),
    ],
)
def test_wrong_charset(lab: RunningLab, target: str, claim: str, truth: str) -> None:
    """What is claimed is not what was written."""
    _, fields, body = get(lab, "wrong-charset", target)
    assert fields["content-type"].endswith(claim)
    assert "Широка страна" in body.decode(truth)


def test_binary_as_html(lab: RunningLab) -> None:
    """Called HTML, and full of NULs; the same bytes every time."""
    _, fields, body = get(lab, "binary-as-html")
    assert fields["content-type"].startswith("text/html")
    assert body.count(0) > 500
    assert body == get(lab, "binary-as-html")[2]


def test_cookies_required(lab: RunningLab) -> None:
    """Without the cookie a page redirects to itself; with it, it is there."""
    status, fields, _ = get(lab, "cookies-required", "/x?y")
    assert (status, fields["location"]) == (302, "/x?y")
    cookie = fields["set-cookie"].partition(";")[0]
    assert b"200 OK" in fetch(lab, "cookies-required", fields=f"Cookie: {cookie}\r\nConnection: close\r\n")


# Robots.


def test_robots_large(lab: RunningLab) -> None:
    """12.3 MB; a rule in the first line, and one in the last."""
    _, _, body = get(lab, "robots-large", "/robots.txt", most=answers.LARGE_SIZE * 2)
    assert len(body) == answers.LARGE_SIZE
    assert body.startswith(b"User-agent: *\nDisallow: /private/\n")
    assert body.endswith(b"Disallow: /late/\n")


def test_robots_many_rules(lab: RunningLab) -> None:
    """153,540 rules, all different."""
    _, _, body = get(lab, "robots-many-rules", "/robots.txt", most=10_000_000)
    rules = [line for line in body.splitlines() if line.startswith(b"Disallow:")]
    assert len(rules) == len(set(rules)) == answers.RULES


def test_robots_5xx(lab: RunningLab) -> None:
    """No rules to be had, while the pages are there."""
    assert get(lab, "robots-5xx", "/robots.txt")[0] == 503
    assert get(lab, "robots-5xx")[0] == 200


def test_robots_home(lab: RunningLab) -> None:
    """robots.txt leads to a page."""
    status, fields, _ = get(lab, "robots-home", "/robots.txt")
    assert (status, fields["location"]) == (302, "/")
    assert get(lab, "robots-home")[1]["content-type"].startswith("text/html")


# Redirects.


def test_redirect_loop(lab: RunningLab) -> None:
    """Three hops lead back."""
    target, seen = "/", []
    for _ in range(3):
        status, fields, _ = get(lab, "redirect-loop", target)
        assert status == 301
        target = fields["location"]
        seen.append(target)
    assert seen == ["/a", "/b", "/"]


def test_redirect_chain() -> None:
    """Fifty hops, then a page."""
    target, hops = "/", 0
    while True:
        reply = perform(now("redirect-chain", target))
        assert reply is not None
        assert not isinstance(reply, Script)
        if reply.status == 200:
            break
        target, hops = dict(reply.headers)["Location"], hops + 1
    assert hops == answers.CHAIN


@pytest.mark.parametrize("target", answers.PRIVATE)
def test_redirect_private(lab: RunningLab, target: str) -> None:
    """Each names a private or internal address."""
    status, fields, _ = get(lab, "redirect-private", target)
    assert status == 302
    assert fields["location"] == answers.PRIVATE[target].lower()


def test_redirect_storm(lab: RunningLab) -> None:
    """Every hop is a host never seen, each with a robots.txt, and all of them are served."""
    label, seen = "redirect-storm", set()
    for _ in range(20):
        assert get(lab, label, "/robots.txt")[0] == 200
        label = get(lab, label)[1]["location"].removeprefix("http://").removesuffix(f".{DOMAIN}/")
        seen.add(label)
    assert len(seen) == 20


# Refusals: their hours follow the virtual clock.


def test_busy_retry_after() -> None:
    """Who comes back when told is let in; who comes a second earlier is not."""
    at = 1_767_571_200.0 + 100
    refused = perform(now("busy-retry-after", at=at))
    assert refused is not None
    assert not isinstance(refused, Script)
    wait = int(dict(refused.headers)["Retry-After"])
    statuses = [perform(now("busy-retry-after", at=at + wait + more)).status for more in (-1, 0)]  # type: ignore[union-attr]
    assert (refused.status, statuses) == (429, [429, 200])


def test_busy_retry_after_as_a_date(lab: RunningLab) -> None:
    """The same moment as a date, in the lab's own time."""
    assert isinstance(lab.clock, SteppedClock)
    lab.clock.move_to(lab.world.epoch + 100)
    status, fields, _ = get(lab, "busy-retry-after", "/date")
    assert (status, fields["retry-after"]) == (429, "mon, 05 jan 2026 00:10:00 gmt")


def test_busy() -> None:
    """Nine minutes of ten, and not a word on when."""
    replies = [perform(now("busy", at=600.0 * 1000 + second)) for second in range(0, 600, 10)]
    assert [reply.status for reply in replies if reply].count(429) == 54
    assert not any("Retry-After" in dict(reply.headers) for reply in replies if reply and not isinstance(reply, Script))


def test_bursts_of_503() -> None:
    """Three minutes of ten, in one piece."""
    statuses = [reply.status for second in range(600) if (reply := perform(now("bursts-of-503", at=float(second))))]
    assert statuses == [200] * 420 + [503] * 180


# Cuts. (TLS has a file of its own.)


def test_reset(lab: RunningLab) -> None:
    """Not a byte, and a reset."""
    with pytest.raises(ConnectionResetError):
        fetch(lab, "reset")
    assert [visit.is_complete for visit in lab.log.wait_for(1, f"reset.{DOMAIN}")] == [False]


def test_reset_in_body(lab: RunningLab) -> None:
    """The head, some of the body, and a reset."""
    with pytest.raises(ConnectionResetError):
        fetch(lab, "reset-in-body")


def test_close_before_body(lab: RunningLab) -> None:
    """A good head, and an orderly end."""
    status, fields, body = get(lab, "close-before-body")
    assert (status, fields["content-length"], body) == (200, "5000", b"")


def test_close_before_head(lab: RunningLab) -> None:
    """An orderly end, and nothing else."""
    assert fetch(lab, "close-before-head") == b""


# XML.


def test_xml_bomb(lab: RunningLab) -> None:
    """A kilobyte with ten levels of ten, named in robots.txt."""
    assert b"Sitemap: http://xml-bomb.hostile.lab.test/sitemap.xml" in fetch(lab, "xml-bomb", "/robots.txt")
    _, _, body = get(lab, "xml-bomb", "/sitemap.xml")
    assert len(body) < 2000
    assert body.count(b"<!ENTITY e") == 11
    assert b"/plain</loc>" in body


def test_xxe(lab: RunningLab) -> None:
    """Names a file and a URL; what can be read honestly is one entry."""
    _, _, body = get(lab, "xxe", "/sitemap.xml")
    assert b'SYSTEM "file:///etc/passwd"' in body
    assert b"/stolen" in body
    assert b"/plain</loc>" in body


def test_endless_sitemap(lab: RunningLab) -> None:
    """URLs as long as somebody listens, each once."""
    _, _, body = get(lab, "endless-sitemap", "/sitemap.xml")
    numbers = [int(number) for number in re.findall(rb"/p/(\d+)</loc>", body)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 3000
    assert b"Sitemap:" in fetch(lab, "endless-sitemap", "/robots.txt")


# All of them.


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_says_what_it_does_and_what_to_do(name: str) -> None:
    """The docstring of a behaviour is its line in the documentation."""
    assert len(REGISTRY[name].does) > 30
    assert REGISTRY[name].wants


@pytest.mark.parametrize("name", sorted(name for name, one in REGISTRY.items() if not one.owns_robots))
def test_robots_lets_an_obedient_crawler_in(lab: RunningLab, name: str) -> None:
    """Unless robots.txt is what is hostile, it is quick and kind."""
    with connect(lab, name, "/robots.txt", "Connection: close\r\n") as sock:
        assert b"Disallow:\n" in sock.recv(65536)


def test_no_hostile_host_hurts_the_others(lab: RunningLab) -> None:
    """With three listeners on every host that read nothing, an ordinary page still comes before they have ended."""
    socks = [connect(lab, name, "/", "") for name in REGISTRY for _ in range(3)]
    time.sleep(0.3)
    with socket.create_connection(("127.0.0.1", lab.port), timeout=30) as sock:
        sock.sendall(f"GET / HTTP/1.1\r\nHost: {lab.world.hosts[0]}\r\n\r\n".encode())
        assert sock.recv(100).startswith(b"HTTP/1.1 200")
    for sock in socks:
        sock.close()


def test_time_on_a_hostile_host_is_bounded() -> None:
    """Even an endless body ends when the lab has had enough."""
    world = World(sites=2)
    limits = ConnectionLimits(longest_answer=0.3)
    with RunningLab(Server(world, limits=limits)) as lab, connect(lab, "endless-body", "/", "") as sock:
        started = time.monotonic()
        with contextlib.suppress(ConnectionResetError):
            while sock.recv(65536):
                assert time.monotonic() - started < 300.0, "it does not end"


def test_unknown_hostile_host() -> None:
    """A name that is not in the list is misdirected."""
    assert perform(Request("GET", f"nobody.{DOMAIN}", "/", (), 0.0)) is None


def test_every_host_has_a_test() -> None:
    """A new behaviour comes with a test of what a client sees of it, here or, for TLS, in the file beside."""
    tls = {
        host.removesuffix(f".{DOMAIN}")
        for host in (connections.EXPIRED, connections.WRONG_NAME, connections.SELF_SIGNED, connections.CUT)
    }
    source = Path(__file__).read_text()
    assert [name for name in sorted(REGISTRY.keys() - tls) if f'"{name}"' not in source] == []
