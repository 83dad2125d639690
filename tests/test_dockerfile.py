"""The Dockerfile copies files that are there, and its image runs as an ordinary user."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "Dockerfile").read_text()


def instructions(name: str) -> list[str]:
    """The arguments of every instruction with this name, in order."""
    return [line.removeprefix(f"{name} ") for line in TEXT.splitlines() if line.startswith(f"{name} ")]


def test_copied_files_exist_and_reach_the_builder() -> None:
    """Each is in the checkout, and `.dockerignore` lets it through."""
    sources = [source for line in instructions("COPY") if "--from" not in line for source in line.split()[:-1]]
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {"src", "pyproject.toml", "requirements/image.txt"} <= set(sources)
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert set(sources) == allowed


def test_the_script_for_wheels_names_files_that_exist() -> None:
    """What it copies, and the requirements that it installs."""
    script = (ROOT / "docker" / "wheels").read_text()
    copied = next(line for line in script.splitlines() if line.startswith("cp -r ")).split()[2:-1]
    named = [*copied, *re.findall(r"requirements/[a-z]+\.txt", script)]
    assert {"src", "requirements/core.txt"} <= set(named)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_image_runs_the_command_as_an_ordinary_user() -> None:
    """The last user is not root, and arguments of `docker run` are arguments of periplus."""
    last_stage = TEXT.rpartition("\nFROM ")[2]
    assert "\nUSER periplus\n" in last_stage
    assert json.loads(instructions("ENTRYPOINT")[-1]) == ["periplus"]


def test_base_images_have_no_registry_host() -> None:
    """An installation may have a registry of its own."""
    bases = [line.split()[0] for line in instructions("FROM")]
    assert len(bases) == 2
    assert [base for base in bases if "/" in base] == []


def test_check_rejects_unknown_arguments() -> None:
    """The script runs, and names what it accepts."""
    script = ROOT / "docker" / "check"
    assert os.access(script, os.X_OK)
    ended = subprocess.run([script, "--fast"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "--quick" in ended.stderr
