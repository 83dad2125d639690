"""`periplus survey`: `command` parses options, reads the list of domains and runs it; `output` prints the result."""
