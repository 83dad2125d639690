"""Settings of the files that pages need."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from periplus.model import ConfigError
from periplus.model.flags import FAR, Flag


class RequisiteSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the files that pages need are fetched, and how many."""

    enabled: Annotated[
        bool,
        Flag(
            "--requisites/--no-requisites",
            "Fetch the style sheets, images, fonts, scripts and icons of pages too, so that archives show whole pages.",
            None,
            FAR,
        ),
    ] = False
    """Fetch style sheets, images, fonts, scripts, icons and manifests of pages, whatever their host is."""
    max_per_page: int = 500
    """Maximum files of a page, and of a style sheet."""
    max_bytes_per_page: int = 100 * 2**20
    """Maximum bytes of all files of a page, of those that one process fetches; further ones are refused."""
    max_depth: int = 5
    """Maximum style sheets in a row: a style sheet of a page is 1, what it imports 2, and so on."""

    def __post_init__(self) -> None:
        """Check that the values can be."""
        for name in ("max_per_page", "max_bytes_per_page", "max_depth"):
            if getattr(self, name) < 1:
                raise ConfigError(f"requisites.{name} must be >= 1, got {getattr(self, name)}")


class RequisiteTables(Struct, frozen=True):
    """Its settings."""

    requisites: RequisiteSettings
