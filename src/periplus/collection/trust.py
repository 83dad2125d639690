"""What only the person who runs Periplus may set, and how a collection keeps it.

Some settings open private addresses, run a program, or name a place outside of the collection (`PERSONAL`). They hold
if a person gave them: as an option, in a file named with `--config`, or as an argument of a program. A command that
saves them signs them: `DIR/periplus.sig` is an HMAC of their values under a key of the user, a file outside of every
collection. A collection that somebody else made, or an archive that was imported, cannot have that signature, whatever
its `periplus.toml` says; nor can it change a value that was signed. After an edit by hand, or on another machine,
`periplus trust DIR` signs what is there.

Commands that read leave unsigned values out; commands that fetch, or run a crawl's own parts, end with an error.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import shlex
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from periplus.model import ConfigError
from periplus.store.durable import write_file
from periplus.store.folders import is_inside

from .config.settings import Config

log = logging.getLogger(__name__)

SIGNATURE: Final = "periplus.sig"
"""The file in a collection: the last signature and the one before."""
_SIGNATURES: Final = 2
PERSONAL: Final = (
    "wire.allow_private",
    "wire.proxy",
    "wire.ca_file",
    "wire.verify_tls",
    "dns.hosts",
    "render.browser",
    "render.sandbox",
    "topic.program",
    "topic.like",
    "topic.unlike",
    "ordering.by",
    "cluster.local_state",
    *(_FILES := ("crawl.seed_file", "dust.file", "spam.model")),
)
"""The settings that a person has to give. Those of files hold without that if the file is in the collection."""
_KEY_BYTES: Final = 32


def personal(config: Config, folder: Path) -> dict[str, Any]:
    """The personal settings that are not at their defaults, by name."""
    found = {name: value for name in PERSONAL if (value := _value(config, name)) != _value(_DEFAULTS, name)}
    return {name: value for name, value in found.items() if name not in _FILES or not is_inside(folder, value)}


def unsigned(config: Config, folder: Path, opened: Sequence[str] = ()) -> tuple[str, ...]:
    """The personal settings in effect, unless the user has signed exactly these, here or in another collection.

    `opened` are entries of `wire.allow_private` that a person gives again, with typed seeds.
    """
    found = personal(config, folder)
    if not found or _is_signed(found, folder):
        return ()
    is_given = set(config.wire.allow_private) <= set(opened)
    return tuple(name for name in found if name != "wire.allow_private" or not is_given)


def sign(config: Config, folder: Path) -> bool:
    """Sign the personal settings of a collection, before they are written there.

    The signature before this one is kept: a process that is killed in between leaves settings that were signed.
    Returns whether a later command will accept them: not if the user's key can neither be read nor made.
    """
    found = personal(config, folder)
    if not found or _is_signed(found, folder):
        return True
    key = _key(makes=True)
    if key is None:
        log.warning("%s cannot be written: later commands will ask to trust %s", _key_file(), folder)
        return False
    lines = [_signature(key, found), *_signatures_in(folder)][:_SIGNATURES]
    write_file(folder / SIGNATURE, b"".join(line + b"\n" for line in lines))
    return True


def _is_signed(values: dict[str, Any], folder: Path) -> bool:
    key = _key()
    if key is None:
        return False
    expected = _signature(key, values)
    return any(hmac.compare_digest(line, expected) for line in _signatures_in(folder))


def without(config: Config, names: Sequence[str]) -> Config:
    """The settings with these at their defaults. They are not checked: for reading, not for a crawl."""
    return with_values_of(_DEFAULTS, config, names)


def with_values_of(source: Config, config: Config, names: Sequence[str] = PERSONAL) -> Config:
    """The settings with these values of others."""
    for name in names:
        table, key = name.split(".")
        section = replace(getattr(config, table), **{key: _value(source, name)})
        config = replace(config, **{table: section})
    return config


def check(names: Sequence[str], folder: Path) -> None:
    """Raise `ConfigError` if there are settings that no person has given."""
    if names:
        place = shlex.quote(str(folder))
        raise ConfigError(
            f"{folder}/periplus.toml sets {', '.join(names)}, and you have not given that on this machine",
            hint=f"read the file; if you agree with it: periplus trust {place}. Command-line options override it",
        )


def _value(config: Config, name: str) -> Any:
    table, key = name.split(".")
    return getattr(getattr(config, table), key)


def _signature(key: bytes, values: dict[str, Any]) -> bytes:
    return hmac.new(key, msgspec.json.encode(values, order="deterministic"), sha256).hexdigest().encode()


def _signatures_in(folder: Path) -> list[bytes]:
    try:
        with (folder / SIGNATURE).open("rb") as file:
            return file.read(_SIGNATURES * (sha256().digest_size * 2 + 1)).split()
    except OSError:
        return []


def _key_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        home = os.path.expanduser("~")  # noqa: PTH111 - that of pathlib raises where a user has no home
        state = f"{home if home.startswith('/') else ''}/.local/state"
    return Path(state) / "periplus" / "key"


def _key(*, makes: bool = False) -> bytes | None:
    """The key of the user; `None` if there is none, or none that can be made."""
    path = _key_file()
    if makes:
        try:
            _make_key(path)
        except OSError as error:
            log.info("no key in %s: %s", path, error)
    try:
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None


def _make_key(path: Path) -> None:
    """Make the key, unless there is one; of two processes that do, the first wins, and none reads half a key."""
    if path.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"key.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


_DEFAULTS: Final = Config()
