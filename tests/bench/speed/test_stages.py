"""The stages of a page name functions that exist."""

from __future__ import annotations

from importlib import import_module

from bench.speed.stages import STAGES


def test_every_stage_names_functions_of_this_version() -> None:
    """A function that was renamed would be passed over, and its time counted elsewhere."""
    for place in (place for places in STAGES.values() for place in places):
        module, _, name = place.partition(":")
        found: object = import_module(f"periplus.{module}")
        for each in name.split("."):
            found = getattr(found, each)
        assert callable(found), place
