"""How many examples hypothesis tries: few in every run of the tests, many in `make soak`."""

from __future__ import annotations

import os
from contextlib import suppress

from hypothesis import HealthCheck, Phase, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
"""The profile in use: `default`, `thorough` (`make soak`), or `unshrunk`: a failure is not made smaller."""

EXAMPLES = 20
"""Examples of a property without a number of its own. Every run draws different ones."""

THOROUGH_EXAMPLES = 600
"""The same in the profile `thorough`."""

FACTOR = 20
"""How many times as many examples the profile `thorough` tries of a property with a number of its own."""


def load_profile() -> None:
    """Register all profiles with hypothesis and load the one in use."""
    settings.register_profile(
        "default", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=THOROUGH_EXAMPLES)
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("unshrunk", parent=settings.get_profile("default"), phases=phases)
    settings.load_profile(PROFILE)
    if PROFILE != "thorough":
        _leave_out_constants()


def _leave_out_constants() -> None:
    """Keep hypothesis from reading the constants of all sources, which every worker of a run would do for seconds.

    Only the profile `thorough` draws them as examples. Where hypothesis has changed inside, it reads them as before.
    """
    with suppress(ImportError, AttributeError):
        from hypothesis.internal.conjecture import providers

        none = providers._local_constants
        providers._get_local_constants = lambda: none


def examples(count: int) -> int:
    """Return how many examples to try where one costs more or less than usual: `count` in the default profile."""
    return FACTOR * count if PROFILE == "thorough" else count
