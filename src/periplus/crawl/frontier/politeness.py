"""How long a site is left alone.

After a visit a site rests for the longest of three: the delay that we were told, the one that its robots.txt asks for,
and a multiple of the time its last answer took, so that a slow site is asked less (Mercator: Najork & Heydon 2001;
Olston & Najork 2010 section 2.2). A visit may take several pages over one kept-alive connection (Castillo et al. 2004:
k pages per connection, w seconds between connections); unless told so, it takes one.

Sites that share an address share a server: requests to one address begin at least `ip_delay` apart; if several shards
have sites there, those of each as many times that as there are such shards (`claims`).
"""

from __future__ import annotations

from msgspec import Struct

MAX_DELAY = 3600.0
"""A robots.txt that asks for more than an hour between visits gets an hour."""


class PolitenessSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How gently sites are treated.

    `delay`: seconds between two visits of a site, at least. `patience`: and so many times the time of its last answer.
    `ip_delay`: seconds between two requests to one address; negative: a quarter of `delay`. `pages_per_visit`: so many
    pages are taken on one connection before the site rests. `max_parallel`: requests to a site at once.
    `max_bytes_per_site`: after so many bytes a site is visited no more. `lease`: seconds after which a task that nobody
    reported is offered again.
    """

    delay: float = 1.0
    patience: float = 5.0
    ip_delay: float = -1.0
    pages_per_visit: int = 1
    max_parallel: int = 1
    max_bytes_per_site: int = 100 * 2**30
    lease: float = 300.0

    @property
    def between_requests_to_an_address(self) -> float:
        """`ip_delay`, or what it is by default."""
        return self.ip_delay if self.ip_delay >= 0 else self.delay / 4


def rest_after(settings: PolitenessSettings, asked: float | None, last_duration: float) -> float:
    """Seconds from the end of a visit to the next: the longest of ours, theirs, and what their speed suggests."""
    return max(settings.delay, min(asked or 0.0, MAX_DELAY), min(settings.patience * last_duration, MAX_DELAY))
