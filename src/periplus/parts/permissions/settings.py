"""Settings of the permission ledger."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from periplus.model import ConfigError
from periplus.model.flags import FAR, Flag

CONDITIONS: Final = ("attribution", "share-alike", "non-commercial", "no-derivatives")
"""Conditions that can be accepted: all others would have to be paid for, asked for, or proved."""


class PermissionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether it is recorded what pages may be used for, and which conditions are met."""

    ledger: Annotated[
        bool,
        Flag(
            "--permissions/--no-permissions",
            "Record for every page what its site permits, with the proof; asks sites for tdmrep.json and licences too.",
            None,
            FAR,
        ),
    ] = False
    """Record what sites permit. Requests `/.well-known/tdmrep.json` and the licences that are named, once a day."""
    accept: tuple[str, ...] = ()
    """Conditions that users of the collection meet: `attribution`, `share-alike`, `non-commercial`, `no-derivatives`.
    A licence under others is not one for exports."""

    def __post_init__(self) -> None:
        """Check that the conditions can be met."""
        for name in self.accept:
            if name not in CONDITIONS:
                raise ConfigError(f"permissions.accept can name {', '.join(CONDITIONS)}, got {name!r}")


class PermissionTables(Struct, frozen=True):
    """Its settings."""

    permissions: PermissionSettings
