"""The urls room."""
