"""`periplus watch`: `command` parses options, runs it and prints its progress."""
