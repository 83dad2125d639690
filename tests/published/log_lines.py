"""Lines of an access log, written as a server writes them."""

from __future__ import annotations

from datetime import UTC, datetime

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"


def line(
    path: str, at: float, agent: str = GOOGLEBOT, *, ip: str = "192.0.2.1", status: int = 200, size: int = 1_000
) -> str:
    """One line of the format `combined`, with its end."""
    when = datetime.fromtimestamp(at, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    return f'{ip} - - [{when}] "GET {path} HTTP/1.1" {status} {size} "-" "{agent}"\n'
