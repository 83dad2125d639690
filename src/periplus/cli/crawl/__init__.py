"""`periplus crawl`: `command` parses options and runs it, `summary` reports the plan and the end.

Other commands that crawl use them, too. `resizing` changes the number of shards while a crawl runs; `on_cluster` runs
it on Ray.
"""

from .command import crawl

__all__ = ["crawl"]
