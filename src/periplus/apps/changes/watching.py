"""A watch of a collection as it is asked for: which settings are saved, and which hold for this run alone."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from msgspec.structs import replace

from periplus.collection.collection import CollectionSetup, existing, planned, tally_of
from periplus.model import UsageError

_DAY = 86_400.0
_BUDGET = re.compile(r"(\d{1,12})(?:/(?:d|day))?", re.ASCII)


def planned_watch(
    folder: Path, asked: Mapping[str, object], budget: str | int | None = None
) -> tuple[CollectionSetup, CollectionSetup]:
    """The collection as it is saved, and as it is watched now. Raises `UsageError` if it has no pages to revisit.

    `asked` are settings by name, `budget` is what was typed after `--budget`.
    """
    asked = dict(asked)
    if budget is not None:
        asked["watch.visits_a_day"] = visits_a_day(str(budget))
    seconds = cast("float | None", asked.pop("crawl.for", None))
    watched = _watched(folder, asked)
    if seconds is not None and not seconds:
        raise UsageError(
            "--for must be more than 0, got 0", hint="write --for 12h, or leave --for out to watch until Ctrl-C"
        )
    return watched, for_this_run(watched, seconds)


def visits_a_day(text: str) -> int:
    """What was typed after `--budget`."""
    found = _BUDGET.fullmatch(text.strip().replace(",", "").replace("_", ""))
    if found is None or not int(found[1]):
        raise UsageError(
            f"--budget must be a number of visits a day, got {text}", hint="write --budget 10000 or 10000/day"
        )
    return int(found[1])


def _watched(folder: Path, asked: Mapping[str, object]) -> CollectionSetup:
    """The collection with the given options. Raises `UsageError` if it has no pages to revisit."""
    if not tally_of(existing(folder).layout).pages:
        raise UsageError(
            f"{folder} has no page yet, so that there is nothing to come back to",
            hint=f"periplus crawl -o {shlex.quote(str(folder))} fetches them; then watch",
        )
    return planned(folder, options=asked)


def for_this_run(collection: CollectionSetup, seconds: float | None) -> CollectionSetup:
    """The collection with settings that are not saved: no limit of pages, and only the time limit given now.

    The limit of visits a day to a site becomes its politeness delay; other sites at the same address are not slowed
    down by that.
    """
    settings: dict[str, object] = {"crawl.limit": 0, "crawl.for": seconds or 0.0}
    politeness, per_site = collection.config.politeness, collection.config.watch.per_site
    if per_site:
        settings["politeness.delay"] = max(politeness.delay, _DAY / per_site)
        settings["politeness.ip_delay"] = politeness.between_requests_to_an_address
    return replace(collection, config=collection.config.with_options(settings))
