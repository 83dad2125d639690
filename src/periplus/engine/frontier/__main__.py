"""Prints the table of a site's stages and transitions."""

from .site import transition_table

print(transition_table())  # noqa: T201
