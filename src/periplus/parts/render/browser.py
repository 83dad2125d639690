"""Finds a browser on this machine and starts it, with everything off that a crawler has no use for.

Playwright drives it, through a pipe; nothing is ever downloaded. The browser has a profile of its own that is removed
when it ends, an almost empty environment, and no way to the network but the gate: names cannot be looked up by itself,
loopback is not exempt from the proxy, QUIC and WebRTC, which go past proxies, are off.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.model import ConfigError

from .gate import is_supported_proxy
from .settings import RenderSettings

MARK: Final = "--periplus-browser="
"""An argument unknown to browsers, which identifies the processes of ours."""
_PROFILE: Final = b"--user-data-dir="
_PROC: Final = Path("/proc")
_PAGE_SIZE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def processes_of(mark: str) -> list[int]:
    """The processes that were started with a mark, and all that they started."""
    parents: dict[int, int] = {}
    marked: set[int] = set()
    wanted = f"{MARK}{mark}".encode()
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            number = int(entry.name)
            with suppress(OSError, IndexError, ValueError):
                if wanted in (entry / "cmdline").read_bytes().split(b"\0"):
                    marked.add(number)
                parents[number] = int((entry / "stat").read_bytes().rpartition(b") ")[2].split()[1])
    found = set(marked)
    while True:
        more = {number for number, parent in parents.items() if parent in found} - found
        if not more:
            return sorted(found)
        found |= more


def memory_of(processes: list[int]) -> int:
    """Bytes in memory that these processes do not share with files, all together."""
    total = 0
    for number in processes:
        with suppress(OSError, IndexError, ValueError):
            resident, shared = map(int, (_PROC / str(number) / "statm").read_bytes().split()[1:3])
            total += (resident - shared) * _PAGE_SIZE
    return total


def profiles_of(processes: list[int]) -> set[Path]:
    """The folders of their profiles."""
    found = set()
    for number in processes:
        with suppress(OSError):
            arguments = (_PROC / str(number) / "cmdline").read_bytes().split(b"\0")
            found |= {Path(os.fsdecode(each[len(_PROFILE) :])) for each in arguments if each.startswith(_PROFILE)}
    return found


def kill(processes: list[int]) -> None:
    """End processes at once."""
    for number in processes:
        with suppress(OSError):
            os.kill(number, signal.SIGKILL)


if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright

_NAMES: Final = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Browsers by the names under which systems install them, the fastest to start first."""
_HINT: Final = "Install chromium-headless-shell or chromium, or name a browser in [render] browser"
_MAX_HEAP: Final = 512
"""Megabytes of a page's JavaScript heap: beyond this the page crashes instead of the machine."""
_ARGUMENTS: Final = (
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--no-pings",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-gpu",
    f"--js-flags=--max-old-space-size={_MAX_HEAP}",
)
_ALL_THROUGH_PROXY: Final = "<-loopback>"
"""Overrides Chromium's default, which exempts loopback from proxies."""

