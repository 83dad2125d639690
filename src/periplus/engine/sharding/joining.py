"""The program of a worker that another interpreter runs, with its own version of Periplus.

    python -P -m periplus.engine.sharding.joining FD

The crawl sends what to run over the open socket of this number, which from then on is the pipe of a worker.
"""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection

from .processes import serve

if __name__ == "__main__":
    pipe = Connection(int(sys.argv[1]))
    make, number, count, seeds = pipe.recv()
    serve(make, number, count, seeds, pipe)
