"""The examples of `docs/library.md` run, in their order, against a real server on loopback."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.scripted_web import ScriptedWeb, urlset

import periplus

PAGE = Path(__file__).resolve().parents[2] / "docs" / "library.md"
HOME = "http://docs.example.org/"


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    links = "".join(f'<li><a href="/guide/{number}">Guide {number}</a>' for number in range(3))
    pages: dict[str, str | bytes] = {
        f"{HOME}guide/{number}": f"<html lang=en><title>Guide {number}</title><h1>How to do {number}</h1>"
        for number in range(3)
    }
    pages |= {
        HOME: f"<title>Docs</title><ul>{links}</ul>",
        f"{HOME}robots.txt": f"User-agent: *\nAllow: /\nSitemap: {HOME}sitemap.xml\n",
        f"{HOME}sitemap.xml": urlset(f"{HOME}guide/0", f"{HOME}guide/1"),
    }
    with ScriptedWeb(pages) as server:
        yield server


def examples() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.proof
def test_examples_run(
    web: ScriptedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As they stand, but for http in place of https, a proxy that leads to the server, and a watch of a second."""
    from periplus import library

    def reach(function: Any) -> Any:
        """The same function, for this server: a program on the web needs none of it."""
        return lambda *seeds, **options: function(*seeds, **({"proxy": web.base, "delay": 0} | options))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(periplus, "crawl", reach(library.crawl))
    monkeypatch.setattr(periplus, "map", reach(library.map))
    names: dict[str, Any] = {}
    for code in examples():
        code = code.replace("https://docs", "http://docs").replace('for_="12h"', 'for_="1s"')
        exec(compile(code, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert f"{HOME}guide/1 Guide 1" in said
    assert "('http://docs.example.org/guide/2', 'How to do 2'" in said
    assert (tmp_path / "docs.jsonl").is_file()
    assert "docs.example.org" in (tmp_path / "report.html").read_text()
    assert names["crawl"].summary.ended == "complete"


def test_every_public_name_is_described() -> None:
    """What `periplus` exports is on the page."""
    text = PAGE.read_text()
    names = [name for name in periplus.__all__ if name not in {"__version__", "Collection", "Page"}]
    assert [name for name in names if name not in text] == []
    assert logging.getLogger("periplus").name in text


def test_every_method_of_a_collection_is_described() -> None:
    """A method that is not on the page would not be found."""
    text = PAGE.read_text()
    methods = [name for name in vars(periplus.Collection) if not name.startswith("_")]
    assert [name for name in methods if f".{name}" not in text and name not in {"folder", "seeds", "config"}] == []
