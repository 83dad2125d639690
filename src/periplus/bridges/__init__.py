"""Bridges: other programs' words for what the core does. A bridge translates and decides nothing."""
