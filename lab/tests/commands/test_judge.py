"""`periplus lab judge` as its author would type it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from lab.tests.conformance_faults import small_crawler

from periplus_lab.conformance import enclosure
from periplus_lab.conformance.judging import listed_cases

pytestmark = pytest.mark.proof


ROOT = Path(__file__).resolve().parents[3]
CRAWLER = [sys.executable, small_crawler.__file__, "robots", "-", "{seed}", "{folder}", "{limit}"]


def judge(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "periplus", "lab", "judge", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)


def test_cases_are_listed() -> None:
    assert len(msgspec.json.decode(judge("--list", "--json").stdout)) == len(listed_cases())
    assert "robots/longest-match" in judge("--list").stdout


@pytest.mark.parametrize("network", [[], ["--loopback"]])
def test_a_crawler_is_judged(tmp_path: Path, network: list[str]) -> None:
    files = ["--html", str(tmp_path / "v.html"), "--junit", str(tmp_path / "v.xml"), "--keep", str(tmp_path / "kept")]
    done = judge(*network, "--only", "robots/rules", *files, "--", *CRAWLER)
    assert done.returncode == 4, done.stderr
    assert "FAIL robots/wildcard" in done.stdout
    assert "robots: " in done.stderr
    assert "robots/wildcard" in (tmp_path / "v.html").read_text()
    assert "<failure" in (tmp_path / "v.xml").read_text()
    assert (tmp_path / "kept" / "robots-rules" / "crawl").is_dir()


def test_verdicts_are_json(tmp_path: Path) -> None:
    adapter = tmp_path / "small.toml"
    adapter.write_text(
        f'name = "small"\ncommand = {msgspec.json.encode(CRAWLER).decode()}\n[not_applicable]\nrobots = "no"\n'
    )
    done = judge("--loopback", "--json", "--only", "robots/rules", "--adapter", str(adapter))
    assert done.returncode == 0
    judged = msgspec.json.decode(done.stdout)
    assert judged["name"] == "small"
    assert {verdict["outcome"] for verdict in judged["verdicts"]} == {"not applicable"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give either a crawler's command"),
        (["--only", "robots/none", "--", "true"], "robots/none is not a group, trial or case"),
        (["--loopback", "--only", "robots/rules", "--", "false"], "the crawler made no request; exit code 1"),
        (["--loopback", "--only", "robots/rules", "--", "/none/such"], "cannot start /none/such"),
    ],
)
def test_wrong_usage_is_explained(words: list[str], said: str) -> None:
    done = judge(*words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_the_enclosure_is_alone() -> None:
    """In there every address answers, and none of them is outside."""
    entrance = enclosure.entrance()
    if not entrance:
        pytest.skip(enclosure.WHY_NOT)
    done = subprocess.run([*entrance, "ip", "-o", "link"], capture_output=True, text=True, check=True)
    assert [line.split(":")[1].strip() for line in done.stdout.splitlines()] == ["lo"]
