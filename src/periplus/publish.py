"""The publisher's half for programs: scan a site, write its sitemaps, archives and feeds, send what changed.

    with periplus.publish.Publisher("public", periplus.publish.settings_for("https://www.example.org/")) as publisher:
        publisher.scan([periplus.publish.FolderInventory(Path("public"), publisher.base_url, skip=publisher.is_own)])

A thin public module: `periplus_sites.publish` does the work where `periplus-sites` is installed, `docs/publish.md`
describes it.
"""

from periplus_sites.publish import (
    AsgiInventory,
    FolderInventory,
    Inventory,
    Published,
    Publisher,
    PublishSettings,
    Resource,
    RowInventory,
    ScanResult,
    TooManyGone,
    WsgiInventory,
    git_dates,
    read_rows,
    settings_for,
)

__all__ = [
    "AsgiInventory",
    "FolderInventory",
    "Inventory",
    "PublishSettings",
    "Published",
    "Publisher",
    "Resource",
    "RowInventory",
    "ScanResult",
    "TooManyGone",
    "WsgiInventory",
    "git_dates",
    "read_rows",
    "settings_for",
]
