"""The identity of the crawler: one name, the same for every server, and a way to contact its owner.

RFC 9110 sections 10.1.5 (User-Agent) and 10.1.2 (From). RFC 9309 section 2.2.1 asks that the product token used in
robots.txt is part of the User-Agent.
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
    """The crawler as servers see it. `contact` is a mailbox or the URL of a page for site owners to complain to."""

    contact: str = ""
    product: str = "Periplus"
    version: str = __version__

    def __post_init__(self) -> None:
        if not is_valid_agent(self.product):
            raise ConfigError(
                f"product: {self.product!r} cannot be used in a robots.txt",
                hint="Use letters, dashes and underscores only",
            )
        if not _TOKEN.fullmatch(self.version):
            raise ConfigError(
                f"version: {self.version!r} cannot be used in a User-Agent", hint="Give a version such as 1.0"
            )
        if not _CONTACT.fullmatch(self.contact):
            raise ConfigError(
                f"contact: {self.contact!r} cannot be used in a User-Agent",
                hint="Give a mailbox or the URL of a page, in ASCII, without blanks and brackets",
            )

    @property
    def agent(self) -> str:
        """The User-Agent field."""
        return f"{self.product}/{self.version}" + (f" (+{self.contact})" if self.contact else "")

    @property
    def token(self) -> str:
        """The product token, by which the groups of a robots.txt are matched."""
        return self.product

    @property
    def mailbox(self) -> str:
        """The value of the From field; empty if the contact is not a mailbox."""
        contact = self.contact.removeprefix("mailto:")
        return contact if _MAILBOX.fullmatch(contact) else ""
