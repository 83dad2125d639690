"""The same house on many machines: what one machine does in processes, here Ray places, connects and starts again.

Nothing else of the house knows Ray, and this room loads it only when it is used: it is an extra (`periplus[ray]`), and
without it whoever asks for a cluster is told what to install. `RayExecutor` does the jobs of insight as tasks.
"""

from .executor import RayExecutor

__all__ = ["RayExecutor"]
