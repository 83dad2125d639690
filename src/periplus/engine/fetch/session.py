"""Sessions with sites behind a login: what a user declares, the cookies and the token of the session, its renewal.

A session belongs to a wire, so each shard logs in by itself, at its first page. Cookies are kept by the rules of
RFC 6265 (domain, path, `Secure`, expiry), and sent to the origins of the session only: a redirect is a task of its own
with its own URL, so it takes none of them elsewhere. Neither they nor the answers that set them are archived.

An answer that shows that the session has ended is not an outcome: the session is renewed, and the page asked for again,
once. Renewals that do not help are made ever more rarely.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from email.message import Message
from html.parser import HTMLParser
from http.cookiejar import CookieJar, LoadError, MozillaCookieJar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlencode, urljoin

from msgspec.structs import replace

from periplus.content import decode_body
from periplus.formats.headers import Headers
from periplus.model import (
    Clock,
    Fetched,
    FetchOutcome,
    FetchTask,
    NotModified,
    PeriplusError,
    Purpose,
    Redirected,
    Url,
    UsageError,
)
from periplus.urls import canonical

from .request import HeaderFields, Login, SessionPlan, header_fields, origin_of
from .single import FORM, SingleRequests
from .wire import CurlWire

log = logging.getLogger("periplus")

_FIRST_PAUSE: Final = 60.0
_LONGEST_PAUSE: Final = 3600.0
_MAX_PAGE: Final = 1 << 20
"""Bytes of a page with a login form that are read."""


def is_matched(selector: str, html: str) -> bool:
    """Whether a CSS selector finds something in a page. Raises `UsageError` if it is not one."""
    if not selector:
        return False
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ModuleNotFoundError:
        raise UsageError(
            "login: logged_out_selector needs selectolax, which is not installed",
            hint="install the extra: pip install 'periplus[select]'",
        ) from None
    try:
        return LexborHTMLParser(html).css_first(selector) is not None
    except Exception:  # its own type of error, or a ValueError
        raise UsageError(f"login: {selector[:100]!r} is not a CSS selector", hint="write it as form#login") from None


def jar_of(text: str) -> CookieJar:
    """The cookies of a `cookies.txt` as browsers and curl write it. Raises `UsageError` if it is none."""
    jar = MozillaCookieJar()
    if text:
        with TemporaryDirectory() as folder:  # readable by its owner only
            file = Path(folder) / "cookies.txt"
            file.write_text(text)
            try:
                jar.load(str(file), ignore_discard=True)
            except LoadError:
                raise UsageError(
                    "cookies: the file is not a cookies.txt", hint="its first line is # Netscape HTTP Cookie File"
                ) from None
    return jar


class Session:
    """Cookies and header fields of a session, which change while a crawl runs. Used from one thread."""

    def __init__(self, plan: SessionPlan, make_requests: Callable[[Session], SingleRequests], clock: Clock) -> None:
        self._plan = plan
        self._requests = make_requests(self)
        self._clock = clock
        self._jar = jar_of(plan.cookies)
        self._fields: HeaderFields = ()
        self._pause = _FIRST_PAUSE
        self._not_before = 0.0
        self.logins = 0
        self.problem: str | None = None
        """Why every login failed so far; empty once one has succeeded, `None` if there was none."""

    def wired(self, wire: CurlWire) -> SessionWire:
        """A wire that keeps this session, in front of one that sends its fields."""
        return SessionWire(wire, self)

    def covers(self, url: Url) -> bool:
        """Whether the session is one with this origin."""
        return origin_of(url) in self._plan.origins

    def fields_of(self, url: Url) -> HeaderFields:
        """The fields to send with a request for this URL."""
        if not self.covers(url):
            return ()
        request = _Asked(url)
        self._jar.add_cookie_header(request)  # type: ignore[arg-type]
        fields = (*self._fields, *request.added)
        cookies = "; ".join(value for name, value in fields if name.lower() == "cookie")
        kept = tuple(field for field in fields if field[0].lower() != "cookie")
        return (*kept, ("Cookie", cookies)) if cookies else kept

    def take(self, url: Url, headers: Iterable[tuple[str, str]]) -> None:
        """Keep the cookies of an answer."""
        message = Message()
        for name, value in headers:
            if name.lower() == "set-cookie":
                message["Set-Cookie"] = value
        if message:
            self._jar.extract_cookies(_Answer(message), _Asked(url))  # type: ignore[arg-type]

    def has_ended(self, outcome: FetchOutcome) -> bool:
        """Whether an answer is one to a visitor who is not logged in."""
        login = self._plan.login
        if login is None:
            return False
        if isinstance(outcome, Redirected):
            return bool(login.url) and _without_query(outcome.target) == _without_query(Url(login.url))
        if not isinstance(outcome, Fetched):
            return False
        if outcome.status in login.logged_out_status:
            return True
        text = _text_of(outcome) if login.logged_out or login.logged_out_selector else ""
        return bool(login.logged_out and login.logged_out in text) or is_matched(login.logged_out_selector, text)

    def begin(self) -> None:
        """Log in, if that was not tried yet."""
        if not self.logins:
            self._log_in()

    def is_newer(self, logins: int) -> bool:
        """Whether there was a login after so many, if need be a new one, unless the last was in vain a moment ago."""
        if self.logins > logins:
            return True
        now = self._clock.now()
        if now < self._not_before:
            return False
        self._not_before = now + self._pause
        return self._log_in()

    def tell(self, *, helped: bool) -> None:
        """Whether a page came after a renewal: if not, the next one waits longer."""
        self._pause = _FIRST_PAUSE if helped else min(2 * self._pause, _LONGEST_PAUSE)
        self._not_before = 0.0 if helped else self._clock.now() + self._pause

    def _log_in(self) -> bool:
        login = self._plan.login
        if login is None:
            return False
        self.logins += 1
        try:
            if login.call is not None:
                problem = self._call(login.call)
            else:
                problem = self._send_form(login) if login.json is None else self._ask_token(login)
        except PeriplusError as error:
            problem = str(error)
        if problem:
            where = f" at {_without_query(Url(login.url))}" if login.url else ""
            problem = f"the login{where} failed: {problem}"
            log.warning("%s", problem)
        self.problem = "" if self.problem == "" else problem
        return not problem

    def _call(self, function: Callable[[], Mapping[str, str]]) -> str:
        try:
            given = dict(function())
        except Exception as error:  # whatever it raises; its message may have a secret
            return f"the function raised {type(error).__name__}"
        self._fields = header_fields(given, may_have_cookies=True)
        return ""

    def _ask_token(self, login: Login) -> str:
        url = Url(login.url)
        outcome = self._requests.post(url, json.dumps(login.json).encode(), "application/json")
        if problem := self._problem_of(url, outcome):
            return problem
        if login.header and isinstance(outcome, Fetched):
            name, _, value = login.header.partition(":")
            try:
                self._fields = header_fields({name.strip(): value.strip().format_map(json.loads(_text_of(outcome)))})
            except (ValueError, KeyError, TypeError, AttributeError):
                return "its answer is not JSON with the fields that `header` names"
        return ""

    def _send_form(self, login: Login) -> str:
        url = Url(login.url)
        page = self._requests.get(url, max_bytes=_MAX_PAGE, types=("*/*",))
        if problem := self._problem_of(url, page):
            return problem
        reader = _LoginForm(set(login.form))
        reader.feed(_text_of(page) if isinstance(page, Fetched) else "")
        target = canonical(urljoin(page.task.url, reader.action))
        if target is None or not self.covers(target):
            return "its form is sent to another site"
        body = urlencode({**reader.hidden, **login.form}).encode()
        answer = self._requests.post(target, body, FORM)
        return self._problem_of(target, answer) or ("the form was refused" if self.has_ended(answer) else "")

    def _problem_of(self, url: Url, outcome: FetchOutcome) -> str:
        """What is wrong with the answer to a step of a login; its cookies are kept."""
        if isinstance(outcome, Fetched | Redirected):
            self.take(outcome.task.url, outcome.headers)
            return f"HTTP status {outcome.status}" if outcome.status >= 400 else ""
        return f"no answer from {origin_of(url)}"


class SessionWire:
    """A wire whose requests belong to a session."""

    def __init__(self, wire: CurlWire, session: Session) -> None:
        self._wire = wire
        self._session = session
        self._logins: dict[Url, int] = {}
        self._again: set[Url] = set()
        self._is_cancelled = False

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started now."""
        return self._wire.free_slots

    @property
    def under_way(self) -> int:
        """How many tasks were started and have not ended."""
        return self._wire.under_way

    def start(self, task: FetchTask) -> None:
        """Begin to fetch; log in before the first page."""
        if task.ip is not None and task.purpose is Purpose.PAGE and self._session.covers(task.url):
            self._session.begin()
            self._logins[task.url] = self._session.logins
        self._wire.start(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Wait at most `timeout` seconds for something to end. Answers come without the cookies that they set."""
        return [kept for outcome in self._wire.finished(timeout) if (kept := self._seen(outcome)) is not None]

    def _seen(self, outcome: FetchOutcome) -> FetchOutcome | None:
        """What the crawl gets to see of an outcome; `None` if its page is asked for again."""
        task, session = outcome.task, self._session
        if not isinstance(outcome, Fetched | Redirected | NotModified) or not session.covers(task.url):
            return outcome
        session.take(task.url, outcome.headers)
        logins, has_ended = self._logins.pop(task.url, None), session.has_ended(outcome)
        if task.url in self._again:
            self._again.remove(task.url)
            session.tell(helped=not has_ended)
        elif has_ended and logins is not None and not self._is_cancelled and session.is_newer(logins):
            self._again.add(task.url)
            self._wire.start(task)
            return None
        return replace(outcome, headers=tuple(each for each in outcome.headers if each[0].lower() != "set-cookie"))

    def request_bytes(self, task: FetchTask) -> bytes:
        """The head of the request, without what belongs to the session."""
        return self._wire.request_bytes(task)

    def cancel_all(self) -> None:
        """Cancel everything; the outcomes are `cancelled`."""
        self._is_cancelled = True
        self._wire.cancel_all()

    def wake(self) -> None:
        """Make a waiting `finished` return at once."""
        self._wire.wake()

    def close(self) -> None:
        """Close every connection."""
        self._wire.close()


class _Asked:
    """A request as a cookie jar wants it, and the field that the jar adds."""

    unverifiable = False

    def __init__(self, url: Url) -> None:
        self._url = url
        self.type, _, rest = url.partition("://")
        self.host = rest.partition("/")[0]
        self.origin_req_host = self.host.partition(":")[0]
        self.added: HeaderFields = ()

    def get_full_url(self) -> str:
        """Its URL."""
        return self._url

    def has_header(self, name: str) -> bool:  # noqa: ARG002 - the interface has it
        """Whether a field is there already."""
        return False

    def add_unredirected_header(self, name: str, value: str) -> None:
        """Add a field."""
        self.added = (*self.added, (name, value))


class _Answer:
    """An answer as a cookie jar wants it."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def info(self) -> Message:
        """Its header fields."""
        return self._message


class _LoginForm(HTMLParser):
    """Finds the form with the fields that are filled in: where it is sent, and its hidden fields."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self._names = names
        self._action, self._fields, self._is_it = "", {}, False
        self.action = ""
        self.hidden: dict[str, str] = {}

    _fields: dict[str, str]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a form, or note a field of it."""
        given: dict[str, Any] = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._action, self._fields, self._is_it = given.get("action", ""), {}, False
        elif tag == "input" and given.get("name"):
            self._is_it = self._is_it or given["name"] in self._names
            if given.get("type", "").lower() == "hidden":
                self._fields[given["name"]] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        """Keep the form if it is the one."""
        if tag == "form" and self._is_it:
            self.action, self.hidden, self._is_it = self._action, self._fields, False


def _without_query(url: Url) -> str:
    return url.partition("?")[0]


def _text_of(outcome: Fetched) -> str:
    codings = ",".join(Headers(outcome.headers).all("content-encoding"))
    return decode_body(outcome.body, codings, max_size=_MAX_PAGE)[0].decode("utf-8", "replace")
