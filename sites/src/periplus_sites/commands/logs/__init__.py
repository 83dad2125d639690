"""`periplus logs`: the command, what it prints on a terminal, and its HTML page."""
