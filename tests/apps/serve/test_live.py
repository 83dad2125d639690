"""The live pages of a crawl that runs, and of one that does not: figures, events, queues and controls."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.apps.serve.asking import Site
from tests.apps.serve.conftest import Serving
from tests.apps.serve.crawled_live import QUIET, crawling, hosts, settled, small_lab
from tests.system.typed import wait_until

from periplus.apps.serve import live, live_feed
from periplus.apps.serve.live_feed import MAX_LISTENERS, changed_fields, view_of_facts
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.collection.control import ControlClient
from periplus_lab.server import RunningLab, Server

pytest_plugins = ["periplus_lab.pytest_plugin"]


@pytest.fixture
def web(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    return small_lab(start_lab)


@pytest.fixture(scope="module")
def left_running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A crawl that several tests watch, one after the other; it is paused between them."""
    out = tmp_path_factory.mktemp("live") / "c"
    with (
        ExitStack() as opened,
        crawling(small_lab(lambda server: opened.enter_context(RunningLab(server))), out) as process,
    ):
        yield process, out


@pytest.fixture
def out(left_running: tuple[subprocess.Popen[str], Path]) -> Iterator[Path]:
    """The collection of that crawl, which goes on until the test ends."""
    with ControlClient(left_running[1]) as crawl:
        crawl.ask("resume")
        yield left_running[1]
        crawl.ask("pause")


class Listener:
    """Reads server-sent events from a bare connection."""

    def __init__(self, site: Site, path: str = "/live/events") -> None:
        self._connection = site.connect()
        request = f"GET {path} HTTP/1.1\r\nHost: {site.host}:{site.port}\r\nAccept: text/event-stream\r\n\r\n"
        self._connection.sendall(request.encode())
        self._read = b""
        self.head = self._until(b"\r\n\r\n").decode()

    @property
    def status(self) -> int:
        return int(self.head.split()[1])

    def _until(self, end: bytes) -> bytes:
        while end not in self._read:
            part = self._connection.recv(65_536)
            if not part:
                raise EOFError
            self._read += part
        found, _, self._read = self._read.partition(end)
        return found

    def event(self) -> tuple[str, Any]:
        """The next event, without the lengths of HTTP's chunks."""
        block = self._until(b"\n\n").decode()
        kind = next(line for line in block.splitlines() if line.startswith(("event:", ":")))
        data = next((line[6:] for line in block.splitlines() if line.startswith("data: ")), "null")
        return kind.removeprefix("event: "), json.loads(data)

    def fields(self) -> Any:
        """Those of the next event that is no note of what was done."""
        while True:
            kind, data = self.event()
            if kind == "status":
                return data

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def listen() -> Iterator[Callable[..., Listener]]:
    """Makes listeners, which are closed with the test."""
    opened: list[Listener] = []

    def start(site: Site, path: str = "/live/events") -> Listener:
        opened.append(Listener(site, path))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def csrf(site: Site, path: str = "/live") -> str:
    text = site.get(path).text
    return text.partition('name="csrf" value="')[2].partition('"')[0]


@pytest.mark.proof
def test_events_have_the_whole_view_first_and_then_what_changed(
    out: Path, serving: Serving, listen: Callable[..., Listener]
) -> None:
    site = serving(out)
    listener = listen(site)
    assert listener.status == 200
    assert "text/event-stream" in listener.head
    assert "x-accel-buffering: no" in listener.head.lower()
    kind, view = listener.event()
    assert (kind, view["state"]) == ("status", "running")
    whole, seen = set(view), dict(view)
    while seen["pages"] <= view["pages"]:
        fields = listener.fields()
        assert len(fields) < len(whole)
        assert changed_fields(seen, seen | fields) == fields
        seen |= fields
    with ControlClient(out) as crawl:
        assert crawl.ask("status")["progress"]["tally"]["pages"] >= seen["pages"]


@pytest.mark.proof
def test_the_curve_begins_before_the_page_was_opened(
    left_running: tuple[subprocess.Popen[str], Path], out: Path, serving: Serving
) -> None:
    """A page that is opened late shows what the crawl remembers of the last five minutes."""
    with ControlClient(out) as crawl:
        wait_until(lambda: len([rate for rate in crawl.ask("status")["rates"] if rate]) >= 3, left_running[0])
    found = re.search(r'data-samples="([^"]*)"', serving(out).get("/live").text)
    assert found
    assert len([rate for rate in found[1].split(",") if float(rate)]) >= 3


