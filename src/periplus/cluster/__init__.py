"""The same house on many machines: what one machine does in processes, here Ray places, connects and starts again.

Nothing else of the house knows Ray, and this room loads it only when it is used: it is an extra (`periplus[ray]`), and
without it whoever asks for a cluster is told what to install.

A crawl: `team` is what the command sees; it begins `actors`, one for each shard and one for the `coordinator`, who
deals out what is common, keeps a small `memory`, and sees the end. In an actor, `life` is the loop of the shard,
`inbox` what others bring it, and `postman` brings what it has for others over its `links`. `words` are what they say to
each other. Insight: `RayExecutor` does its jobs as tasks.
"""

from .executor import RayExecutor
from .team import gathered

__all__ = ["RayExecutor", "gathered"]
