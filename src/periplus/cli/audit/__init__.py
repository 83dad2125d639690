"""`periplus audit`: `command` parses options, runs it and prints it; `requests` checks embedded files."""
