"""`periplus logs` as people type it: the table, JSON, the HTML page, findings and exit codes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import duckdb
import pytest
from tests.published.log_lines import BROWSER, line
from tests.system.typed import Run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A crawler that fetches the same page 30 times, and a person."""
    path, now = tmp_path / "access.log", time.time() - 3600
    lines = [line("/a<b>", now + number) for number in range(30)]
    path.write_text("".join([*lines, line("/", now, BROWSER, ip="192.0.2.9"), "nonsense\n"]))
    return path


def test_the_table_names_crawlers_and_what_to_do(run: Run, log: Path) -> None:
    said = run("logs", str(log), "--paper")
    assert said.returncode == 0
    assert "Googlebot" in said.stdout
    assert "no-conditional-requests" in said.stdout
    assert "29 of 29 repeated requests" in said.stdout
    assert "not-a-log-line 1" in said.stdout
    assert "192.0.2" not in said.stdout


def test_programs_get_json(run: Run, log: Path) -> None:
    found = json.loads(run("logs", str(log), "--json").stdout)
    assert (found["requests"], found["crawler_requests"]) == (31, 30)
    assert found["crawlers"][0]["needless"]["same"] == 29
    assert found["failed_on"] == []


def test_one_html_file(run: Run, log: Path, tmp_path: Path) -> None:
    page = tmp_path / "crawlers.html"
    assert run("logs", str(log), "--html", str(page)).returncode == 0
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "Googlebot" in text
    assert "192.0.2" not in text
    assert "http://" not in text.partition("<body>")[0]


def test_crawlers_as_parquet(run: Run, log: Path, tmp_path: Path) -> None:
    file = tmp_path / "crawlers.parquet"
    assert run("logs", str(log), "--parquet", str(file)).returncode == 0
    sql = f"select name, requests, needless_same, identity_unknown, needless_exact, first_at < last_at from '{file}'"
    assert duckdb.execute(sql).fetchall() == [("Googlebot", 30, 29, 30, None, True)]
    assert run("logs", str(log), "--parquet", str(tmp_path)).returncode == 2


def test_findings_can_fail(run: Run, log: Path) -> None:
    assert run("logs", str(log), "--fail-on", "no-conditional-requests").returncode == 4
    assert run("logs", str(log), "--fail-on", "warning").returncode == 4
    assert run("logs", str(log), "--fail-on", "fake-googlebot").returncode == 0
    said = run("logs", str(log), "--fail-on", "fake-gogglebot")
    assert said.returncode == 2
    assert "fake-googlebot" in said.stderr


def test_what_cannot_be_read_is_said(run: Run, log: Path, tmp_path: Path) -> None:
    assert run("logs", str(tmp_path / "none.log")).returncode == 2
    (tmp_path / "empty.log").write_text("")
    assert run("logs", str(tmp_path / "empty.log")).returncode == 1
    assert run("logs", str(log), "--since", "1s").returncode == 1
    assert run("logs", str(log), "--since", "2h").returncode == 0
