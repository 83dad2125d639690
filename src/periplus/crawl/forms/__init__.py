"""Forms in a crawl: found and classified on every page, and submitted where that was asked for.

A form is known by its site, action and fields, however many pages show it. `life` is one form that is being submitted:
what it wants next, and what an answer means for it. `forms` holds all forms of a shard: it finds them, loads their
pages a second time, opens them, and submits what is due. All decisions are in `policy.forms`.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .forms import CHECK, Forms
    from .life import reopened
else:
    __getattr__ = lazy_exports(__name__)

__all__ = ["CHECK", "Forms", "reopened"]
