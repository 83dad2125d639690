"""`periplus demo` end to end, on a smaller web than people see: crawled in earnest, and what was found is shown."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from periplus.cli import main
from periplus_lab.commands import demo


def typed(monkeypatch: pytest.MonkeyPatch, *args: str) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["periplus", *args])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_the_demo_crawls_a_web_and_says_what_it_found(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Pages by site, errors explained, what politeness cost, where it lies, and what to type next."""
    out = tmp_path / "web"
    monkeypatch.setattr(demo, "SITES", 3)
    monkeypatch.setattr(demo, "PAGES", 20)
    monkeypatch.setattr(demo, "HOSTILE", ("endless-headers", "redirect-loop"))
    monkeypatch.setitem(demo.OPTIONS, "crawl.for", 600.0)  # it ends when everything was asked for, long before
    monkeypatch.setitem(demo.OPTIONS, "crawl.workers", 1)
    monkeypatch.setitem(demo.OPTIONS, "retries.backoff", 0.05)
    assert typed(monkeypatch, "demo", "-o", str(out)) == 0
    said, progress = capfd.readouterr()
    assert "Traceback" not in progress
    assert re.search(r"^  http-4\d\d +\d+ +the server answered 4", said, re.MULTILINE)
    assert re.search(r"^  too-many-headers +\d+ +too many header fields", said, re.MULTILINE)
    assert "at most 1 at a time to a host" in said
    assert f"periplus export {out}" in said
    assert f"{out}/report.html" in said
    assert "<figure" in (out / "report.html").read_text()
    assert typed(monkeypatch, "info", str(out), "--json") == 0
    assert json.loads(capfd.readouterr().out)["tally"]["pages"] > 30
