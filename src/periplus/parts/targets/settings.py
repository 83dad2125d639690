"""Settings of crawls that learn which links lead to files: that ordering is the default of a crawl for files."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from periplus.model import ConfigError
from periplus.model.flags import Settings
from periplus.policy.filters import MediaSettings

from .ordering import TARGETS


class TargetRules(Struct, frozen=True):
    """What a crawl is for."""

    media: MediaSettings = MediaSettings()


def check(settings: Settings) -> None:
    """Raise `ConfigError` if the ordering is chosen in a crawl that is for pages."""
    if settings.value("crawl.ordering") == TARGETS and not settings.some(TargetRules).media.types:
        raise ConfigError(
            f"the ordering {TARGETS!r} needs types of files", hint="write --media application/pdf, or another type"
        )


def implied_when_new(asked: Mapping[str, object]) -> dict[str, object]:
    """A crawl for files looks for links that lead to them, unless it has another ordering or a topic."""
    is_chosen = any(asked.get(name) for name in ("crawl.ordering", "topic.words", "topic.like", "topic.program"))
    return {"crawl.ordering": TARGETS} if asked.get("media.types") and not is_chosen else {}
