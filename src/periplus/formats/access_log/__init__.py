r"""Access logs: the requests to a server, as Apache, nginx, IIS and CloudFront write them.

`read` takes a log line by line. `combined` reads a line of the Common Log Format and of what grew from it (`combined`,
`vhost_combined`, lines with more behind), and logs that say themselves what stands where (W3C Extended Log File
Format, which IIS and CloudFront write). Whatever the format, a line is a `Hit`. A dash stands for what was not
known, and is read as an empty text or a 0.

Reasons of `Problem`: `not-a-log-line` (no time, no request or no status), `impossible-time` (a time that no clock
shows), `too-long` (more than 64 KiB). Telling crawlers from people is not done here.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .combined import LONGEST_LINE, Hit, read, read_line
else:
    __getattr__ = lazy_exports(__name__)

__all__ = ["LONGEST_LINE", "Hit", "read", "read_line"]
