"""The reference: a commit of this repository, checked out and compiled below `bench/.speed`."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "bench" / ".speed"
PINNED = Path(__file__).resolve().parent / "REFERENCE"
HARNESS = Path("bench", "speed")
_PARTS = ("src", "bench", "hatch_build.py")


class Reference(NamedTuple):
    """A commit, and why it is the one to compare with."""

    commit: str
    why: str


class MissingCommitError(Exception):
    """The repository does not have the commit, or there is no repository."""


def pinned() -> Reference:
    """The reference of this checkout."""
    commit, _, why = PINNED.read_text().partition("\n")
    return Reference(commit, why.strip())


def pin(reference: Reference) -> None:
    """Make this the reference."""
    PINNED.write_text(f"{reference.commit}\n{reference.why}\n")


def full_hash(name: str) -> str:
    """The commit that a name stands for."""
    found = _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found.returncode:
        shallow = _git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        why = "this clone is shallow (git fetch --unshallow brings the rest)" if shallow else "no such commit"
        raise MissingCommitError(f"{name} is not in this repository: {why}")
    return found.stdout.decode().strip()


def tree_of(commit: str) -> Path:
    """The files of a commit with their scanner compiled; made once.

    A commit without a harness gets a copy of ours, every time: ours may have changed since.
    """
    full = full_hash(commit)
    tree = CACHE / full[:12]
    if not tree.exists():
        part = CACHE / f"{full[:12]}.part"
        shutil.rmtree(part, ignore_errors=True)
        packed = _git("archive", full, *_PARTS)
        packed.check_returncode()
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(part, filter="data")
        compile_scanner(part)
        part.rename(tree)
    if _git("cat-file", "-e", f"{full}:{HARNESS / 'replay.py'}").returncode:
        shutil.copytree(ROOT / HARNESS, tree / HARNESS, dirs_exist_ok=True)
    return tree


def compile_scanner(tree: Path) -> None:
    """Compile the scanner of a tree, as `make native` does; without a compiler the tree stays without it."""
    subprocess.run([sys.executable, "hatch_build.py"], cwd=tree, capture_output=True, check=False)


def has_scanner(tree: Path) -> bool:
    """Whether the scanner of a tree is compiled."""
    return any((tree / "src" / "periplus" / "content" / "scan").glob("_native*.so"))


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise MissingCommitError("there is no git here") from error
