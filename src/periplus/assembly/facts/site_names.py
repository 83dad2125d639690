"""Whether an argument `SITE|DIR` names a site or a folder, and which names one site has in a collection."""

from __future__ import annotations

from pathlib import Path

from periplus.assembly import Layout
from periplus.model import UsageError
from periplus.urls import canonical, site_of

_WWW = "www."


def is_collection(what: str) -> bool:
    """Whether the argument names a collection, not a site; raises if it names a folder that is not a collection."""
    folder = Path(what)
    if "://" in what:
        return False
    if not folder.is_dir():
        if _is_path(what):
            raise UsageError(
                f"no such folder: {what}", hint="name an existing collection, or write a site as https://example.org/"
            )
        return False
    if Layout(folder).settings.is_file():
        return True
    if "/" in what or "." not in what:
        raise UsageError(
            f"{folder} is not a collection: it has no periplus.toml", hint="name a site, or the folder of a collection"
        )
    return False


def _is_path(what: str) -> bool:
    """Whether a text can only be the path of a folder: absolute, relative with dots, or without a host's name."""
    host, slash, _ = what.partition("/")
    return host in ("", ".", "..", "~") or bool(slash and not set(".:") & set(host) and host != "localhost")


def key_of(site: str) -> str:
    """Return the key of a site, given by name or URL, in `insight.ulinks.crawled.grouped`."""
    url = canonical(site if "://" in site else f"http://{site}/")
    return site if url is None else str(site_of(url)).removeprefix(_WWW)


def names_of(groups: dict[str, list[str]], wanted: str, folder: Path) -> list[str]:
    """Return all names of a site in a collection; raises if it is not there."""
    names = groups.get(key_of(wanted))
    if names is None:
        raise UsageError(f"{folder} has no site {wanted}", hint=f"periplus info {folder} lists the largest sites")
    return names
