"""The content room."""
