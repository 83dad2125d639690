"""`python -m periplus.cli.stopped_by_parent ARGS`: a command that stops when the process that started it ends.

That process holds the other end of standard input and never writes to it. The system closes it however the process
ends, also if it is killed; then the command gets SIGTERM, once, and stops as it does at Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import threading

from . import main


def _stop_with_input() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_stop_with_input, daemon=True).start()
    main()
