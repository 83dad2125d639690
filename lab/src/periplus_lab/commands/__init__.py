"""Commands of this distribution, as the crawler finds them by entry points: `lab` (with its `judge`), `simulate`, `demo`."""
