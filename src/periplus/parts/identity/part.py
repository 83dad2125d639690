"""Signs the requests of a crawl (`parts.identity`)."""

from __future__ import annotations

from base64 import b64encode
from os import urandom
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.engine.part import Part, Setup
from periplus.formats.headers import Headers
from periplus.model import Clock, ConfigError, Fetched, FetchOutcome, Url
from periplus.urls import site_of

from .settings import IdentitySettings, IdentityTables

if TYPE_CHECKING:
    from periplus.formats.web_bot_auth import RequestSigning

KEY_SHOWN: Final = 8
"""Characters of a thumbprint that tables have."""
_NONCE_BYTES: Final = 16
_TOO_MANY: Final = 429
_ASKING: Final = (401, 403, _TOO_MANY)
_MOST_ASKING: Final = 100_000
"""Sites that asked for signatures and are remembered."""


class CrawlerSigning(Part):
    """Signs requests. The machine has nothing to do with it."""

    @classmethod
    def check(cls, setup: Setup) -> None:
        """Raise `ConfigError` before the crawl if its requests could not be signed."""
        _signing(_settings(setup))


def signer_of(setup: Setup, clock: Clock) -> Signer | None:
    """What signs the requests of a crawl, if there is a key."""
    settings = _settings(setup)
    signing = _signing(settings)
    return None if signing is None else Signer(signing, settings, clock)


def _settings(setup: Setup) -> IdentitySettings:
    return setup.settings.some(IdentityTables).identity


def _signing(settings: IdentitySettings) -> RequestSigning | None:
    if not settings.key or settings.sign == "never":
        return None
    if not settings.agent:
        raise ConfigError(
            "identity.agent: requests are signed, and nothing says where the key is published",
            hint="Give the host that serves what periplus identity publish writes, as https://signer.example.org",
        )
    from periplus.formats.web_bot_auth import RequestSigning

    from .key_files import check_agent, load_key

    return RequestSigning(load_key(Path(settings.key).expanduser()), check_agent(settings.agent), settings.lifetime)


class Signer:
    """Signs requests of one wire."""

    def __init__(self, signing: RequestSigning, settings: IdentitySettings, clock: Clock) -> None:
        self.key = signing.keyid[:KEY_SHOWN]
        self._signing = signing
        self._has_nonce = settings.nonce
        self._asking: dict[str, None] | None = {} if settings.sign == "asked" else None
        self._clock = clock

    def sign(self, method: str, url: Url) -> tuple[tuple[str, str], ...]:
        """The fields of a signature; none over http, and for sites that must ask and did not."""
        if not url.startswith("https:") or (self._asking is not None and site_of(url) not in self._asking):
            return ()
        nonce = b64encode(urandom(_NONCE_BYTES)).decode() if self._has_nonce else ""
        return self._signing.fields(method, url, self._clock.now(), nonce)

    def is_asked(self, outcome: FetchOutcome) -> bool:
        """Whether a request is to be repeated at once with a signature: the first time that its site asks for one.

        A site that asks with 429 asks for a rest, too: the retry that follows it is signed.
        """
        if self._asking is None or not isinstance(outcome, Fetched) or outcome.status not in _ASKING:
            return False
        from periplus.formats.web_bot_auth import is_signature_wanted

        url = outcome.task.url
        if not url.startswith("https:") or outcome.task.probe or site_of(url) in self._asking:
            return False
        if not is_signature_wanted(Headers(outcome.headers).all("accept-signature")):
            return False
        self._asking[site_of(url)] = None
        if len(self._asking) > _MOST_ASKING:
            del self._asking[next(iter(self._asking))]
        return outcome.status != _TOO_MANY
