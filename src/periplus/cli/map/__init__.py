"""`periplus map`: `command` parses options and runs it; `output` prints the files and URLs."""
