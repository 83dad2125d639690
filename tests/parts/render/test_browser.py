"""Pages in a real browser: what they show, what they cannot reach, and what they cannot break."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.lab.browser_pool import IMPATIENT, PATIENT, OpenedPool, needs_browser
from tests.lab.crawling import standing

from periplus.parts.render.browser import kill, processes_of, profiles_of
from periplus_lab.applications import APPLICATION, ENDLESS, GROWING, LOOP, POLLER, TROUBLE, ApplicationWorld
from periplus_lab.http import Request
from periplus_lab.server import RunningLab

pytest.importorskip("cryptography", reason="TLS of the lab needs the extra `lab`")
pytestmark = needs_browser

WORLD = ApplicationWorld(7, 1, size=12)
REBOUND = "rebound.example"
"""A public name whose DNS leads to this machine."""


@pytest.fixture(scope="module")
def lab() -> Iterator[RunningLab]:
    with standing(WORLD, tls_port=0) as lab:
        yield lab


@pytest.fixture(scope="module")
def opened(lab: RunningLab) -> Iterator[OpenedPool]:
    seeds = [lab.url(APPLICATION), lab.url(TROUBLE), f"https://{APPLICATION}:{lab.tls_port}/"]

    def look_up(host: str) -> Sequence[str]:
        return ("127.0.0.1",) if host == REBOUND else ()

    opened = OpenedPool(lab, seeds, look_up=look_up)
    yield opened
    opened.pool.close()


class Canary:
    """A server on this machine that nothing may reach."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.heard: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(2)
                try:
                    self.heard.append(connection.recv(4096))
                except OSError:
                    self.heard.append(b"")

    def close(self) -> None:
        self._socket.close()


def trouble(lab: RunningLab, path: str) -> tuple[str, bytes]:
    answer = WORLD.answer(Request("GET", TROUBLE, path, (), WORLD.epoch))
    assert isinstance(answer.body, bytes)
    return lab.url(TROUBLE, path), answer.body


@pytest.mark.proof
def test_an_application_shows_its_page(lab: RunningLab, opened: OpenedPool) -> None:
    """The document is what the scripts made of it; the next page of the site does not load the scripts again."""
    shell = WORLD.answer(Request("GET", APPLICATION, "/item/3", (), WORLD.epoch)).body
    assert isinstance(shell, bytes)
    pages = {page.url: page for page in WORLD.pages(lab.port)}
    first = opened.show(lab.url(APPLICATION, "/item/3"), shell)
    second = opened.show(lab.url(APPLICATION, "/?_escaped_fragment_=/note/9"), shell)
    assert first.document is not None
    assert second.document is not None
    assert pages[lab.url(APPLICATION, "/item/3")].title in first.document
    assert pages[lab.url(APPLICATION, "/?_escaped_fragment_=/note/9")].title in second.document
    assert (first.reason, second.reason) == ("", "")
    assert (first.requests, second.requests) == (3, 1)  # the script, the style sheet and the data; the data alone


LATE = """<p id=said>Nothing yet.</p><script>
const said = document.getElementById('said'), say = text => { said.textContent += text; };
const wait = seconds => new Promise(done => setTimeout(done, 1000 * seconds));
setTimeout(() => setTimeout(async () => {
  const page = await (await fetch('/api/pages/3')).json();
  await wait(0.6);
  say(page.title);
}, 700), 700);
const spoken = setTimeout(() => say('Spoken too soon'), 400);
clearTimeout(spoken);
setTimeout(say, 100, 'With an argument');
setTimeout("say('As a string')", 100);
setTimeout(() => say('After a minute'), 60000);
</script>"""

LAZY = """<style>div { height: 3000px }</style>
<div></div><p id=middle></p><div></div><p id=end></p><script>
const show = (id, text) => { document.getElementById(id).textContent = text; };
new IntersectionObserver(seen => seen.some(each => each.isIntersecting) && show('middle', 'In the middle'))
  .observe(document.getElementById('middle'));
let pause;
window.onscroll = () => {
  clearTimeout(pause);
  pause = setTimeout(() => fetch('/api/pages/5').then(r => r.json()).then(page => show('end', page.title)), 600);
};
</script>"""


