"""A crawl on many machines: the shards are actors that Ray places, connects and starts again.

The crawler finds it by its entry point in `periplus.clusters`, where `--cluster` or `cluster=` asks for it; Ray is
loaded only then.

The decisions are those of every crawl (`periplus.engine.sharding`); this package adds what Ray needs. `team` is what
the command sees. It starts `actors`: one for each shard, whose loop is that of every worker, and one for the
coordinator. `leases` let one worker at a time have a shard, and keep on disk what must not be forgotten. `outbound`
sends what a shard has for others over its `links`, and its reports. `connection` finds or starts Ray. `executor` runs
the jobs of insight as Ray tasks.
"""

from .executor import RayExecutor, executor_at
from .team import gathered

__all__ = ["RayExecutor", "executor_at", "gathered"]
