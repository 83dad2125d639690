"""Features meet: crawls of generated webs with generated settings.

A seed draws the settings of every part, a web with traps, and the deaths of processes; invariants are checked in the
end. Covers `engine` and all of `parts` together.
"""
