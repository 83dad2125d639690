"""Values of DuckDB as programs take them: in JSON and in CSV."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

MAX_DEPTH: Final = 50
"""Lists and objects within each other: deeper ones become null, because encoders do not take any depth."""


def plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A value as JSON has it: times in ISO 8601, bytes in hexadecimal, whole numbers whole."""
    if depth < 0:
        return None
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list):
        return [plain(each, depth - 1) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each, depth - 1) for key, each in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat()}Z" if at.tzinfo else at.isoformat()


def word(value: Any) -> str:
    """A value as a cell of CSV: text as it is, everything else as JSON writes it."""
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
