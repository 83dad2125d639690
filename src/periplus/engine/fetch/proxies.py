"""The proxies that a wire sends its requests through, and which of them rest.

A site keeps its proxy, so that a session there has one address. A proxy that fails several times in a row rests, ever
longer, and its sites go to the next one. Where all rest, a request fails at once. One proxy alone never rests: there is
nothing to use in its place. Only their names (host and port) are in outcomes; passwords are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from xxhash import xxh3_64_intdigest

from periplus.model import ConfigError, Site

from .limits import WireSettings, is_proxy

MOST_TRIED: Final = 3
"""Proxies that are tried for a request before it fails: they cannot open a connection, so the site was not asked."""
_FAILURES: Final = 3
"""Failures in a row after which a proxy rests."""
_FIRST_REST: Final = 60.0
_LONGEST_REST: Final = 3600.0
_MOST_DOUBLED: Final = 6
"""Times after which a rest is the longest."""
_MOST: Final = 10_000
"""Proxies in a file."""


class Proxy:
    """One proxy and its health: failures in a row, and until when it rests."""

    __slots__ = ("failures", "rests_until", "url")

    def __init__(self, url: str) -> None:
        self.url = url
        self.failures = 0
        self.rests_until = 0.0

    def __repr__(self) -> str:
        return f"Proxy({self.url.rpartition('@')[2]})"


class Proxies:
    """All proxies of a wire: the one that the settings name, and those of their file. Used from one thread."""

    def __init__(self, settings: WireSettings, password: str = "") -> None:
        """`password` is the `user:password` of the proxy that the settings name, which they do not have."""
        alone = with_password(settings.proxy, password) if settings.proxy else ""
        listed = read_proxies(settings.proxies) if settings.proxies else []
        self._all = [Proxy(url) for url in dict.fromkeys([*filter(None, [alone]), *listed])]

    def __len__(self) -> int:
        return len(self._all)

    def of(self, site: Site, now: float, tried: Sequence[Proxy] = ()) -> Proxy | None:
        """The proxy of a site, or the next one that was not tried; `None` if all others rest."""
        count = len(self._all)
        first = xxh3_64_intdigest(site.encode())
        for number in range(count):
            proxy = self._all[(first + number) % count]
            if (proxy.rests_until <= now or count == 1) and proxy not in tried:
                return proxy
        return None

    def worked(self, proxy: Proxy) -> None:
        """Note that a proxy opened a connection."""
        proxy.failures = 0

    def failed(self, proxy: Proxy, now: float) -> None:
        """Note that a proxy did not open a connection. One that was resting and fails again rests twice as long."""
        proxy.failures += 1
        if proxy.failures >= _FAILURES:
            doubled = min(proxy.failures - _FAILURES, _MOST_DOUBLED)
            proxy.rests_until = now + min(_FIRST_REST * 2**doubled, _LONGEST_REST)

    def why_none(self, now: float) -> str:
        """Why no proxy can be used now, for people."""
        soonest = min(proxy.rests_until for proxy in self._all) - now
        return f"all {len(self._all)} proxies rest after failures, the next one for {max(soonest, 0.0):.0f} s"


def with_password(proxy: str, password: str) -> str:
    """A proxy with `user:password@`, if there is such."""
    scheme, mark, rest = proxy.rpartition("://")
    return f"{scheme}{mark}{password}@{rest}" if password else proxy


def split_password(proxy: str) -> tuple[str, str]:
    """A proxy without `user:password@`, and these."""
    scheme, mark, rest = proxy.rpartition("://")
    password, _, place = rest.rpartition("@")
    return f"{scheme}{mark}{place}", password


def read_proxies(file: str) -> Sequence[str]:
    """The proxies of a file, one a line; lines that are empty or begin with # are left out. Errors show no line."""
    hint = "Give a file with a proxy in each line: http://user:password@127.0.0.1:3128"
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or "not in UTF-8"
        raise ConfigError(f"proxies: {file} cannot be read: {what}", hint=hint) from None
    found = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip() and line[:1] != "#"]
    for number, line in found:
        if not is_proxy(line):
            raise ConfigError(f"proxies: line {number} of {file} is not a proxy", hint=hint)
    if not 0 < len(found) <= _MOST:
        raise ConfigError(f"proxies: {file} has {len(found)} proxies", hint=f"Give 1 to {_MOST}")
    return [line for _, line in found]
