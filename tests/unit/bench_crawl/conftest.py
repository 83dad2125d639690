"""The bench is not part of the package: its tests find it from the root of the checkout, however pytest was started."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))
