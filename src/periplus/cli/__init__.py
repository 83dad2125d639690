"""What a person types: one file a command group, joined here into one program.

A command finds its inputs, asks the rooms below, and shows what they answer: tables for people, JSON lines on stdout
for programs (`--json`), everything else on stderr. It decides nothing about the web. What we did wrong ends as one
clear line with the next step and a documented exit code; `--debug` shows the traceback instead.
"""

from .app import app, main
from .crawl import crawl
from .demo import demo
from .info import info
from .lab import lab
from .read import read

app.command()(crawl)
app.command()(demo)
app.command()(info)
app.command()(lab)
app.command()(read)

__all__ = ["app", "main"]
