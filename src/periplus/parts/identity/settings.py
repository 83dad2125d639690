"""The table `[identity]` of the settings."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from periplus.model import ConfigError
from periplus.model.flags import PERSONAL

WHEN: Final = ("always", "asked", "never")
LONGEST: Final = 86_400


class IdentitySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether and how requests are signed."""

    key: Annotated[str, PERSONAL] = ""
    """The file of the key that signs, made by `periplus identity new`; empty: requests are not signed."""
    agent: Annotated[str, PERSONAL] = ""
    """The origin that publishes the key: `https://signer.example.org`."""
    sign: str = "always"
    """`always`; `asked`: only for sites that ask for it with `Accept-Signature`; `never`."""
    lifetime: int = 300
    """Seconds for which a signature holds."""
    nonce: bool = True
    """Give each signature a number of its own, so that sites can refuse copies of it."""

    def __post_init__(self) -> None:
        if self.sign not in WHEN:
            raise ConfigError(f"identity.sign: there is no {self.sign!r}", hint="Use always, asked or never")
        if not 1 <= self.lifetime <= LONGEST:
            raise ConfigError(
                f"identity.lifetime: {self.lifetime} is not between 1 and {LONGEST}",
                hint="Give the seconds for which a signature holds, as 300",
            )


class IdentityTables(Struct, frozen=True):
    """Its settings."""

    identity: IdentitySettings
