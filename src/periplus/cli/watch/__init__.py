"""`periplus watch`: `command` parses options and runs it; `output` prints its progress."""
