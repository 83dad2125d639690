"""Every call of the library in a real notebook kernel, which has no ipywidgets and runs an event loop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from tests.lab.scripted_web import ScriptedWeb, page
from tests.library.small_web import SEED, quick, shop

_TIMEOUT = 120.0


class Shown(NamedTuple):
    """What a cell showed: its result, its displays and their updates, and what it printed."""

    result: dict[str, str]
    displays: list[dict[str, str]]
    printed: str


class Notebook:
    """Runs cells in a kernel."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self._client = client

    def error(self, cell: str) -> list[str]:
        """Run a cell that fails; the lines that are shown of it."""
        shown: list[str] = []

        def take(message: dict[str, Any]) -> None:
            if message["msg_type"] == "error":
                shown.extend(message["content"]["traceback"])

        self._client.execute_interactive(cell, output_hook=take, timeout=_TIMEOUT)
        return shown

    def run(self, cell: str) -> Shown:
        """Run a cell to its end; an error in it fails the test."""
        shown = Shown({}, [], "")

        def take(message: dict[str, Any]) -> None:
            nonlocal shown
            kind, content = message["msg_type"], message["content"]
            if kind == "execute_result":
                shown.result.update(content["data"])
            elif kind in ("display_data", "update_display_data"):
                shown.displays.append(content["data"])
            elif kind == "stream":
                shown = shown._replace(printed=shown.printed + content["text"])
            elif kind == "error":
                pytest.fail("\n".join(content["traceback"]))

        self._client.execute_interactive(cell, output_hook=take, timeout=_TIMEOUT)
        return shown


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    manager, client = start_new_kernel(startup_timeout=_TIMEOUT)
    try:
        yield Notebook(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.proof
@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")
def test_every_call_works_in_a_kernel(notebook: Notebook, tmp_path: Path) -> None:
    """Crawling shows its progress, results are shown as tables, and DuckDB does not ask for ipywidgets."""
    with shop() as web:
        notebook.run(f"import periplus, os; os.chdir({str(tmp_path)!r}); options = {quick(web)!r}")
        crawled = notebook.run(f"periplus.crawl({SEED!r}, out='c', **options).run()")
        assert "14 pages" in crawled.displays[-1]["text/html"]
        assert "<table" in crawled.result["text/html"]
        notebook.run("docs = periplus.open('c')")
        assert (
            "Product 3"
            in notebook.run("docs.query(\"select url, title from pages where title like '%3'\")").result["text/html"]
        )
        assert "14 of 14" in notebook.run("docs.index()").displays[-1]["text/html"]
        for call, expected in (
            ("docs", "shop.test"),
            ("docs.search('product')", "Product"),
            ("docs.audit()", "findings"),
            ("docs.search_eval()", "queries"),
            ("docs.changes()", "appeared"),
            ("docs.export('jsonl', 'c.jsonl')", "written"),
            ("docs.page('http://shop.test/about').latest", "About"),
        ):
            assert expected in notebook.run(call).result["text/html"], call
        notebook.run("docs.report('report.html'); docs.grid('grid.csv'); docs.audit_trend()")
        refreshed = notebook.run("docs.refresh(settings={'wire.proxy': options['proxy']})")
        assert "asked" in refreshed.result["text/html"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")
def test_a_mistake_is_two_lines(notebook: Notebook, tmp_path: Path) -> None:
    """What is wrong and the next step; not the lines of our code that found it."""
    other = "http://other.test/"
    with ScriptedWeb({SEED: page("a shop"), other: page("another")}) as web:
        notebook.run(f"import periplus, os; os.chdir({str(tmp_path)!r}); options = {quick(web)!r}")
        notebook.run(f"periplus.crawl([{SEED!r}, {other!r}], out='c', **options).run()")
        shown = notebook.error("periplus.open('c').audit()")
        assert len(shown) == 2
        assert "has 2 sites: " in shown[0]
        assert 'in Python site="' in shown[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")
def test_asynchronous_cells(notebook: Notebook, tmp_path: Path) -> None:
    """A cell may crawl in the event loop that the kernel runs; pages arrive parsed."""
    with shop() as web:
        cell = (
            f"import periplus, os; os.chdir({str(tmp_path)!r})\n"
            f"async with periplus.crawl({SEED!r}, out='c', **{quick(web)!r}) as crawl:\n"
            "    parsed = ['_document' in vars(page) async for page in crawl]\n"
            "print(len(parsed), all(parsed))"
        )
        assert notebook.run(cell).printed.strip() == "14 True"