def test_a_hundred_pages_listen_and_one_more_is_refused(
    out: Path, left_running: tuple[subprocess.Popen[str], Path], serving: Serving, listen: Callable[..., Listener]
) -> None:
    """A place is free again when a page is closed; pages and controls work all the time."""
    site = serving(out, max_connections_per_address=200)
    listeners = [listen(site) for _ in range(MAX_LISTENERS)]
    assert {each.status for each in listeners} == {200}
    refused = listen(site)
    assert refused.status == 503
    assert "retry-after" in refused.head.lower()
    assert site.get("/live").status == 200
    assert [each.event()[0] for each in listeners] == ["status"] * MAX_LISTENERS
    assert all(each.fields() for each in listeners)
    listeners[0].close()
    wait_until(lambda: listen(site).status == 200, left_running[0])


@pytest.mark.proof
def test_a_slow_listener_gets_the_newest(out: Path, serving: Serving, listen: Callable[..., Listener]) -> None:
    """Whatever it missed, what it has when it has read everything is what the crawl says."""
    site = serving(out)
    slow = listen(site)
    slow._connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    attentive = listen(site)
    for _ in range(2):
        attentive.fields()
    seen: dict[str, Any] = {}
    with ControlClient(out) as crawl:
        crawl.ask("pause")
        while seen.get("state") != "paused" or seen["pages"] != crawl.ask("status")["progress"]["tally"]["pages"]:
            kind, fields = slow.event()
            seen |= fields if kind == "status" else {}


@pytest.mark.proof
def test_controls_of_the_page_take_effect(web: RunningLab, tmp_path: Path, serving: Serving) -> None:
    """Pause, exclude with a preview, resume, stop: as the crawled server sees them. Only by POST, with a token."""
    out, host = tmp_path / "c", hosts(web)[0]
    with crawling(web, out) as process:
        site = serving(out)
        token = csrf(site)
        assert token
        assert site.get("/live/control").status == 405
        assert site.post("/live/control", {"verb": "pause"}).status == 403
        assert site.post("/live/control", {"verb": "pause"}, {"Origin": "http://elsewhere.test"}).status == 403
        assert site.post("/live/control", {"verb": "pause", "csrf": token}).status == 303
        with ControlClient(out) as crawl:
            before = settled(web, crawl)
        time.sleep(QUIET)
        assert web.log.total == before
        assert "paused" in site.get("/live").text
        shown = site.post("/live/control", {"verb": "exclude", "pattern": f"{host}/*", "preview": "1", "csrf": token})
        assert shown.status == 200
        assert f"http://{host}/" in shown.text
        assert web.log.total == before
        assert site.post("/live/control", {"verb": "exclude", "pattern": f"{host}/*", "csrf": token}).status == 303
        assert f"{host}/*" in site.get("/live").text
        web.log.clear()
        assert site.post("/live/control", {"verb": "resume", "csrf": token}).status == 303
        wait_until(lambda: web.log.total > 20, process)
        assert [visit.target for visit in web.log.visits(host) if visit.target != "/robots.txt"] == []
        assert site.post("/live/control", {"verb": "exclude", "pattern": "re:(", "csrf": token}).status == 400
        assert site.post("/live/control", {"verb": "fly", "csrf": token}).status == 400
        assert site.post("/live/control", {"verb": "pace", "rate": "x", "csrf": token}).status == 400
        assert site.post("/live/control", {"verb": "stop", "csrf": token}).status == 303
        process.wait(600)
        assert site.post("/live/control", {"verb": "pause", "csrf": token}).status == 409


def test_viewers_see_and_only_operators_control(out: Path, serving: Serving) -> None:
    site = serving(out, token="o" * 20, viewer_token="v" * 20)
    viewer, operator = {"Authorization": f"Bearer {'v' * 20}"}, {"Authorization": f"Bearer {'o' * 20}"}
    assert site.get("/live").status == 303
    page = site.get("/live", viewer)
    assert page.status == 200
    assert "/live/control" not in page.text
    assert site.post("/live/control", {"verb": "pause"}, viewer).status == 403
    body = b'{"verb": "pause"}'
    assert site.ask("POST", "/api/live/control", viewer, body).status == 403
    answer = site.ask("POST", "/api/live/control", operator, body)
    assert answer.json == {"verb": "pause", "result": {"is_paused": True, "rate": None}}
    assert site.ask("GET", "/api/live", viewer).json["controls"]["is_paused"]
    assert site.ask("POST", "/api/live/control", operator, b"[]").status == 400


