"""`periplus report` as people type it: where the file is, the numbers for programs, what is wrong in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.system.small_collection import small_collection
from tests.system.typed import Run


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four pages, two of which a sitemap lists, and one that is gone."""
    return small_collection(tmp_path_factory.mktemp("reported"))


@pytest.mark.proof
def test_it_says_where_the_file_is(run: Run, collection: Path) -> None:
    """In the collection; nothing else is on stdout."""
    said = run("report", str(collection))
    assert said.returncode == 0
    assert said.stdout.strip() == str(collection / "report.html")
    assert "<title>Report of" in (collection / "report.html").read_text()


def test_programs_get_the_numbers(run: Run, collection: Path, tmp_path: Path) -> None:
    """Every part with its question and its rows, what the state knows, useful links; a page only where one is named."""
    (collection / "report.html").unlink(missing_ok=True)
    found = json.loads(run("report", str(collection), "--json", "-o", str(tmp_path / "too.html")).stdout)
    assert not (collection / "report.html").exists()
    assert found["parts"]["glance"]["rows"][0]["crawled"] == 5
    assert found["parts"]["errors"]["rows"] == [
        {"reason": "http-404", "urls": 1, "sites": 1, "meaning": "the server answered 404, Not Found"}
    ]
    assert found["parts"]["glance"]["sql"].startswith("select")
    assert found["freshness"] is None  # no page was visited twice
    assert [each["site"] for each in found["useful"]] == ["a.test"]
    assert (tmp_path / "too.html").is_file()


@pytest.mark.slow
def test_what_cannot_be_written_is_said(run: Run, collection: Path, tmp_path: Path) -> None:
    """No traceback: which file, and what to type."""
    said = run("report", str(collection), "-o", str(tmp_path / "nowhere" / "report.html"))
    assert said.returncode == 2
    assert "nowhere" in said.stderr
    assert "-o FILE" in said.stderr
    assert run("report", str(tmp_path)).returncode == 2
