"""Every kind of finding by name, as `findings.toml` declares them, in the order of the areas."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from periplus.view.findings import load_kinds

from .results import SiteFindingKind

KINDS: Final = load_kinds(Path(__file__).with_name("findings.toml"), SiteFindingKind)
