"""Seeds of generated crawls that the tests run."""

from __future__ import annotations

from typing import Final

QUICK: Final = (14, 17, 18)
"""A few that between them have several shards, deaths, parallel requests, rendering, forms and a refresh."""
FOUND: Final = (4, 7, 43, 63)
"""Those that have found a bug; what each found is in the history of this file."""
