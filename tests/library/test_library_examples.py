"""Every script in `examples/` runs against a real server on loopback and does what it says."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import SEED, attentive, quick, shop

import periplus

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with shop(6) as server:
        yield server


def example(name: str) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested() -> None:
    """A script that no test runs is not an example."""
    text = Path(__file__).read_text()
    assert [path.stem for path in sorted(EXAMPLES.glob("*.py")) if f'"{path.stem}' not in text] == []
    assert len(list(EXAMPLES.glob("*.py"))) == 6


def test_crawl_to_jsonl(web: ScriptedWeb, tmp_path: Path) -> None:
    script = example("crawl_to_jsonl")
    lines = tmp_path / "pages.jsonl"
    assert script.main(SEED, str(tmp_path / "c"), str(lines), limit=3, **quick(web)) == 3
    assert script.main(SEED, str(tmp_path / "c"), str(lines), limit=100, **quick(web)) == 5
    urls = [json.loads(line)["url"] for line in lines.read_text().splitlines()]
    assert len(urls) == len(set(urls)) == 8


def test_nightly_refresh(web: ScriptedWeb, tmp_path: Path) -> None:
    periplus.crawl(SEED, out=tmp_path / "c", config=attentive(tmp_path), **quick(web)).run()
    web.said[f"{SEED}about"] = "<title>About us, at last</title><p>We have stopped selling things."
    said = example("nightly_refresh").main(str(tmp_path / "c"))
    assert said.startswith("1 pages changed, 0 are new and 0 are gone, of 8.")
    assert f"changed {SEED}about" in said


@pytest.mark.proof
def test_audit_in_ci(web: ScriptedWeb, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web.said[SEED] = '<title>The shop</title><a href="/gone">gone</a> <a href="/about">about</a>'
    code = example("audit_in_ci").main(SEED, str(tmp_path / "c"), **quick(web))
    said = capsys.readouterr().out
    assert code == any(line.startswith("error: ") for line in said.splitlines())
    assert "broken" in said.lower()


def test_extract_prices(web: ScriptedWeb, tmp_path: Path) -> None:
    cheapest = example("extract_prices").main(SEED, str(tmp_path / "c"), **quick(web))
    assert cheapest == [(f"Product {number}", number + 0.5, f"{SEED}product/{number}") for number in range(6)]
    assert f"{SEED}about" not in web.asked


def test_best_links_first(web: ScriptedWeb, tmp_path: Path) -> None:
    urls = example("best_links_first").main(SEED, str(tmp_path / "c"), "about", "us", limit=2, **quick(web))
    assert urls == [SEED, f"{SEED}about"]


@pytest.mark.proof
def test_measures(
    web: ScriptedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    periplus.crawl(SEED, out=tmp_path / "c", **quick(web)).run()
    monkeypatch.setattr(sys, "argv", ["measures.py", str(tmp_path / "c")])
    example("measures")
    said = capsys.readouterr().out
    assert "shop.test" in said
    assert f"{SEED}product/1" in said
