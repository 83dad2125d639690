"""What axe-core finds wrong for people with disabilities: nothing, light and dark, on a desk and on a phone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apps.serve.conftest import Serving
from tests.apps.serve.manual import HOST, Embedded, search, until
from tests.lab.chromium_page import Chromium

axe = pytest.importorskip("axe_core_python")
SCRIPT = Path(axe.__file__).with_name("axe.min.js").read_text()
WIDTHS = {"desk": 1280, "phone": 390}
LOOKS = [pytest.param(width, dark, id=f"{name}-{'dark' if dark else 'light'}")
         for name, width in WIDTHS.items() for dark in (False, True)]  # fmt: skip


def violations(browser: Chromium) -> list[str]:
    """What axe finds on the page that is shown, also inside of the search box."""
    browser.run(SCRIPT)
    found = json.loads(browser.run("axe.run().then((found) => JSON.stringify(found.violations))"))
    return [f"{each['id']}: {node['html']} {node['failureSummary']}" for each in found for node in each["nodes"]]


@pytest.mark.proof
@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_the_box_on_another_site(browser: Chromium, embedded: Embedded, width: int, dark: bool) -> None:
    """Closed, open with results, and open with nothing found."""
    browser.visit(embedded.url, width, is_dark=dark)
    until(browser, "Boolean(document.querySelector('.periplus-search'))")
    assert violations(browser) == []
    search(browser, "os.path.join")
    assert browser.run(f"{HOST}.querySelectorAll('[role=option]').length") > 0
    assert violations(browser) == []
    assert browser.run("document.documentElement.scrollWidth") <= width
    search(browser, "xyzzyplugh")
    assert violations(browser) == []


@pytest.mark.proof
@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_the_search_page(
    browser: Chromium,
    serving: Serving,
    width: int,
    dark: bool,
) -> None:
    """As strangers see it, and operators."""
    public = serving(token="t" * 20, public_search=True)
    for site in (public, serving()):
        for path in ("", "?q=product", "?q=shop", "?q=lighthoose", "?q=xyzzyplugh"):
            browser.visit(f"{site.url}{path}", width, is_dark=dark)
            assert violations(browser) == [], path


@pytest.fixture(autouse=True)
def _quiet(browser: Chromium) -> Iterator[None]:
    yield
    browser.complaints.clear()
