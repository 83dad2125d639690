"""How other programs that we compare with are installed, for every bench that runs one.

Every peer lives in an environment of its own under `bench/.peers`, made from pinned requirements, so that no peer's
dependencies decide another's versions, or ours. Programs of the system come from apt-get, if this runs as root.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from periplus import __version__

BENCH = Path(__file__).resolve().parent
HOME = BENCH / ".peers"
"""Where peers, and the manuals that benches serve, are; no part of the repository."""


def fetch_manuals(packages: Iterable[str]) -> Path:
    """Fetch the manuals of these Debian packages that are not here yet, and nginx, which serves them: their folder."""
    HOME.mkdir(exist_ok=True)
    if subprocess.run([BENCH / "crawl" / "install.sh", HOME, *packages], check=False).returncode:
        raise RuntimeError("the manuals or nginx are missing, and could not be fetched")
    return HOME / "docs"


class Install(Protocol):
    """How a peer comes to this machine."""

    def missing(self) -> str | None:
        """What is missing and cannot be installed from here; None if all can be had."""

    def ensure(self) -> None:
        """Install what is not there yet."""

    def version(self) -> str:
        """Its version."""


@dataclass(frozen=True)
class Venv:
    """Packages of Python, in a virtual environment of their own."""

    name: str
    package: str

    @property
    def python(self) -> str:
        """The interpreter of that environment."""
        return str(HOME / self.name / "bin" / "python")

    @property
    def _requirements(self) -> Path:
        return BENCH / f"requirements-{self.name}.txt"

    def missing(self) -> str | None:
        """Python is here, or this would not run."""
        return None

    def ensure(self) -> None:
        """Made again whenever the requirements change."""
        done = HOME / self.name / "requirements.txt"
        if done.exists() and done.read_bytes() == self._requirements.read_bytes():
            return
        subprocess.run([sys.executable, "-m", "venv", "--clear", HOME / self.name], check=True)
        pip = [self.python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", "-r", self._requirements], check=True)
        shutil.copyfile(self._requirements, done)

    def version(self) -> str:
        """The pinned version of the package that gives the peer its name."""
        pins = dict(line.split("==") for line in self._requirements.read_text().split() if "==" in line)
        return pins[self.package]


@dataclass(frozen=True)
class Npm:
    """Packages of Node, beside copies of the scripts that use them: Node looks for packages beside a script."""

    folder: Path
    """It has the `package.json`; what else is in it is copied, too."""
    scripts: tuple[Path, ...] = ()
    """More scripts, from elsewhere."""

    @property
    def home(self) -> Path:
        """Where script and packages are."""
        return HOME / self.folder.name

    def missing(self) -> str | None:
        """Node and npm are the owner's to install."""
        absent = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
        return f"no {' and no '.join(absent)} here" if absent else None

    def ensure(self) -> None:
        """Made again whenever the folder's package.json changes; the scripts are always the newest."""
        wanted, done = self.folder / "package.json", self.home / "installed.json"
        self.home.mkdir(parents=True, exist_ok=True)
        for file in (*self.folder.iterdir(), *self.scripts):
            shutil.copyfile(file, self.home / file.name)
        if done.exists() and done.read_bytes() == wanted.read_bytes():
            return
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=self.home, check=True)
        # A package with a part in machine code is installed without an error where there is none for this machine.
        loaded = f"import {json.dumps(self._package)}"
        subprocess.run(
            ["node", "--input-type=module", "-e", loaded], cwd=self.home, check=True, capture_output=True, text=True
        )
        shutil.copyfile(wanted, done)

    def version(self) -> str:
        """The pinned version of its one dependency."""
        return self._dependencies[self._package]

    @property
    def _dependencies(self) -> dict[str, str]:
        return dict(json.loads((self.folder / "package.json").read_text())["dependencies"])

    @property
    def _package(self) -> str:
        (package,) = self._dependencies
        return package


@dataclass(frozen=True)
class Tool:
    """A program of the system, from the package of its name."""

    name: str

    def missing(self) -> str | None:
        """Only root may install it, and only with apt-get."""
        if shutil.which(self.name) or (os.geteuid() == 0 and shutil.which("apt-get")):
            return None
        return f"no {self.name} here"

    def ensure(self) -> None:
        """Installed if it is not there."""
        if shutil.which(self.name) is None:
            apt = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", self.name]
            subprocess.run(apt, check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})

    def version(self) -> str:
        """The first number it says of itself, whatever its exit code."""
        said = subprocess.run([self.name, "--version"], capture_output=True, text=True, check=False)
        number = re.search(r"\d+(?:\.\d+)+", said.stdout or said.stderr)
        return number.group() if number else "unknown"


@dataclass(frozen=True)
class Ours:
    """Periplus as it is here, in the environment that runs the bench."""

    @property
    def python(self) -> str:
        """The interpreter that runs the bench."""
        return sys.executable

    def missing(self) -> str | None:
        """It is what is measured."""
        return None

    def ensure(self) -> None:
        """It is there, or this would not run."""

    def version(self) -> str:
        """As it names itself."""
        return __version__


def why_absent(peer: Install) -> str | None:
    """Install a peer; the reason if it cannot be had here."""
    why = peer.missing()
    if why is not None:
        return why
    try:
        peer.ensure()
    except subprocess.CalledProcessError as error:
        said = re.findall(r"^\w*Error: .*|^E: .*", error.stderr or "", re.MULTILINE)
        return f"its installation failed: {said[0] if said else error}"
    return None
