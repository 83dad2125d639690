"""The live page in a real browser: figures move by themselves, and its buttons control the crawl."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.apps.serve.conftest import Serving
from tests.apps.serve.crawled_live import crawling, hosts, settled, small_lab
from tests.lab.chromium_page import Chromium, NoChromium
from tests.system.typed import wait_until

from periplus.collection.control import ControlClient
from periplus_lab.server import RunningLab, Server

pytest_plugins = ["periplus_lab.pytest_plugin"]

LENGTH = "document.getElementById('rates').getAttribute('points').split(' ').length"


@pytest.fixture
def web(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    return small_lab(start_lab)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    try:
        opened = Chromium(tmp_path / "profile")
    except NoChromium as error:
        pytest.skip(str(error))
    with opened as found:
        yield found


def field(browser: Chromium, name: str) -> str:
    return str(browser.run(f"document.querySelector('[data-field={name}]').textContent"))


def pages(browser: Chromium) -> int:
    return int(field(browser, "pages").replace(",", ""))


def press(browser: Chromium, form: str, **fields: str) -> None:
    """Fill in a form of the page, press its button, and wait until the next page is there."""
    for name, value in fields.items():
        browser.run(f"document.querySelector('#{form} [name={name}]').value = {value!r}")
    browser.run("window.isOld = true")
    browser.run(f"document.querySelector('#{form} button').click()")
    give_up = time.monotonic() + 600
    while browser.run("Boolean(window.isOld) || document.readyState !== 'complete'"):
        assert time.monotonic() < give_up
        time.sleep(0.05)


@pytest.mark.slow
def test_the_page_follows_the_crawl_and_its_buttons_control_it(
    web: RunningLab, tmp_path: Path, serving: Serving, browser: Chromium
) -> None:
    """Figures and the curve grow without a reload; pause, exclude after a preview, and resume take effect."""
    out, host = tmp_path / "c", hosts(web)[0]
    with crawling(web, out) as process:
        url = f"{serving(out).url}live"
        browser("Page.navigate", url=url)
        wait_until(lambda: browser.run("document.readyState") == "complete", process)
        before, points = pages(browser), browser.run(LENGTH)
        browser.run("window.isTheSamePage = true")
        wait_until(lambda: pages(browser) > before and browser.run(LENGTH) > points + 1, process)
        assert browser.run("window.isTheSamePage")
        wait_until(lambda: browser.run("document.querySelectorAll('#timelines rect.b').length") > 0, process)
        assert host in browser.run("document.querySelector('#timelines tbody').textContent")
        assert float(browser.run("document.getElementById('top').textContent")) >= max(
            browser.run("document.getElementById('rates').dataset.samples.split(',').map(Number)")
        )
        assert browser.run(
            "[...document.querySelectorAll('.tiles li:not([hidden]) b')].every(e => e.textContent !== '0')"
        )
        widths = "[...document.querySelectorAll('.plot svg, .plot .along')].map(e => e.getBoundingClientRect().width)"
        assert len(set(browser.run(widths))) == 1  # the axis is as long as what it measures
        assert browser.run("document.getElementById('resume').hidden")

        press(browser, "pause")
        wait_until(lambda: field(browser, "state") == "paused", process)
        assert browser.run("document.getElementById('pause').hidden")
        with ControlClient(out) as crawl:
            asked = settled(web, crawl)
        press(browser, "exclude", pattern=f"{host}/*")
        assert int(browser.run("document.querySelector('#found b').textContent").replace(",", "")) > 0
        shown = browser.run("[...document.querySelectorAll('#sample li')].map((each) => each.textContent)")
        assert all(each.startswith(f"http://{host}/") for each in shown)
        press(browser, "confirm")
        assert f"{host}/*" in browser.run("document.getElementById('controls').textContent")
        assert web.log.total == asked

        web.log.clear()
        press(browser, "resume")
        wait_until(lambda: field(browser, "state") == "running", process)
        wait_until(lambda: web.log.total > 20, process)
        assert [visit.target for visit in web.log.visits(host) if visit.target != "/robots.txt"] == []
        reasons = "document.querySelector('[data-table=excluded]').textContent"
        wait_until(lambda: "excluded" in browser.run(reasons), process)

        press(browser, "stop")
        process.wait(600)
        give_up = time.monotonic() + 600
        while field(browser, "state") != "no crawl runs":
            assert time.monotonic() < give_up
            time.sleep(0.2)
        assert browser.run("document.getElementById('controls').hidden")
    assert browser.complaints == []