@pytest.mark.proof
def test_the_queue_is_shown_by_site_and_as_text(
    out: Path, left_running: tuple[subprocess.Popen[str], Path], serving: Serving
) -> None:
    """The download has every URL that waits, each once; of one site, in its order."""
    with ControlClient(out) as crawl:
        crawl.ask("pause")
        site = serving(out)

        def is_committed() -> bool:
            """Whether what was under way has ended and everything is in the files."""
            time.sleep(0.2)  # each look reads the whole queue
            if crawl.ask("status")["progress"]["leases"]:
                return False
            matching: int = crawl.ask("exclude", pattern="*", preview=True)["matching"]
            return matching == len(site.get("/live/queue.txt").text.splitlines())

        wait_until(is_committed, left_running[0])
        waiting = crawl.ask("exclude", pattern="*", preview=True)
        longest = crawl.ask("status")["sites"][0]
        assert longest["site"] in site.get("/live/queue").text
        text = site.get("/live/queue.txt")
        lines = text.text.splitlines()
        assert len(lines) == len(set(lines)) == waiting["matching"]
        assert set(waiting["sample"]) <= set(lines)
        assert "attachment" in text.headers["content-disposition"]
        own = site.get("/live/queue.txt", site=longest["site"]).text.splitlines()
        assert len(own) == longest["queued"]
        assert all(line.startswith(f"http://{longest['site']}/") for line in own)
        assert own[0] in site.get("/live/queue", site=longest["site"]).text


def test_without_a_crawl_the_pages_read_the_files(
    folder: Path, serving: Serving, listen: Callable[..., Listener]
) -> None:
    site = serving(folder)
    text = site.get("/live").text
    assert "no crawl runs" in text
    assert '<meta http-equiv="refresh" content="10">' in text
    kind, view = listen(site).event()
    assert (kind, view["state"]) == ("status", "no crawl runs")
    assert view["pages"] > 15
    assert view["types"]["text/html"] > 15
    assert site.get("/live/queue").status == 200
    assert site.ask("GET", "/api/live", {}).status == 409


def test_every_reason_leads_to_its_urls(folder: Path, serving: Serving, listen: Callable[..., Listener]) -> None:
    """Of each kind as many URLs as were counted, or fewer if one was met twice."""
    site = serving(folder)
    _, view = listen(site).event()
    seen = 0
    for kind in ("errors", "excluded", "refused"):
        for reason, count in view[kind].items():
            reply = site.get("/live/urls", kind=kind, reason=reason)
            assert reply.status == 200
            assert 1 <= reply.text.count("<tr><td") <= count, (kind, reason)
            seen += 1
    assert seen > 0
    assert site.get("/live/urls", kind="x", reason="y").status == 404
    assert "No URL" in site.get("/live/urls", kind="errors", reason="' or 1=1").text


def test_texts_from_the_web_are_escaped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that is named like markup stays a name."""

    def hostile(facts: Any) -> dict[str, Any]:
        view = view_of_facts(facts)
        name = "<script>x</script>.test"
        return view | {"sites": [{**view["sites"][0], "site": name}], "errors": {name: 1}}

    monkeypatch.setattr("periplus.apps.serve.live_feed.view_of_facts", hostile)
    with running(Served((folder,), ServeSettings(port=0))) as url:
        text = Site(url).get("/live").text
    assert "<script>x" not in text
    assert "&lt;script&gt;x" in text


def test_axes_end_at_round_numbers_and_the_last_value_is_at_the_right() -> None:
    assert [live.scale_of([value]) for value in (0.0, 0.3, 1.0, 4.2, 7.0, 34.0)] == [1.0, 0.5, 1.0, 5.0, 10.0, 50.0]
    assert live.curve([0.0, 5.0, 2.5]) == "298,60.0 299,0.0 300,30.0"


def test_a_timeline_has_requests_and_rests() -> None:
    """A sign for the stage, a digit for the requests since the look before; a rest after a failure is another."""
    line = live_feed.Timeline()
    looks = [("busy", 3, 0), ("resting", 4, 0), ("resting", 4, 1), ("ready", 30, 0), ("elsewhere", 20, 0)]
    for stage, pages, failures in looks:
        line.add({"stage": stage, "pages": pages, "failures": failures})
    assert str(line) == "b0r1x0w9-0"


def test_nothing_but_zeros_is_not_shown(site: Site) -> None:
    """Of a collection that is not crawled now: no curve, no timelines, no tile with 0, no empty table."""
    text = site.get("/live").text
    assert re.search(r'<figure class="card" id="rate" hidden>', text)
    assert re.search(r'<figure class="card" id="timelines" hidden>', text)
    assert re.search(r'<li><b data-field="pages"', text)
    assert re.search(r'<li hidden><b data-field="rate"', text)
    for tile in re.findall(r"<li><b data-field=[^>]*>([^<]*)</b>", text):
        assert tile not in ("0", "0.0", "\u2013")
