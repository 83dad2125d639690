"""The key of a crawler as a file, its replacement, and what its agent publishes.

A key is replaced in three steps, a day apart, because verifiers keep directories for up to a day: a new key is
published beside the old one (`KEY.next`); it becomes the key, and the old one stays published (`KEY.old`), as crawls
that run may still sign with it; the old one is deleted.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from periplus.formats.web_bot_auth import (
    DIRECTORY_TYPE,
    WELL_KNOWN,
    AgentCard,
    PrivateKey,
    new_key,
    proof_fields,
    read_private_key,
    read_signature_agent,
    write_card,
    write_directory,
)
from periplus.model import ConfigError, UsageError
from periplus.store.durable import replace_file, write_file

CACHE_LIFETIME: Final = 86_400
"""Seconds for which verifiers may keep a directory."""
PROOF_LIFETIME: Final = 30 * 86_400
"""Seconds for which the signature of a written directory holds."""
MAX_KEY_BYTES: Final = 16 * 1024
CARD: Final = "card.json"
RULES: Final = ("User-Agent", "Allow", "Disallow")
"""The rules of robots.txt that the crawler follows."""


def load_key(path: Path) -> PrivateKey:
    """The key of a file that only its owner can read. Raises `ConfigError`."""
    try:
        mode = path.stat().st_mode
        with path.open("rb") as file:
            pem = file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise ConfigError(
            f"identity.key: {path} cannot be read: {error.strerror}", hint="periplus identity new FILE makes a key"
        ) from None
    if mode & 0o077:
        raise ConfigError(f"identity.key: others may read {path}", hint=f"Run chmod 600 {path}")
    check_outside(path)
    return read_private_key(pem)


def check_outside(path: Path) -> None:
    """Raise `ConfigError` if a key is in a collection, which may be copied or published."""
    for folder in path.resolve().parents:
        if (folder / "periplus.toml").is_file():
            raise ConfigError(
                f"identity.key: {path} is in the collection {folder}", hint="Move the key out of the collection"
            )


def check_agent(agent: str) -> str:
    """An agent that every version of the protocol understands. Raises `ConfigError` for anything but a bare origin."""
    read = read_signature_agent(f'agent="{agent}"')
    if len(read.agents) != 1 or read.agents[0].fetch != f"{agent}{WELL_KNOWN}":
        raise ConfigError(
            f"identity.agent: {agent!r} is not a bare https origin",
            hint="Give the host that publishes the key, as https://signer.example.org",
        )
    return agent


def make_key(path: Path) -> PrivateKey:
    """Write a new key, which only its owner can read. Raises `UsageError` if the file exists."""
    check_outside(path)
    key = new_key()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key.pem())
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # fails where a key is, and never leaves half of one
    except FileExistsError:
        raise UsageError(
            f"{path} exists", hint="Give another file, or replace the key with periplus identity rotate"
        ) from None
    finally:
        draft.unlink(missing_ok=True)
    return key


class KeyRotation(Struct, frozen=True):
    """A key by its thumbprint, those that are published beside it, and the step of a replacement that is next.

    `step` is `switch` or `drop-old` while a key is replaced, else empty; it may be taken from `step_after` on.
    """

    key: str
    next: str | None
    old: str | None
    step: str
    step_after: float | None


def state_of(path: Path) -> KeyRotation:
    """The state of a key and of its replacement."""
    following, old = _beside(path)
    waiting = following if following.is_file() else old if old.is_file() else None
    return KeyRotation(
        load_key(path).thumbprint,
        load_key(following).thumbprint if following.is_file() else None,
        load_key(old).thumbprint if old.is_file() else None,
        "" if waiting is None else "switch" if waiting == following else "drop-old",
        None if waiting is None else waiting.stat().st_mtime + CACHE_LIFETIME,
    )


def rotate(path: Path, now: float) -> tuple[KeyRotation, str]:
    """Take the next step of a replacement; the state after it, and the step: `made-next`, `switched` or `dropped-old`.

    Raises `UsageError` if the last step was less than a day ago.
    """
    state = state_of(path)
    following, old = _beside(path)
    if state.step_after is not None and now < state.step_after:
        hours = (state.step_after - now) / 3600
        raise UsageError(
            f"the last step was less than a day ago: verifiers may still have the directory from before it ({hours:.1f}"
            " hours to go)",
            hint="Publish the directory now, and run the same command again after that time",
        )
    if state.step == "drop-old":
        old.unlink()
        return state_of(path), "dropped-old"
    if state.step == "switch":
        with suppress(FileNotFoundError):
            old.unlink()
        os.link(path, old)
        os.utime(old, (now, now))
        replace_file(following, path)
        return state_of(path), "switched"
    make_key(following)
    return state_of(path), "made-next"


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}.next"), path.with_name(f"{path.name}.old")


def published_keys(path: Path) -> list[PrivateKey]:
    """The key, and what is published beside it."""
    return [load_key(path), *(load_key(each) for each in _beside(path) if each.is_file())]


def publish(
    path: Path, folder: Path, agent: str, now: float, *, name: str, contacts: tuple[str, ...], token: str
) -> list[Path]:
    """Write what the host of an agent has to serve; the files that were written. Only public halves of keys are.

    The directory is at the well-known path, and again at the root, for readers that take the agent's URL as it is.
    `headers.json` has the header fields to serve it with, among them its signature, for 30 days.
    """
    keys = published_keys(path)
    check_agent(agent)
    directory = write_directory(keys)
    card = AgentCard(
        client_id=f"{agent}/{CARD}",
        client_name=name,
        contacts=contacts,
        jwks_uri=f"{agent}{WELL_KNOWN}",
        web_bot_auth={"rfc9309-product-token": token, "trigger": "crawler", "rfc9309-compliance": RULES},
    )
    headers = {
        "Content-Type": DIRECTORY_TYPE,
        "Cache-Control": f"max-age={CACHE_LIFETIME}",
        **dict(proof_fields(f"{agent}{WELL_KNOWN}", directory, keys, now, PROOF_LIFETIME)),
    }
    written = {
        WELL_KNOWN.removeprefix("/"): directory,
        "index.html": directory,
        CARD: write_card(card),
        "headers.json": msgspec.json.format(msgspec.json.encode(headers)),
    }
    for place, body in written.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        write_file(target, body)
    return [folder / place for place in written]
