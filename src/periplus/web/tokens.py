"""The file of tokens: the first line is the token of operators, the second, if there is one, that of viewers."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from msgspec import Struct

from periplus.model import UsageError

_NEW_TOKEN = 24
"""Random bytes of a token that is made: 32 characters."""
_MAX_FILE = 10_000
"""Bytes of a file of tokens."""


class Tokens(Struct, frozen=True):
    """The tokens of a server; `is_new` if they were made now."""

    operator: str = ""
    viewer: str = ""
    is_new: bool = False


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file. If it does not exist, it is made with a random token, readable by its owner only."""
    try:
        if not path.exists():
            return _made(path)
        with path.open(encoding="utf-8") as file:
            lines = file.read(_MAX_FILE).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "not in UTF-8"
        raise UsageError(f"{path}: {what}", hint="Give a file with a token, or one that does not exist yet.") from error
    tokens = [line.strip() for line in lines if line.strip()]
    if not tokens:
        raise UsageError(f"{path} has no token", hint="Delete the file: --token-file then makes one.")
    return Tokens(tokens[0], tokens[1] if len(tokens) > 1 else "")


def _made(path: Path) -> Tokens:
    token = secrets.token_urlsafe(_NEW_TOKEN)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{token}\n")
    return Tokens(token, is_new=True)
