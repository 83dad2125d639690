"""The wire of a crawl that renders pages, made from settings; nothing of it is loaded where none is rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from periplus.config import Config
from periplus.model import Clock

if TYPE_CHECKING:
    from periplus.crawl.fetch import AddressGuard, CurlWire
    from periplus.crawl.render import RenderingWire


def check_rendering(config: Config) -> None:
    """Raise `ConfigError` if pages are to be rendered and cannot be on this machine."""
    if config.render.is_on:
        from periplus.crawl.render import check_browser

        check_browser(config.render, config.wire.proxy)


def rendering_wire(config: Config, wire: CurlWire, *, guard: AddressGuard, clock: Clock, count: int) -> RenderingWire:
    """A wire that opens pages in a browser, in front of one that fetches. `count` shards share the machine."""
    from periplus.crawl.fetch import Resolver
    from periplus.crawl.render import BrowserPool, RenderingWire

    pool = BrowserPool(
        config.render,
        wire=config.wire,
        agent=config.identity.agent,
        resolver=Resolver(config.dns, clock=clock),
        guard=guard,
        clock=clock,
        processes=count,
    )
    return RenderingWire(wire, pool, max_decoded=config.reading.max_decoded_bytes)
