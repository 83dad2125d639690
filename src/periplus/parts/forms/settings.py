"""Settings of forms."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import ConfigError, Site
from periplus.model.flags import FAR, Flag


class FormSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which forms are submitted, and how often."""

    enabled: Annotated[
        Literal["never", "discover", "submit"],
        Flag(
            "--forms/--no-forms",
            "Submit search forms (GET only), or only find and report forms (the default).",
            panel=FAR,
            values=("submit", "discover"),
        ),
    ] = "discover"
    """"never", "discover" (find, classify and report forms) or "submit" (also submit search forms, GET only)."""
    interval: float = 5.0
    """Minimum seconds between two queries of a form."""
    forms_per_site: int = 3
    """Maximum forms of a site that are submitted."""
    max_requests: int = 2_000
    """Maximum pages of results fetched through a form."""
    requests_per_day: int = 500
    """The same in a day."""
    budget_share: float = 0.05
    """Maximum share of `budgets.max_pages_per_site` for a form's pages of results."""
    size_factor: float = 20.0
    """Maximum pages of results: this times the square root of the estimated records; 0: no such limit."""
    max_open: int = 100
    """Forms submitted at the same time in a shard, at up to some megabytes each."""

    def __post_init__(self) -> None:
        """Check that the values can be."""
        if self.interval < 0:
            raise ConfigError(f"forms.interval must be >= 0, got {self.interval}")
        if not 0.0 < self.budget_share <= 1.0:
            raise ConfigError(f"forms.budget_share must be > 0 and <= 1, got {self.budget_share}")
        for name in ("forms_per_site", "max_requests", "requests_per_day", "max_open"):
            if getattr(self, name) < 1:
                raise ConfigError(f"forms.{name} must be >= 1, got {getattr(self, name)}")

    def within(self, pages: int) -> FormSettings:
        """These settings for sites of at most this number of pages."""
        return replace(self, max_requests=max(1, min(self.max_requests, int(self.budget_share * pages))))

    @property
    def are_found(self) -> bool:
        """Whether forms are found and reported."""
        return self.enabled != "never"

    @property
    def are_submitted(self) -> bool:
        """Whether search forms are submitted."""
        return self.enabled == "submit"


class FormRules(Struct, frozen=True):
    """The settings, and what they depend on elsewhere.

    `signed_in` are sites that get a password, token or cookie with each request; `suffixes` are further public
    suffixes, as in the scope.
    """

    settings: FormSettings = FormSettings()
    signed_in: frozenset[Site] = frozenset()
    suffixes: tuple[str, ...] = ()


class FormTables(Struct, frozen=True):
    """Its settings."""

    forms: FormSettings
