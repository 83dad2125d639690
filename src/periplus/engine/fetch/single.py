"""Single requests beside a crawl, with the rules of its wire: a file fetched once, a form posted once.

Names are looked up, addresses are checked and limits apply as in a crawl. A call waits for the answer, so it belongs in
a thread. Requests are not queued here: the caller decides when a host may be asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pycurl
from msgspec.structs import replace

from periplus.model import Clock, FetchOutcome, FetchTask, Lane, Located, Purpose, Redirected, Url
from periplus.urls import host_of, site_of

from .addresses import AddressGuard
from .dns import Resolver, ResolverSettings
from .head import WantedTypes
from .limits import WireSettings
from .proxies import Proxies
from .request import NO_CREDENTIALS, CrawlerIdentity, Credentials, Requests, RequestSigner, lines_of
from .transfer import Buffers, Transfer
from .wire import CurlWire

if TYPE_CHECKING:
    from .session import Session

FORM: Final = "application/x-www-form-urlencoded"
"""The content type of a form."""

MAX_REDIRECTS: Final = 3
"""Redirects that are followed: from http to https, and to another path."""

_REPEATED: Final = (307, 308)
"""Statuses of redirects at which a POST is sent again as it was (RFC 9110 section 15.4)."""
_MAX_ANSWER: Final = 64 * 1024
"""Bytes of the answer to a POST that are kept: a hub's explanation."""
_NO_FIELDS: Final[Mapping[str, str]] = {}
_WAIT: Final = 1.0
"""Seconds to wait at a time for an outcome."""


class SingleRequests:
    """Sends requests one by one. Any thread may use it."""

    def __init__(
        self,
        settings: WireSettings,
        *,
        identity: CrawlerIdentity,
        clock: Clock,
        dns: ResolverSettings,
        guard: AddressGuard,
        session: Session | None = None,
        credentials: Credentials = NO_CREDENTIALS,
        signer: RequestSigner | None = None,
    ) -> None:
        self._signer = signer
        self._settings = settings
        self._identity = identity
        self._clock = clock
        self._dns = dns
        self._guard = guard
        self._session = session
        self._credentials = credentials

    def get(
        self, url: Url, *, max_bytes: int, types: tuple[str, ...], max_redirects: int = MAX_REDIRECTS
    ) -> FetchOutcome:
        """Fetch a file; redirects are followed on the same host. The rest after `max_bytes` is cut off."""
        settings = replace(self._settings, max_page_bytes=max_bytes, accept_types=types, head_only=False)
        wire = self._wire(settings)
        try:
            outcome = self._fetched(wire, url)
            for _ in range(max_redirects):
                if not isinstance(outcome, Redirected) or host_of(outcome.target) != host_of(url):
                    break
                outcome = self._fetched(wire, outcome.target)
            return outcome
        finally:
            wire.close()

    def post(
        self,
        url: Url,
        body: bytes,
        content_type: str = FORM,
        *,
        fields: Mapping[str, str] = _NO_FIELDS,
        max_redirects: int = MAX_REDIRECTS,
    ) -> FetchOutcome:
        """Post a body. It is posted again where the server says with 307 or 308 that it belongs elsewhere.

        `fields` are further header fields.
        """
        wire = self._wire(self._settings)
        lines = [f"{name}: {value}" for name, value in {"Content-Type": content_type, **fields}.items()]
        try:
            outcome = self._posted(wire, url, body, lines)
            for _ in range(max_redirects):
                if not isinstance(outcome, Redirected) or outcome.status not in _REPEATED:
                    break
                outcome = self._posted(wire, outcome.target, body, lines)
            return outcome
        finally:
            wire.close()

    def _wire(self, settings: WireSettings) -> CurlWire:
        resolver = Resolver(self._dns, clock=self._clock)
        return CurlWire(
            settings,
            identity=self._identity,
            clock=self._clock,
            resolver=resolver,
            guard=self._guard,
            session=self._session,
            credentials=self._credentials,
            signer=self._signer,
        )

    def _fetched(self, wire: CurlWire, url: Url) -> FetchOutcome:
        outcome = self._outcome_of(wire, self._task(url))
        while isinstance(outcome, Located):
            outcome = self._outcome_of(wire, replace(outcome.task, ip=outcome.ip))
        return outcome

    def _posted(self, wire: CurlWire, url: Url, body: bytes, lines: Sequence[str]) -> FetchOutcome:
        outcome = self._outcome_of(wire, self._task(url))
        while isinstance(outcome, Located):
            outcome = wire.moved(self._posted_to(replace(outcome.task, ip=outcome.ip), body, lines))
        return outcome

    def _posted_to(self, task: FetchTask, body: bytes, lines: Sequence[str]) -> FetchOutcome:
        url = task.url
        settings = replace(self._settings, max_page_bytes=_MAX_ANSWER, head_only=False)
        requests = Requests(self._identity, session=self._session)
        transfer = Transfer(settings, requests, self._guard, WantedTypes(("*/*",)), Buffers(_MAX_ANSWER))
        proxies, now = Proxies(self._settings, self._credentials.proxy), self._clock.now()
        proxy = proxies.of(site_of(url), now)
        transfer.begin(task, now, "" if proxy is None else proxy.url)
        signature = () if self._signer is None else self._signer.sign("POST", url)
        transfer.handle.setopt(pycurl.HTTPHEADER, [*requests.fields(task), *lines, *lines_of(signature)])
        transfer.handle.setopt(pycurl.POSTFIELDS, body)
        code, message = 0, ""
        try:
            transfer.handle.perform()
        except pycurl.error as error:
            code, message = int(error.args[0]), str(error.args[1])
        outcome = transfer.end(code, message, self._clock.now())
        transfer.handle.close()
        return outcome

    def _task(self, url: Url) -> FetchTask:
        lease = self._clock.now() + self._settings.timeout
        return FetchTask(url, site_of(url), Purpose.PAGE, Lane.FILES, lease)

    def _outcome_of(self, wire: CurlWire, task: FetchTask) -> FetchOutcome:
        """The wire ends every task: it has time limits for lookups and transfers."""
        wire.start(task)
        while not (outcomes := wire.finished(_WAIT)):
            pass
        return outcomes[0]
