"""What `SITE|DIR` means where a command takes either, and which names one site has in a collection."""

from __future__ import annotations

from pathlib import Path

from periplus.assembly import Layout
from periplus.model import UsageError
from periplus.urls import canonical, site_of

_WWW = "www."


def is_collection(what: str) -> bool:
    """Whether a folder is meant, not a site. One that is no collection is neither, unless it looks like a host."""
    folder = Path(what)
    if "://" in what or not folder.is_dir():
        return False
    if Layout(folder).settings.is_file():
        return True
    if "/" in what or "." not in what:
        raise UsageError(f"{folder} is no collection: it has no periplus.toml", hint="name a site, or a collection")
    return False


def key_of(site: str) -> str:
    """The name by which a site stands in `insight.ulinks.crawled.grouped`: of what was typed, or of a URL."""
    url = canonical(site if "://" in site else f"http://{site}/")
    return site if url is None else str(site_of(url)).removeprefix(_WWW)


def names_of(groups: dict[str, list[str]], wanted: str, folder: Path) -> list[str]:
    """All names of the site that was asked for."""
    names = groups.get(key_of(wanted))
    if names is None:
        raise UsageError(f"{folder} knows no site {wanted}", hint=f"periplus info {folder} lists the largest")
    return names
