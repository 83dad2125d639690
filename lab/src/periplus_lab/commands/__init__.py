"""Commands of this distribution, found by its entry points: `lab` with `judge`, `simulate` and `demo`."""
