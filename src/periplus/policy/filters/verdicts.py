"""The verdict that is given most often, made once: building a value costs as much as a whole guard."""

from __future__ import annotations

from typing import Final

from ...model import Accept

ACCEPT: Final = Accept()
