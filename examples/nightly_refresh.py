"""Ask every page of a collection again, and print what changed as text for a mail. For cron.

python examples/nightly_refresh.py docs | mail -s "What changed" you@example.org
"""

import sys
import time

import periplus


def main(folder: str) -> str:
    """Refresh a collection; what changed, as text."""
    docs = periplus.open(folder)
    began = time.time()
    found = docs.refresh()
    lines = [f"{found.changed} pages changed, {found.new} are new and {found.gone} are gone, of {found.asked}."]
    for change in docs.changes(since=began):
        lines += ["", f"{change.kind} {change.url}", *(f"    {line}" for line in change.diff.splitlines())]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1]) + "\n")
