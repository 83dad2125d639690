"""`periplus read`: `command` chooses a reader; `value_table` prints a bounded sample of what it returned."""
