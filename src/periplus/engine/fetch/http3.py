"""Which sites are asked with HTTP/3: those that offer it with `Alt-Svc` (RFC 7838), as long as that holds.

Only an offer of the same host and port counts: an alternative elsewhere would be another server to be polite to. Where
HTTP/3 fails, libcurl takes HTTP/2 within the same transfer if it can; the site is then asked without HTTP/3 for a day.
"""

from __future__ import annotations

import re
from typing import Final

import pycurl

from periplus.model import Site

from .connections import remember

_DAY: Final = 86_400.0
_MAX_FIELD: Final = 4_096
_OFFER: Final = re.compile(
    r'[ \t]*([^\s=,;"]+)="([^"\\]*)"((?:[ \t]*;[ \t]*[^\s=,;"]+=(?:"[^"\\]*"|[^\s,;"]+))*)[ \t]*(?:,|$)'
)
_AGE: Final = re.compile(r';[ \t]*ma="?(\d{1,10})"?[ \t]*(?:;|$)', re.IGNORECASE)


def is_supported() -> bool:
    """Whether this libcurl has HTTP/3."""
    return bool(pycurl.version_info()[4] & pycurl.VERSION_HTTP3)


def offered_for(field: str, site: Site) -> float:
    """The seconds for which an `Alt-Svc` field offers HTTP/3 at the site itself; 0 if it does not."""
    host, _, port = site.rpartition(":") if re.search(r":\d+$", site) else (site, "", "443")
    at = 0
    while at < len(field) <= _MAX_FIELD and (offer := _OFFER.match(field, at)):
        at = offer.end()
        if offer[1] == "h3" and offer[2].lower() in (f":{port}", f"{host}:{port}"):
            age = _AGE.search(offer[3])
            return float(age[1]) if age else _DAY
    return 0.0


class Http3:
    """What is known of HTTP/3 at sites, for all transfers of a wire."""

    __slots__ = ("_failed", "_offered")

    def __init__(self) -> None:
        self._offered: dict[Site, float] = {}
        self._failed: dict[Site, float] = {}

    def is_offered(self, site: Site, now: float) -> bool:
        """Whether a site is asked with HTTP/3."""
        return self._offered.get(site, 0.0) > now and self._failed.get(site, 0.0) <= now

    def learn(self, site: Site, field: str | None, now: float) -> None:
        """Take note of the `Alt-Svc` of an answer. Without the field, an earlier offer holds."""
        if field is None:
            return
        if seconds := offered_for(field, site):
            remember(self._offered, site, now + seconds)
        else:
            self._offered.pop(site, None)

    def fail(self, site: Site, now: float) -> None:
        """Ask a site without HTTP/3 for a day."""
        remember(self._failed, site, now + _DAY)