def test_what_timers_show_is_waited_for(lab: RunningLab, opened: OpenedPool) -> None:
    """Timers in a row, as far as they end soon; `setTimeout` does what it does elsewhere."""
    document = opened.show(lab.url(APPLICATION, "/late"), LATE).document or ""
    assert WORLD.pages(lab.port)[3].title in document
    said = document.partition("<script>")[0]
    assert ("With an argument" in said, "As a string" in said) == (True, True)
    assert ("too soon" in said, "After a minute" in said) == (False, False)


def test_what_comes_into_view_is_read(lab: RunningLab, opened: OpenedPool) -> None:
    """A part in the middle that is filled when it is seen, and one that waits for the end of the scrolling."""
    said = (opened.show(lab.url(APPLICATION, "/lazy"), LAZY).document or "").partition("<script>")[0]
    assert ("In the middle" in said, WORLD.pages(lab.port)[5].title in said) == (True, True)


def test_tls_passes_and_web_sockets_do_not(lab: RunningLab, opened: OpenedPool) -> None:
    """A page over TLS gets its data through the gate; its socket reaches nothing."""
    base, before = f"https://{APPLICATION}:{lab.tls_port}", lab.log.total
    html = f"""<p id=said></p><script>new WebSocket('{base.replace("https", "wss")}/socket');
        const said = document.getElementById('said');
        fetch('/api/pages/3').then(r => r.json()).then(p => {{ said.textContent = p.title; }});
        </script>"""
    rendered = opened.show(f"{base}/item/3", html)
    assert WORLD.pages()[3].title in (rendered.document or "")
    assert lab.log.total - before == 1


TRIES = """
const load = (tag, name, place) => {
  const element = document.createElement(tag);
  element.rel = 'stylesheet';
  element[name] = 'http://' + place + '/' + tag;
  document.body.appendChild(element);
};
for (const place of PLACES) {
  fetch('http://' + place + '/fetch', {mode: 'no-cors'}).catch(e => 0);
  fetch('https://' + place + '/tls', {mode: 'no-cors'}).catch(e => 0);
  navigator.sendBeacon('http://' + place + '/beacon', 'x');
  for (const [tag, name] of [['img', 'src'], ['iframe', 'src'], ['script', 'src'], ['link', 'href']])
    load(tag, name, place);
  for (const scheme of ['ws', 'wss']) try { new WebSocket(scheme + '://' + place + '/socket'); } catch (e) {}
  const work = `try { new WebSocket('ws://${place}/w') } catch (e) {}; fetch('http://${place}/w').catch(e => 0)`;
  new Worker(URL.createObjectURL(new Blob([work])));
}
fetch('/moved').catch(e => 0);
fetch('/api/pages/1').then(r => r.json()).then(page => {
  document.getElementById('said').textContent = page.title;
  location = 'http://' + PLACES[0] + '/navigation';
});
"""
"""A page that tries everything to reach some places, then reads data of its own site."""


@pytest.mark.proof
def test_nothing_private_is_reached(lab: RunningLab, opened: OpenedPool) -> None:
    """Not by any kind of request, not by a redirect, not by a name that leads here; the lab itself is, as allowed."""
    canary = Canary()
    WORLD.moved_to = f"http://127.0.0.1:{canary.port}/redirect"
    hosts = ("127.0.0.1", "localhost", "[::1]", "2130706433", REBOUND)
    places = [*(f"{host}:{canary.port}" for host in hosts), "169.254.169.254", f"127.0.0.1:{lab.port}"]
    html = f"<body><p id=said></p><script>const PLACES = {json.dumps(places)};{TRIES}</script>"
    before = lab.log.total
    try:
        rendered = opened.show(lab.url(APPLICATION, "/private"), html)
    finally:
        canary.close()
    assert canary.heard == []
    assert lab.log.total - before == 2  # its own data, and the redirect
    assert WORLD.pages(lab.port)[1].title in (rendered.document or "")
    assert rendered.target == f"http://127.0.0.1:{canary.port}/navigation"


