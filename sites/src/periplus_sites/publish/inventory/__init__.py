"""Sources of resources: files of a `folder`, `rows` of a table, answers of an `application`.

Each gives `Resource` values one at a time, and a `Problem` for what it could not read. Reasons of problems:
`unreadable`, `not-utf8-name`, `outside-root` (a link out of the folder, an address of another site), `too-long`,
`too-large`, `too-many`, `not-a-url`, `repeated`, `bad-row`, `bad-date`, `status` (an answer other than 200).
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .application import AsgiInventory, WsgiInventory
    from .folder import FolderInventory, git_dates
    from .rows import RowInventory, read_rows
else:
    __getattr__ = lazy_exports(__name__)

__all__ = ["AsgiInventory", "FolderInventory", "RowInventory", "WsgiInventory", "git_dates", "read_rows"]
