"""Who we say we are: one honest name, the same for every server, and a way to reach whoever runs the crawl.

RFC 9110 sections 10.1.5 (User-Agent) and 10.1.2 (From); RFC 9309 section 2.2.1 wants the name that robots.txt knows us
by to be part of the name that servers see.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from periplus import __version__
from periplus.formats.robots import is_valid_agent
from periplus.model import ConfigError

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTACT: Final = re.compile(r"[!-'*-\[\]-~]*")
_MAILBOX: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


class Identity(Struct, frozen=True, forbid_unknown_fields=True):
    """The crawler as servers see it. `contact` is an address of a page or a mailbox, so that owners can complain."""

    contact: str = ""
    product: str = "Periplus"
    version: str = __version__

    def __post_init__(self) -> None:
        if not is_valid_agent(self.product):
            raise ConfigError(
                f"no robots.txt can name a crawler called {self.product!r}",
                hint="Use letters, dashes and underscores only",
            )
        if not _TOKEN.fullmatch(self.version):
            raise ConfigError(f"{self.version!r} cannot stand in a User-Agent", hint="Give a version such as 1.0")
        if not _CONTACT.fullmatch(self.contact):
            raise ConfigError(
                f"{self.contact!r} cannot stand in a User-Agent",
                hint="Give a mailbox or the URL of a page, in ASCII, without blanks and brackets",
            )

    @property
    def agent(self) -> str:
        """The User-Agent field."""
        return f"{self.product}/{self.version}" + (f" (+{self.contact})" if self.contact else "")

    @property
    def token(self) -> str:
        """The product token: the name that groups of a robots.txt are searched for."""
        return self.product

    @property
    def mailbox(self) -> str:
        """What may stand in a From field; empty where the contact is no mailbox."""
        contact = self.contact.removeprefix("mailto:")
        return contact if _MAILBOX.fullmatch(contact) else ""