SAFE_SCRIPT: Final = """
(() => {
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCDataChannel', 'WebTransport',
                      'SharedWorker', 'Notification'])
    try { Object.defineProperty(window, name, {value: undefined, configurable: false}); } catch (e) {}
  window.open = () => null;
  window.print = () => undefined;
  window.addEventListener('click', event => {
    if (event.composedPath().some(node => node.hasAttribute && node.hasAttribute('download'))) event.preventDefault();
  }, true);
  const state = {changed: performance.now(), timers: new Map()};
  Object.defineProperty(window, Symbol.for('periplus'), {value: state});
  const watch = () => new MutationObserver(() => { state.changed = performance.now(); })
    .observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  watch();
  let nesting = 0;
  window.setTimeout = new Proxy(window.setTimeout, {apply(begin, self, given) {
    const [run, delay, ...values] = given, own = nesting + 1;
    if (typeof run !== 'function' || own > 5) return Reflect.apply(begin, self, given);
    const ran = () => {
      state.timers.delete(number);
      const before = nesting;
      nesting = own;
      try { run.apply(window, values); } finally { nesting = before; }
    };
    const number = Reflect.apply(begin, self, [ran, delay]);
    state.timers.set(number, performance.now() + Number(delay || 0));
    return number;
  }});
  window.clearTimeout = new Proxy(window.clearTimeout, {apply(end, self, given) {
    state.timers.delete(given[0]);
    return Reflect.apply(end, self, given);
  }});
})();
"""
"""Runs in every page before its own scripts: removes ways past the proxy, and records when the document changed.

It also records which timers wait. Those that a timer has set, five times over, belong to an animation or a clock.
"""
STEADY_SCRIPT: Final = """
(() => {
  let seed = 42;
  Math.random = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648; };
  const at = 1767225600000, RealDate = Date;
  const Fixed = function (...given) { return given.length ? new RealDate(...given) : new RealDate(at); };
  Fixed.prototype = RealDate.prototype; Fixed.UTC = RealDate.UTC; Fixed.parse = RealDate.parse; Fixed.now = () => at;
  window.Date = Fixed;
})();
"""
"""Fixed random numbers, and the same moment at every visit (2026-01-01)."""


def find_browser(settings: RenderSettings) -> str:
    """The path of the browser. Raises `ConfigError` if there is none."""
    if settings.browser:
        found = shutil.which(settings.browser)
        if found is None:
            raise ConfigError(f"render.browser: {settings.browser} is not a program", hint=_HINT)
        return found
    for name in _NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    raise ConfigError("rendering needs a browser, and this machine has none", hint=_HINT)


def check_browser(settings: RenderSettings, proxy: str = "") -> None:
    """Raise `ConfigError` if pages cannot be rendered here, in one sentence."""
    if importlib.util.find_spec("playwright") is None:
        raise ConfigError(
            f"render.mode is {settings.mode}, and the package playwright is not installed",
            hint="Install the extra: pip install 'periplus[render]'",
        )
    find_browser(settings)
    if settings.sandbox and hasattr(os, "geteuid") and os.geteuid() == 0:
        raise ConfigError(
            "Chromium does not start as root with its sandbox",
            hint="Run as another user; in a container, [render] sandbox = false lets the container be the sandbox",
        )
    if not is_supported_proxy(proxy):
        raise ConfigError(f"pages cannot be rendered through the proxy {proxy}", hint="Use a proxy for HTTP")


async def launch(playwright: Playwright, settings: RenderSettings, *, mark: str, port: int, home: Path) -> Browser:
    """Start the browser. `port` is where requests that belong to no page are refused; `home` is for its own files."""
    path = find_browser(settings)
    return await playwright.chromium.launch(
        executable_path=path,
        chromium_sandbox=settings.sandbox,
        proxy={"server": f"http://127.0.0.1:{port}", "bypass": _ALL_THROUGH_PROXY},
        args=[*_ARGUMENTS, f"{MARK}{mark}"],
        env=_environment(home),
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
    )


async def new_context(
    browser: Browser, settings: RenderSettings, *, port: int, agent: str, verify: bool
) -> BrowserContext:
    """A context for one site: no cookies of others, no permissions, no downloads, no service workers."""
    context = await browser.new_context(
        proxy={"server": f"http://127.0.0.1:{port}", "bypass": _ALL_THROUGH_PROXY},
        user_agent=agent,
        accept_downloads=False,
        service_workers="block",
        permissions=[],
        ignore_https_errors=not verify,
        viewport={"width": 1280, "height": 1024},
        locale="en-US",
    )
    await context.add_init_script(SAFE_SCRIPT)
    if settings.steady:
        await context.add_init_script(STEADY_SCRIPT)
    return context


def _environment(home: Path) -> dict[str, str | float | bool]:
    """The environment variables that a browser needs: not our secrets."""
    names = ("PATH", "LANG", "FONTCONFIG_PATH")
    kept: dict[str, str | float | bool] = {name: os.environ[name] for name in names if name in os.environ}
    return kept | {"HOME": str(home), "TMPDIR": str(home)}
