"""Jobs for worker processes, which import this module and nothing that they do not need."""

from __future__ import annotations

from periplus.model import ConfigError
from periplus_lab.simulate.workers import Progress


def halve(job: int, progress: Progress) -> int:
    """A job for workers: even numbers only."""
    progress(1, 2)
    if job % 2:
        raise ConfigError(f"{job} is odd", hint="even ones")
    return job // 2


def end_at_once(job: int, progress: Progress) -> int:
    """A job that ends its process, as a system out of memory would."""
    raise SystemExit(job)
