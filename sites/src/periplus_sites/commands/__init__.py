"""Commands of this distribution, found by its entry points: `publish` and `logs`."""
