"""How a crawler is started: its command, and what its author says does not apply to it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field

from periplus.model import UsageError


class Adapter(Struct, frozen=True, forbid_unknown_fields=True):
    """One crawler.

    In `command` and `refresh` these are replaced: `{seed}` by the URL to begin at, `{folder}` by a folder that is the
    same for all runs of a trial, `{limit}` by the most pages to fetch, `{ca}` by the file of the authority to trust,
    `{here}` by the folder of the adapter's file. `refresh` revisits the pages of a crawl that ended, where that is not
    the same command. `agent` is the name that it looks for in robots.txt, if its requests for that file have another
    User-Agent. `not_applicable` has a reason for a group, for `group/trial` or for `group/case`. `settings` says
    in words how it is configured.
    """

    name: str
    command: list[str]
    version: str = ""
    settings: str = ""
    refresh: list[str] = field(default_factory=list)
    agent: str = ""
    not_applicable: dict[str, str] = field(default_factory=dict)

    def reason(self, group: str, trial: str, case: str) -> str:
        """Why a case does not apply; empty if it does."""
        names = (f"{group}/{case}", f"{group}/{trial}", group)
        return next((self.not_applicable[name] for name in names if name in self.not_applicable), "")

    def argv(self, values: Mapping[str, str], *, is_refresh: bool = False) -> list[str]:
        """The command with its values."""
        return [_filled(word, values) for word in (is_refresh and self.refresh) or self.command]


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def read_adapter(path: Path, **places: str) -> Adapter:
    """The adapter in a TOML file. `places` are further names in braces that its commands use."""
    try:
        adapter = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Adapter)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"cannot read the adapter {path}: {error}") from error
    known = {"here": str(path.parent.resolve()), **places}
    return msgspec.structs.replace(
        adapter,
        command=[_filled(word, known) for word in adapter.command],
        refresh=[_filled(word, known) for word in adapter.refresh],
    )
