"""Reads what a response asks to be paid. Nothing here, or anywhere in this program, can pay.

| form | where | version |
|---|---|---|
| `crawler-price: USD 0.01`, `crawler-charged`, `crawler-error` | headers | Cloudflare pay per crawl, 2026 |
| x402 | JSON, base64 in the header `PAYMENT-REQUIRED` (version 2), or in the body (version 1) | x402 foundation |
| `WWW-Authenticate: Payment` | header | draft-ryan-httpauth-payment-01 |
| `WWW-Authenticate: License`, or a link to a licence | headers | RSL 1.0 |

A response with status 402 that has none of these asks for an `unknown` kind of payment. Nothing raises.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from .headers import Headers
from .rsl import header_licenses

PAYMENT_REQUIRED: Final = 402
MAX_FIELD: Final = 4096
"""Characters of a `crawler-*` field that are read: a longer one is none."""
MAX_DETAILS: Final = 1 << 16
"""Bytes of a description in JSON that are read."""
MAX_WORD: Final = 200
"""Characters that are kept of each value."""
_PRICE: Final = re.compile(r"\s*+([A-Za-z]{2,10})[ \t]++([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*+")
_SCHEME: Final = re.compile(r"(?:\A|,)\s*+(payment|license)(?:\s|,|\Z)", re.IGNORECASE)


class PageCharge(Struct, frozen=True):
    """What a response asks to be paid, or says that was.

    `scheme` is `crawler-price`, `x402`, `payment-auth`, `rsl` or `unknown`; empty if the response names no price.
    `amount` is text, as written. `error` is what `crawler-error` says. `is_charged`: the server
    claims that it was paid, although nothing was offered.
    """

    scheme: str = ""
    amount: str | None = None
    currency: str | None = None
    error: str | None = None
    is_charged: bool = False


NO_CHARGE: Final = PageCharge()
_NAMES: Final = frozenset({"crawler-price", "crawler-charged", "crawler-error"})
_LENGTHS: Final = frozenset(map(len, _NAMES))


def read_price(status: int, headers: Sequence[tuple[str, str]], body: bytes = b"") -> PageCharge:
    """The price in a response; `NO_CHARGE` for nearly all of them. `body` is without content codings."""
    named = {name.lower(): value for name, value in headers if len(name) in _LENGTHS and name.lower() in _NAMES}
    if status != PAYMENT_REQUIRED:
        return _in_passing(named) if named else NO_CHARGE
    fields = Headers(headers)
    error = _word(named.get("crawler-error"))
    if "crawler-price" in named:
        amount, currency = _amount(named["crawler-price"])
        return PageCharge("crawler-price", amount, currency, error)
    required = fields.get("payment-required")
    found = _x402(_decoded(required) if required else body)
    if found is not None or required:
        amount, currency = found or (None, None)
        return PageCharge("x402", amount, currency, error)
    schemes = {
        match.lower() for value in fields.all("www-authenticate") for match in _SCHEME.findall(value[:MAX_FIELD])
    }
    if "payment" in schemes:
        return PageCharge("payment-auth", error=error)
    is_rsl = "license" in schemes or bool(header_licenses(fields.all("link"), "https://site.invalid/"))
    return PageCharge("rsl" if is_rsl else "unknown", error=error)


def _in_passing(named: dict[str, str]) -> PageCharge:
    """What a response with another status says of payment: that it was made, or why there was no page."""
    error = _word(named.get("crawler-error"))
    if "crawler-charged" in named:
        amount, currency = _amount(named["crawler-charged"])
        return PageCharge("crawler-price", amount, currency, error, is_charged=True)
    return PageCharge(error=error)


def _amount(text: str) -> tuple[str | None, str | None]:
    match = _PRICE.fullmatch(text) if len(text) <= MAX_FIELD else None
    return (None, None) if match is None else (match[2], match[1].upper())


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text[: 2 * MAX_DETAILS] + "=" * (-len(text) % 4))
    except (Base64Error, ValueError):
        return b""


def _x402(details: bytes) -> tuple[str | None, str | None] | None:
    """Amount and currency of the first offer; `None` if this is no offer. The currency is network and asset."""
    if not details or len(details) > MAX_DETAILS or b"x402Version" not in details:
        return None
    try:
        offer = msgspec.json.decode(details)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(offer, dict) or "x402Version" not in offer:
        return None
    accepts = offer.get("accepts")
    first: Any = accepts[0] if isinstance(accepts, list) and accepts else {}
    if not isinstance(first, dict):
        return None, None
    amount = first.get("amount", first.get("maxAmountRequired"))
    currency = "/".join(str(first[name]) for name in ("network", "asset") if first.get(name))
    is_amount = isinstance(amount, str | int) and not isinstance(amount, bool)
    return _word(str(amount)) if is_amount else None, _word(currency)


def _word(text: str | None) -> str | None:
    return text.strip()[:MAX_WORD] or None if text else None
