"""The table `[render]` of the settings."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Struct

from periplus.model import ConfigError
from periplus.model.flags import PERSONAL, Flag

_POSITIVE = ("timeout", "first_timeout", "settle", "max_busy", "max_requests", "max_bytes", "max_navigations", "tests")
"""Settings that must be greater than 0."""

UNAVAILABLE: Final = "render-unavailable"
"""The reason of a page that was not rendered because the browser cannot be started."""


class RenderMode(StrEnum):
    """Which pages are opened in a browser."""

    NEVER = "never"
    WHEN_NEEDED = "when-needed"
    ALWAYS = "always"


class RenderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which pages are opened in a browser, and what they may cost. Times are in seconds, sizes in bytes."""

    mode: Annotated[
        str,
        Flag(
            "--render",
            "Which pages are opened in a browser, so that their scripts run. Needs Chromium.",
            choices=tuple(RenderMode),
        ),
    ] = "never"
    """Which pages are opened in a browser: never, when-needed or always. Needs the extra `render`."""
    browser: Annotated[str, PERSONAL] = ""
    """The path of a Chromium; empty: chromium-headless-shell, else chromium, as installed."""
    sandbox: Annotated[bool, PERSONAL] = True
    """Keep the browser's sandbox. As root, and in most containers, Chromium starts only without it."""
    tabs: int = 0
    """Pages open at the same time in one process; 0: one a core, at most 4, shared by all processes."""
    timeout: float = 10.0
    """Maximum time for a page in the browser."""
    first_timeout: float = 15.0
    """The same for the first page of a site."""
    quiet: float = 0.5
    """A page is complete when the network was quiet for this long after it loaded..."""
    still: float = 0.3
    """...its document did not change for this long, and no timer waits that ends in time..."""
    settle: float = 5.0
    """...or when this much time has passed since it loaded."""
    max_busy: float = 5.0
    """Time for which a script may block its page."""
    max_requests: int = 60
    """Maximum requests of a page."""
    max_bytes: int = 10_000_000
    """Maximum bytes received for a page."""
    max_navigations: int = 2
    """Times that a page may be loaded: scripts may load it again."""
    max_scrolls: int = 5
    """Times that a page is scrolled to its end while it grows."""
    blocked: tuple[str, ...] = ("image", "media", "font", "ping", "manifest", "other")
    """Kinds of requests that are refused, by their names in browsers."""
    recycle_pages: int = 200
    """Pages after which the browser is started again."""
    max_memory: int = 1_000_000_000
    """Memory of all the browser's processes beyond which it is started again."""
    archive: bool = False
    """Archive what pages load as well, for replay."""
    steady: bool = False
    """Give scripts a fixed time and fixed random numbers, so that visits can be compared. Some sites break."""
    tests: int = 3
    """Pages of a template rendered before it is decided whether it needs scripts."""
    retest_days: float = 90.0
    """Days after which a decision is tested again."""

    def __post_init__(self) -> None:
        if self.mode not in {mode.value for mode in RenderMode}:
            names = ", ".join(mode.value for mode in RenderMode)
            raise ConfigError(f"render.mode must be one of {names}, got {self.mode!r}")
        for name in _POSITIVE:
            if getattr(self, name) <= 0:
                raise ConfigError(f"render.{name} must be greater than 0, got {getattr(self, name)}")

    @property
    def is_on(self) -> bool:
        """Whether any page may be opened in a browser."""
        return self.mode != RenderMode.NEVER


class RenderTables(Struct, frozen=True):
    """Its settings."""

    render: RenderSettings
