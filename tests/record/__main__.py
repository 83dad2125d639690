"""Record again what the code does: `python -m tests.record --write`, from the root of the project.

`pytest tests/record` compares.

`--inputs` also crawls again and records new inputs for the replay: only where inputs or their log have changed on
purpose, since the point of the old ones is that older code wrote them.
"""

from __future__ import annotations

import argparse

from tests.record import recording, replaying

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.record", description=__doc__)
    parser.add_argument("--write", action="store_true", required=True, help="write the files in tests/record/recorded")
    parser.add_argument("--inputs", action="store_true", help="record new inputs for the replay, too")
    if parser.parse_args().inputs:
        replaying.record_inputs()
    recording.write()
