"""`periplus demo` end to end: a web comes up, is crawled in earnest, and what was found is said."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-c", "from periplus.cli import main; main()"]


@pytest.mark.slow
def test_the_demo_crawls_a_web_and_says_what_it_found(tmp_path: Path) -> None:
    """Pages by site, errors explained, what politeness cost, where it lies, and what to type next."""
    out = tmp_path / "web"
    done = subprocess.run([*PROGRAM, "demo", "-o", str(out)], capture_output=True, timeout=120, check=False)
    said = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr.decode()
    assert re.search(r"^  http-404 +\d+ +the server answered 404", said, re.MULTILINE)
    assert re.search(r"^  too-many-headers +\d+ +a head without end", said, re.MULTILINE)
    assert "at most 1 at a time to a host" in said
    assert f"periplus export {out}" in said
    facts = subprocess.run([*PROGRAM, "info", str(out), "--json"], capture_output=True, timeout=60, check=True)
    assert json.loads(facts.stdout)["tally"]["pages"] > 500