@pytest.mark.slow
def test_a_page_that_polls_or_grows_ends(lab: RunningLab, opened: OpenedPool) -> None:
    """One that asks for news for ever is taken after a while; one that grows is scrolled a few times."""
    polled = opened.show(*trouble(lab, POLLER))
    assert (polled.reason, "The news of" in (polled.document or "")) == ("", True)
    growing = opened.show(*trouble(lab, GROWING))
    assert "Part 2" in (growing.document or "")
    assert "Part 12" not in (growing.document or "")


@pytest.mark.proof
def test_a_page_stays_within_its_budget(lab: RunningLab, opened: OpenedPool) -> None:
    """Requests beyond the budget are refused; images, prefetches, downloads from the start; dialogs do not block."""
    before = lab.log.total
    html = """<link rel="prefetch" href="/item/1"><body><img src="/a.png"><a href="/item/2" download>all</a><script>
        alert('hello'); window.open('/other'); document.querySelector('a').click();
        for (let n = 0; n < 100; n++) fetch('/api/pages/1?' + n).catch(e => 0);
        </script>"""
    rendered = opened.show(lab.url(APPLICATION, "/budget"), html)
    assert rendered.reason == "render-budget"
    assert (rendered.requests, rendered.same_site) == (PATIENT.max_requests, PATIENT.max_requests)
    assert lab.log.total - before == PATIENT.max_requests


@pytest.mark.slow
def test_a_killed_browser_is_started_again(lab: RunningLab, opened: OpenedPool) -> None:
    """A page that was open then is opened again; its profile is gone with the browser."""
    opened.show(lab.url(APPLICATION, "/first"), "<p>one</p>")
    before, marked = opened.pool.starts, processes_of(opened.pool.mark)
    profiles = profiles_of(marked)
    assert profiles
    opened.begin(lab.url(APPLICATION, "/second"), b"<p>two</p><script>setInterval(() => fetch('/'), 50)</script>")
    kill(marked)
    assert "two" in (opened.wait().document or "")
    assert opened.pool.starts == before + 1
    assert not any(path.exists() for path in profiles)


@pytest.mark.slow
def test_a_killed_driver_is_started_again(lab: RunningLab, opened: OpenedPool) -> None:
    """What drives the browser may die as well, by Ctrl-C for example."""
    before = opened.pool.starts
    assert "one" in (opened.show(lab.url(APPLICATION, "/first"), "<p>one</p>").document or "")
    drivers = {parent_of(number) for number in processes_of(opened.pool.mark)} - {os.getpid(), 1}
    kill([number for number in drivers if b"playwright" in Path(f"/proc/{number}/cmdline").read_bytes()])
    assert "two" in (opened.show(lab.url(APPLICATION, "/second"), "<p>two</p>").document or "")
    assert opened.pool.starts == before + 1


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_bytes().rpartition(b") ")[2].split()[1])


@pytest.mark.proof
def test_a_page_that_loops_costs_its_time_limit(lab: RunningLab) -> None:
    """And its browser is gone afterwards."""
    opened = OpenedPool(lab, [lab.url(TROUBLE)], IMPATIENT)
    try:
        assert opened.show(*trouble(lab, LOOP)).reason in ("render-hung", "render-timeout")
    finally:
        opened.pool.close()
    assert processes_of(opened.pool.mark) == []


@pytest.mark.slow
def test_a_page_without_an_end_is_stopped(lab: RunningLab) -> None:
    """One that loops and one that never finishes loading cost their time limit; then the browser is a new one."""
    opened = OpenedPool(lab, [lab.url(TROUBLE)], IMPATIENT)
    try:
        looping = opened.show(*trouble(lab, LOOP))
        assert looping.reason in ("render-hung", "render-timeout")
        endless = opened.show(*trouble(lab, ENDLESS))
        assert endless.reason in ("render-hung", "render-timeout")
        steady = "<p id=at></p><script>document.getElementById('at').textContent = Date.now() + 'ms'</script>"
        assert "1767225600000ms" in (opened.show(lab.url(TROUBLE), steady).document or "")
        assert opened.pool.starts >= 2  # it was started again after two pages
    finally:
        opened.pool.close()
    assert processes_of(opened.pool.mark) == []
