"""Crawl a site and fail the build if its audit finds errors.

python examples/audit_in_ci.py https://staging.example.org audit
"""

import sys
from typing import Any

import periplus


def main(site: str, folder: str, **options: Any) -> int:
    """Crawl and audit a site; the exit code."""
    periplus.crawl(site, out=folder, scope="host", **options).run()
    audit = periplus.open(folder).audit()
    for finding in audit.findings:
        sys.stdout.write(f"{finding.severity}: {finding.title}\n  {finding.advice}\n")
    return 1 if any(finding.severity == "error" for finding in audit.findings) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:], limit=500, for_="10m", contact="you@example.org"))
