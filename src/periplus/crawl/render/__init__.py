"""Pages in a browser: a wire that opens pages whose scripts are needed, after they were fetched as any other.

`RenderingWire` (`wire`) stands in front of the wire that fetches. It hands pages that need their scripts to a
`BrowserPool` (`pool`), which runs Chromium in a thread of its own. The browser shows the document that was fetched
already; whatever else it asks for is judged by `interception` (kinds, budgets, a cache of scripts) and leaves this
machine only through the `gate`, a proxy on loopback with our resolver and our rules for private addresses. `session`
decides when a page is complete, `browser` finds and starts the browser and measures its memory.

A page that hangs, crashes or never ends costs its time limit, and the page is then read as the server sent it.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .browser import check_browser
    from .pool import BrowserPool, Job, Rendered
    from .wire import RenderingWire
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "BrowserPool",
    "Job",
    "Rendered",
    "RenderingWire",
    "check_browser",
]
