"""The files below a folder, as a web server would serve them."""

from __future__ import annotations

import hashlib
import mimetypes
import os
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

from periplus.model import PeriplusError, Problem, UsageError

from ..resources import Resource

MOST_RESOURCES: Final = 10_000_000
"""Files of one folder that are looked at."""
LONGEST_PATH: Final = 2_048
"""Bytes of an address's path; longer ones are not published."""
LARGEST: Final = 32 << 20
"""Bytes of a file that are read at once; a larger one is not read as a page."""
GIT_SECONDS: Final = 600
"""Time that `git log` may take: histories of hundreds of thousands of commits are read in less."""
_IN_PATH = "/!$&'()*+,;=:@~-._"
_TYPES = mimetypes.MimeTypes()
for _type, _suffix in (
    ("text/markdown", ".md"),
    ("image/avif", ".avif"),
    ("image/webp", ".webp"),
    ("font/woff2", ".woff2"),
):
    _TYPES.add_type(_type, _suffix)


class FolderInventory:
    """Every file below a root, in the order of names.

    `index.html` is its folder's address; with `clean_urls`, `.html` is left out of others. Names that begin with a dot
    are not published; a link is followed only to what is below the root. `dates` gives the date of a path relative to
    the root, where something better is known than its modification time. `skip` are paths of our own files.
    """

    is_complete = True

    def __init__(
        self,
        root: Path,
        base_url: str,
        *,
        clean_urls: bool = False,
        include: Collection[str] = (),
        exclude: Collection[str] = (),
        dates: Mapping[str, float] | None = None,
        skip: Callable[[str], bool] = lambda _: False,
    ) -> None:
        if not root.is_dir():
            raise UsageError(f"{root} is not a folder")
        self._root = root.resolve()
        self._base = base_url if base_url.endswith("/") else base_url + "/"
        self._clean_urls = clean_urls
        self._include = tuple(include)
        self._exclude = tuple(exclude)
        self._dates = dates or {}
        self._skip = skip

    def resources(self) -> Iterator[Resource | Problem]:
        """Every file that is to be published."""
        count = 0
        urls: set[str] = set()
        for found in self._walk(self._root, "", frozenset()):
            if isinstance(found, Resource):
                count += 1
                if count > MOST_RESOURCES:
                    yield Problem("too-many", f"more than {MOST_RESOURCES:,} files")
                    return
                if self._clean_urls:  # page.html beside page/index.html
                    if found.url in urls:
                        yield Problem("repeated", found.url)
                        continue
                    urls.add(found.url)
            yield found

    def _walk(self, folder: Path, prefix: str, above: frozenset[tuple[int, int]]) -> Iterator[Resource | Problem]:
        try:
            status = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield Problem("unreadable", f"{prefix or '.'}: {error.strerror}")
            return
        here = (status.st_dev, status.st_ino)
        if here in above:  # a link to a folder above itself
            return
        for entry in entries:
            path = prefix + entry.name
            if entry.name.startswith("."):
                continue
            if not _is_utf8(entry.name):
                yield Problem("not-utf8-name", path.encode("utf-8", "backslashreplace").decode())
                continue
            if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(self._root):
                yield Problem("outside-root", path)
                continue
            try:
                is_folder = entry.is_dir()
            except OSError:
                is_folder = False
            if is_folder:
                yield from self._walk(Path(entry.path), f"{path}/", above | {here})
            elif self._is_wanted(path):
                yield from self._file(entry, path)

    def _is_wanted(self, path: str) -> bool:
        if self._skip(path) or any(fnmatchcase(path, pattern) for pattern in self._exclude):
            return False
        return not self._include or any(fnmatchcase(path, pattern) for pattern in self._include)

    def _file(self, entry: os.DirEntry[str], path: str) -> Iterator[Resource | Problem]:
        try:
            status = entry.stat()
        except OSError as error:
            yield Problem("unreadable", f"{path}: {error.strerror}")
            return
        address = quote(self._address(path), safe=_IN_PATH)
        if len(address) > LONGEST_PATH:
            yield Problem("too-long", path[:200])
            return
        mime, coding = _TYPES.guess_type(entry.name, strict=False)
        if coding is not None:  # page.html.gz is not a page
            mime = f"application/{coding}" if coding in ("gzip", "zstd") else None
        date = self._dates.get(path, status.st_mtime)
        yield Resource(
            self._base + address,
            mime or "application/octet-stream",
            status.st_size,
            status.st_mtime_ns,
            date,
            partial(_content, entry.path, status.st_size),
        )

    def _address(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        if name in ("index.html", "index.htm"):
            return f"{folder}/" if folder else ""
        return path.removesuffix(".html") if self._clean_urls else path


def git_dates(root: Path) -> dict[str, float]:
    """When a commit last touched each file below a folder of a git work tree, by path from that folder."""
    options = ("--format=%x01%ct", "--name-only", "--relative", "--no-renames", "-z")
    command = ["git", "-C", str(root), "log", *options, "--", "."]
    try:
        done = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, check=False)  # noqa: S603 - no shell
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeriplusError(f"git could not tell the dates of {root}: {error}") from error
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"git could not tell the dates of {root}: {reason[-1] if reason else 'no reason given'}")
    return _read_git_log(done.stdout.decode("utf-8", "surrogateescape"))


def _read_git_log(log: str) -> dict[str, float]:
    """With -z every name ends with NUL; the time of a commit stands before its names, after a byte of one."""
    dates: dict[str, float] = {}
    at = 0.0
    for part in log.split("\0"):
        name = part.strip("\n")
        if name.startswith("\x01"):
            time, _, name = name[1:].partition("\n")
            at = float(time)
        if name:
            dates.setdefault(name.strip("\n"), at)
    return dates


def _content(path: str, size: int) -> bytes:
    """The bytes of a file; of one that is too large to be read as a page, a digest of them."""
    if size <= LARGEST:
        return Path(path).read_bytes()
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
