"""`periplus survey`: `command` parses options and runs it; `domains` reads the list; `output` prints the result."""
