"""What tests of the library share."""

from __future__ import annotations

from tests.system.conftest import run

__all__ = ["run"]
