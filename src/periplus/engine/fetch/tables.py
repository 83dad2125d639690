"""The settings of requests, of which a guard is made."""

from __future__ import annotations

from msgspec import Struct

from .addresses import AddressGuard
from .dns import ResolverSettings
from .limits import WireSettings


class RequestTables(Struct, frozen=True):
    """The tables of settings that every request obeys."""

    wire: WireSettings = WireSettings()
    dns: ResolverSettings = ResolverSettings()

    @property
    def guard(self) -> AddressGuard:
        """Which addresses requests may be sent to, for which site."""
        return AddressGuard(allow_private=self.wire.allow_private, hosts=self.dns.hosts)
