"""The file that a URL is exported to: `host/path.txt`, as one would look for it, and safe on every file system.

A path that ends in a slash is `index`. A port goes behind the host, a query behind the path. What file systems do not
like becomes `_`; where anything was changed or cut short, the name ends with `~` and the URL's fingerprint, so that
hardly any two URLs meet. Names in the URL are left percent-encoded, and no name is `.` or `..` or hidden.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from periplus.model import Url
from periplus.urls import fingerprint, site_of

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
