"""The publisher's half for programs: scan a site, write its sitemaps, archives and feeds, send what changed.

    with periplus.publish.Publisher("public", periplus.publish.settings_for("https://www.example.org/")) as publisher:
        publisher.scan([periplus.publish.FolderInventory(Path("public"), publisher.base_url, skip=publisher.is_own)])

A thin public module: `periplus_site.publish` does the work where `periplus-site` is installed, `docs/publish.md`
describes it.
"""

from periplus_site.publish import (
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
