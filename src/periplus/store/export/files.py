"""A folder with one file for each page: `host/path.md`, or `.txt`.

Markdown begins with a few lines of YAML between dashes (front matter), which say where the page is from; a text file is
the text and nothing else. The folder must be new or empty: then a name that is taken means that two URLs have it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath

from periplus.model import Url, UsageError
from periplus.urls import fingerprint, site_of

from .documents import Document

_UNSAFE = re.compile(r"[^A-Za-z0-9%!$&\'()+,;=@._~\-]|^\.+|[. ]+$")
_LONGEST_NAME = 100
_DEEPEST = 16


def file_of(url: Url, suffix: str) -> PurePosixPath:
    """Where this URL goes, below the folder of an export. `suffix` has its dot."""
    path, _, query = url[url.index("/", 8) :].partition("?")
    *folders, name = path.split("/")[1:]
    wanted = [*folders, name or "index"] if not query else [*folders, f"{name or 'index'}_{query}"]
    given = [_safe(part) for part in wanted]
    if len(given) > _DEEPEST:
        given = [*given[: _DEEPEST - 1], given[-1]]
    if given != wanted or query:
        given[-1] = f"{given[-1]}~{fingerprint(url):016x}"
    return PurePosixPath(_safe(site_of(url).replace(":", "_")), *given[:-1], given[-1] + suffix)


def other_file_of(url: Url, suffix: str) -> PurePosixPath:
    """Where it goes if that place is taken: `http` and `https` may differ, and some file systems ignore case."""
    return PurePosixPath(_safe(site_of(url).replace(":", "_")), f"~{fingerprint(url):016x}{suffix}")


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name)[:_LONGEST_NAME] or "_"


MARKDOWN, TEXT = ".md", ".txt"


def prepare_folder(folder: Path) -> None:
    """Make the folder, if it is not there; refuse one that holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder", hint="name a folder that does not exist yet")
    folder.mkdir(parents=True, exist_ok=True)


def write_file(document: Document, folder: Path, suffix: str) -> bool:
    """Write the file of a page; `False` if it has no text."""
    text = document.to_markdown() if suffix == MARKDOWN else document.to_text()
    if not text.strip():
        return False
    if suffix == MARKDOWN:
        text = f"{_front_matter(document)}\n{text}"
    data = (text.rstrip("\n") + "\n").encode("utf-8", "replace")
    url = document.capture.url
    if not _create(folder, file_of(url, suffix), data):
        _create(folder, other_file_of(url, suffix), data)
    return True


def _front_matter(document: Document) -> str:
    capture, page = document.capture, document.page
    facts = {
        "url": capture.url,
        "title": page.title,
        "language": page.language,
        "fetched_at": capture.fetched_at.isoformat().replace("+00:00", "Z"),
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in facts.items() if value]
    return "\n".join(["---", *lines, "---", ""])


def _create(folder: Path, file: PurePosixPath, data: bytes) -> bool:
    """Write a new file; `False` if its place is taken, by a file or by a folder, or a file is in its way."""
    path = folder / file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as opened:
            opened.write(data)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return False
    return True
