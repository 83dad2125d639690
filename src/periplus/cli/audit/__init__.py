"""`periplus audit`: `command` parses options and runs it; `terminal` prints it for people."""
