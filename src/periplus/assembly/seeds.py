"""Seeds, as people write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from periplus.model import ConfigError, Url
from periplus.urls import canonical

LOCAL = re.compile(r"localhost|[\w.-]+\.(?:localhost|test|internal|local)|[\d.]+|\[[\da-f:.]+\]", re.IGNORECASE)
"""Hosts of this machine, or of a network that is somebody's own."""
_PORT = re.compile(r"[^/?#]*:(\d+)")


def seeds_from(texts: Sequence[str]) -> tuple[Url, ...]:
    """Seeds as people write them, each once."""
    seeds: dict[Url, None] = {}
    for text in texts:
        seed = canonical(with_scheme(text))
        if seed is None:
            raise ConfigError(f"{text!r} is no URL to begin with", hint="Write it as https://example.org/")
        seeds[seed] = None
    return tuple(seeds)


def with_scheme(text: str) -> str:
    """A seed as it was meant: https, but http on this machine, on a bare address, and where a port was named."""
    text = text.strip()
    if "://" in text:
        return text
    port = _PORT.match(text)
    host = re.split(r"[/?#]", text, maxsplit=1)[0]
    is_plain = LOCAL.fullmatch(host) if port is None else port[1] != "443"
    return f"http://{text}" if is_plain else f"https://{text}"
