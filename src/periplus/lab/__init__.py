"""A generated web over real HTTP whose every fact is known, and experiments in virtual time.

`web` is a seeded, deterministic world of sites whose pages appear, change, link, repeat and vanish on known schedules,
and a server for it. `simulate` runs the crawler's state machine in virtual time. Only the command line imports this
room.
"""
