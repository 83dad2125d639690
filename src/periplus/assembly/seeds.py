"""Reads seeds as people write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from periplus.model import ConfigError, Url
from periplus.urls import canonical

_LOCAL = re.compile(r"localhost|[\w.-]+\.(?:localhost|test|internal|local)|[\d.]+|\[[\da-f:.]+\]", re.IGNORECASE)
"""Hosts of this machine or of a private network, which rarely have a certificate: http is assumed.

Only the scheme depends on this. Which private addresses a crawl may reach is decided in `crawl.fetch.addresses`.
"""
_PORT = re.compile(r"[^/?#]*:(\d+)")


def seeds_from(texts: Sequence[str]) -> tuple[Url, ...]:
    """The canonical URLs of seeds, in order and without repetitions. Raises `ConfigError` for what is not a URL."""
    seeds: dict[Url, None] = {}
    for text in texts:
        seed = canonical(with_scheme(text))
        if seed is None:
            raise ConfigError(f"the seed {text!r} is not a URL", hint="Write it as https://example.org/")
        seeds[seed] = None
    return tuple(seeds)


def with_scheme(text: str) -> str:
    """A seed with its scheme: https by default, http on this machine, on an address, and on a port other than 443."""
    text = text.strip()
    if "://" in text:
        return text
    port = _PORT.match(text)
    host = re.split(r"[/?#]", text, maxsplit=1)[0]
    is_plain = _LOCAL.fullmatch(host) if port is None else port[1] != "443"
    return f"http://{text}" if is_plain else f"https://{text}"
