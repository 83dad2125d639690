"""The guard of `make speed`: does a page cost more CPU time than at a pinned commit?

On a machine that others use, the same code takes half as long again from one minute to the next, so a figure of today
cannot be compared with one of yesterday. What can be compared is a pair: two versions that crawl the same recorded
answers at the same time on the same core. Whatever slows one slows the other.

    answers.py    makes the answers: 2,400 pages in the shape of documentation, the same bytes on every machine
    replay.py     one version: crawls the answers with the real engine, state, WARC and tables, in virtual time
    reference.py  the pinned commit, checked out and compiled in `bench/.speed`
    pairs.py      two versions at the same time on one core: CPU time, jobs, memory, instructions
    guard.py      judges and prints: `make speed`
    stages.py     CPU time by stage, at the reference and now
    planted.py    shows that the guard finds slow-downs of 5 %, and none where there is none
    history.py    moves the reference: adds a line to `bench/history.csv` and draws `docs/images/speed.svg`
    REFERENCE     the pinned commit, and why it is that one

Each version runs with the `replay.py` of its own tree, because that has to know the classes it puts together; a
reference without one gets a copy of ours. The reference moves only in a commit that says why.
"""
