"""Serve collections in a browser, as `periplus serve` does."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from periplus.apps.serve.extra import check_installed
from periplus.apps.serve.served import DEFAULT_PORT, served_with

log = logging.getLogger("periplus.web")


def serve(
    folders: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    port: int = DEFAULT_PORT,
    host: str = "127.0.0.1",
    token_file: str | PathLike[str] | None = None,
    public_search: bool = False,
    public_url: str = "",
    receive: bool = False,
) -> None:
    """Serve collections until Ctrl-C: search, pages about a collection, an API.

    The keywords are options of `periplus serve`; `receive` takes messages of sites about changes. A second Ctrl-C
    raises `KeyboardInterrupt`. The logger `periplus.web` has the address, `periplus.web.access` a line for each
    request. Needs the extra `periplus[web]`.
    """
    check_installed()
    from periplus.apps.serve.running import serve as run

    listed = [folders] if isinstance(folders, str | PathLike) else list(folders)
    served, is_new = served_with(
        [Path(folder) for folder in listed],
        host=host,
        port=port,
        token_file=None if token_file is None else Path(token_file),
        public_search=public_search,
        public_url=public_url,
        receive=receive,
    )
    if is_new:
        log.warning("a token was written to %s", token_file)
    run(served, lambda url: log.info("serving at %s", url), _interrupt)


def _interrupt() -> None:
    raise KeyboardInterrupt
