"""A site seen under a path: `/~host/...` of the machine itself, for browsers that cannot resolve the lab's names.

Links, forms and redirects to hosts of the lab are led back under such paths, so that a person can walk from site to
site. A crawler should not come this way: it would see one host where there are many.
"""

from __future__ import annotations

import re

from .exchange import Answer

_LINK = rb"""((?:href|src|action)\s*=\s*["']?)"""
_ABSOLUTE = re.compile(_LINK + rb"""https?://([\w.-]{1,253}\.lab\.test)(?::\d+)?(?=[/?#"'\s>])""", re.IGNORECASE)
_ROOTED = re.compile(_LINK + rb"""/(?![/~])""", re.IGNORECASE)
_LOCATION = re.compile(r"https?://([\w.-]{1,253}\.lab\.test)(?::\d+)?(?=[/?#]|$)", re.IGNORECASE)


def path_of(host: str, target: str = "/") -> str:
    """Where a host's page is to be seen."""
    return f"/~{host}{target}"


def split(target: str) -> tuple[str, str]:
    """The host and its own target in `/~host/target`; the target is empty when the slash after the host is missing."""
    host, slash, rest = target.removeprefix("/~").partition("/")
    return host.lower(), slash + rest


def lead_back(answer: Answer, host: str) -> Answer:
    """The answer of a host with its ways out led back under paths."""
    headers = tuple(
        (name, _lead(value, host)) if name.lower() == "location" else (name, value) for name, value in answer.headers
    )
    body = answer.body
    if isinstance(body, bytes) and any(value.startswith("text/html") for _, value in headers):
        body = _ABSOLUTE.sub(rb"\1/~\2", body)
        body = _ROOTED.sub(rb"\1" + path_of(host).encode(), body)
    return Answer(answer.status, headers, body)


def _lead(location: str, host: str) -> str:
    if location.startswith("/") and not location.startswith("//"):
        return path_of(host, location)
    return _LOCATION.sub(r"/~\1", location)
