"""Domains that are parked at one broker, and small companies that mostly link to their shop elsewhere."""

from __future__ import annotations

from ..exchange import Answer, Request
from ..randomness import key_of
from ..sites import DOMAIN
from .part import Part
from .small_site import HTML, notice, plain_style, prose

PARKED = tuple(f"for-sale-{number}.{DOMAIN}" for number in range(8))
COMPANIES = tuple(f"company-{number}.{DOMAIN}" for number in range(8))
BROKER = f"broker.{DOMAIN}"
_OFFER = (
    "This domain is for sale. Make an offer today and own it tomorrow. Our brokers will be happy to help you find the "
    "right price, and will transfer the name to you within a few days after your payment has arrived."
)


class ParkedDomains(Part):
    """The parked domains, and the companies."""

    hosts = (*PARKED, *COMPANIES)

    def address(self, host: str) -> str | None:
        """All parked domains have one address."""
        if host in PARKED:
            return "127.243.0.1"
        return f"127.243.1.{1 + COMPANIES.index(host)}" if host in COMPANIES else None

    def answer(self, request: Request) -> Answer | None:
        """A parked domain has a page for every path, a company one page."""
        host, path = request.host, request.target.partition("?")[0]
        if host not in self.hosts:
            return None
        if path == "/robots.txt":
            return notice(404, "Not found", "There is no such page.")
        if host in PARKED:
            links = [f"http://{BROKER}/{topic}?d={host}" for topic in ("offer", "price", "help", "similar")]
            return Answer(200, HTML, plain_style("Domain for sale", [_OFFER], [*links, "/related.html"]))
        if path != "/":
            return notice(404, "Not found", "There is no such page.")
        shop = [f"http://{host.replace('company', 'shop')}/{number}" for number in range(5)]
        text = prose(key_of(self.world.seed, host), 8)
        return Answer(200, HTML, plain_style(f"Welcome to {host}", [text], shop))
