"""The publisher's half: sitemaps, archives and feeds that report correctly to crawlers what changed.

    from periplus.publish import FolderInventory, Publisher, settings_for

    with Publisher("public", settings_for("https://www.example.org/")) as publisher:
        publisher.scan([FolderInventory(Path("public"), publisher.base_url, skip=publisher.is_own)])

`inventory` finds the resources of a site; `scan` compares them with the `ledger`, where `dating` decides what is a
change and which date may be claimed; `layout` decides which address is in which sitemap, and `sitemaps`, `archives`,
`changes_feed` and `files` make the files. `push` sends what changed, `hooks` are what an application reports itself,
`middleware` is the publisher in front of an application (`serving` decides, `hooks` compares), and `trial_server` shows
it on this machine. `publisher` puts it together.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .inventory import AsgiInventory, FolderInventory, RowInventory, WsgiInventory, git_dates, read_rows
    from .publisher import Published, Publisher
    from .resources import Inventory, Resource
    from .scan import ScanResult, TooManyGone
    from .settings import PublishSettings, settings_for
else:
    __getattr__ = lazy_exports(__name__)

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
