"""What all tests share: where the public conformance data lies, and how deep hypothesis digs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("PERIPLUS_CORPUS", ROOT.parent / "shared" / "corpus"))

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_report_header(config: pytest.Config) -> str:
    """Say whether the tests marked `corpus` will run."""
    if CORPUS.is_dir():
        return "corpus: found"
    return "corpus: absent, its tests are skipped (set PERIPLUS_CORPUS to its folder)"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of public conformance data of other projects; skips where there is none."""
    if not CORPUS.is_dir():
        pytest.skip("no corpus of conformance data here (set PERIPLUS_CORPUS to its folder)")
    return CORPUS
