"""Every dependency is pinned with the hashes of its files, and what the project names is pinned."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tests.covering import DISTRIBUTIONS

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
NAME = re.compile(r"[A-Za-z0-9._-]+")
PIN = re.compile(r"^(?P<name>[a-z0-9.-]+)==(?P<version>\S+)(?P<rest>.*(?:\n    .*)*)", re.MULTILINE)


def pinned(file: str) -> dict[str, str]:
    """What the file installs: each name, and the rest of its entry."""
    return {found["name"]: found["rest"] for found in PIN.finditer((ROOT / "requirements" / file).read_text())}


def named(requirements: list[str]) -> set[str]:
    """Names as an index spells them; the project's own extras are taken apart."""
    names = set()
    for requirement in requirements:
        name = re.sub(r"[-_.]+", "-", NAME.match(requirement)[0].lower())  # type: ignore[index]
        if name == "periplus":
            names |= named([one for extra in re.findall(r"[a-z]+(?=[,\]])", requirement) for one in EXTRAS[extra]])
        else:
            names.add(name)
    return names


@pytest.mark.parametrize("file", ["core.txt", "image.txt", "dev.txt", "release.txt", "clients.txt"])
def test_every_pin_has_hashes(file: str) -> None:
    """Without one, pip would refuse to install at all; with fewer files than pins, a line was lost."""
    text = (ROOT / "requirements" / file).read_text()
    assert text.count("==") >= len(pinned(file)) >= 25
    assert [name for name, rest in pinned(file).items() if "--hash=sha256:" not in rest] == []


def test_what_the_project_needs_is_pinned() -> None:
    """The core, the image with its extras, and all extras for developers."""
    core = named(PROJECT["dependencies"])
    assert core - set(pinned("core.txt")) == set()
    assert (core | named(EXTRAS["search"] + EXTRAS["web"])) - set(pinned("image.txt")) == set()
    assert (core | named([one for extra in EXTRAS.values() for one in extra])) - set(pinned("dev.txt")) == set()


def test_what_the_other_distributions_need_is_pinned() -> None:
    """Beside the crawler, which is installed from these sources; the lab, for the demo, needs no more than that."""
    for folder in DISTRIBUTIONS:
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        extras = [one for extra in project.get("optional-dependencies", {}).values() for one in extra]
        assert "periplus" in project["dependencies"]
        assert named(project["dependencies"] + extras) - set(pinned("dev.txt")) == set()
        if folder == "lab":
            assert named(project["dependencies"]) - set(pinned("core.txt")) == set()


def test_pins_agree() -> None:
    """What users run is what the tests run."""
    everything = (ROOT / "requirements" / "dev.txt").read_text()
    for file in ("core.txt", "image.txt"):
        text = (ROOT / "requirements" / file).read_text()
        pins = [f"{found['name']}=={found['version']}" for found in PIN.finditer(text)]
        assert [pin for pin in pins if f"{pin} " not in everything] == []
