"""`periplus read`: `command` chooses a reader and prints a bounded sample of what it returned."""
