"""What a person types: one file a verb, joined by `app` into one program.

A command finds its inputs, asks the rooms below, and shows what they answer: tables for people, JSON lines on stdout
for programs (`--json`), everything else on stderr. It decides nothing about the web. What we did wrong ends as one
clear line with the next step and a documented exit code; `--debug` shows the traceback instead.
"""

from .app import app, main

__all__ = ["app", "main"]
