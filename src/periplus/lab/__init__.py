"""A living web over real HTTP whose every fact is known, and experiments in virtual time.

`web` is the instrument that the crawler is measured with: a seeded, deterministic world of sites that are born, change,
link, duplicate, lie and die on known schedules, and a server that speaks HTTP for it. Nothing else in the house
imports this room but the command line.
"""
