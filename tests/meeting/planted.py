"""Plants bugs in a copy of the sources, one at a time, and runs seeds of generated crawls until one finds it.

    python -m tests.meeting.planted               # all of them
    python -m tests.meeting.planted "probe"       # those whose names contain this

Each is a bug that a feature could bring in without failing a test of its own: one in every part that generated crawls
are for. First the seeds of the tests are run, then others, up to `MAX_SEEDS` in all. The exit code is 1 if a bug is
missed, or cannot be planted since the line has changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.faults.planted import ROOT, Bug, planted
from tests.meeting.seeds import FOUND, QUICK

MAX_SEEDS: Final = 60
"""Seeds that are run for one bug, those of the tests among them."""
LIMIT: Final = 1_800.0
"""Seconds after which the seeds of one bug count as hanging, which is a way to find it."""

BUGS: Final = (
    Bug(
        "frontier: a probe is granted again and again in one visit", "engine/frontier/frontier.py",
        "self._selector.next_two(active, self._leases.names(active.site))",
        "self._selector.next_two(active, frozenset(task.url for task in tasks))", (),
    ),
    Bug(
        "leases: the name of a request that has ended stays", "engine/frontier/leases.py",
        "        self._ends.drop(key)\n        return self._close(key)\n",
        "        self._ends.drop(key)\n        return self._leases.pop(key)\n", (),
    ),
    Bug(
        "reports: a URL that failed is not tried again", "engine/frontier/reports.py",
        "        self._state.queues.postpone([(due_at, ticket.entry)])\n", "        pass\n", (),
    ),
    Bug(
        "schedule: a site that leaves its address does not free it", "engine/frontier/schedule.py",
        "            address.ready -= before is SiteStage.READY\n            self.addresses.file(address)\n",
        "            address.ready -= before is SiteStage.READY\n", (),
    ),
    Bug(
        "addresses: the pause of an address is ignored", "engine/frontier/addresses.py",
        "self._due.put(address, max(at, address.next_at), address.key)", "self._due.put(address, at, address.key)", (),
    ),
    Bug(
        "sitemaps: listed pages wait when their queue runs empty", "engine/sitemaps/scheduler.py",
        "        self._hungry.update(site for site in sites if site in self._listed)\n", "", (),
    ),
    Bug(
        "focus: what was learnt of the topic is not committed", "parts/focus/part.py",
        "        return self._focus.state\n", "        return FocusState()\n", (),
    ),
    Bug(
        "rendering: a page that crashes the browser has no answer", "parts/render/wire.py",
        "            if waited is not None:\n",
        "            if waited is not None and rendered.document is not None:\n", (),
    ),
    Bug(
        "absence: the suspect itself is probed", "parts/absence/part.py",
        "            self._queue([Probe(url, SOFT_404)], now)\n",
        "            self._queue([Probe(suspect, SOFT_404)], now)\n", (),
    ),
    Bug(
        "cloaking: copies for crawlers count as those for browsers", "parts/cloaking/part.py",
        "        (probes.browsers if is_browser else probes.crawlers).append(copy)\n",
        "        probes.browsers.append(copy)\n", (),
    ),
    Bug(
        "spam: domains that were judged to be spam wait forever", "engine/frontier/domains.py",
        "        return self.is_waited_for or not self.is_only_discounted or self._awaits_verdict\n",
        "        return True\n", (),
    ),
    Bug(
        "budgets: the next pass does not begin", "engine/frontier/domains.py",
        "        self.pass_number = max(self.later, self.pass_number)\n", "", (),
    ),
    Bug(
        "steering: URLs that wait are fetched although they are excluded", "engine/frontier/selection.py",
        "            if pattern is not None:\n                return \"excluded\", pattern\n", "", (),
    ),
    Bug(
        "router: a batch for another shard is lost if it is not full", "engine/router.py",
        "            self._exchange.send(owner, discoveries)\n        self._foreign.clear()\n",
        "            pass\n        self._foreign.clear()\n", (),
    ),
    Bug(
        "dust: seen links are forgotten whenever a process starts", "parts/dust/part.py",
        "        if now:\n            self._forget_links(now)\n", "        self._forget_links(now)\n", (),
    ),
    Bug(
        "spam: hosts are retired whenever a process starts", "parts/spam/part.py",
        "        for name in self._known.retired if now else ():\n", "        for name in self._known.retired:\n", (),
    ),
    Bug(
        "limit: pages under way do not count", "engine/frontier/frontier.py",
        "self.pages_done + self._pages_out < self._page_budget", "self.pages_done < self._page_budget", (),
    ),
    Bug(
        "pause: a crawl that is paused goes on", "engine/engine.py",
        "        if self.is_stopping or self.is_paused or self._machine.router.is_full:\n            return 0\n",
        "        if self.is_stopping or self._machine.router.is_full:\n            return 0\n", (),
    ),
)  # fmt: skip

MISSED: Final = (
    Bug(
        "steering: excluded patterns are forgotten by a restart", "engine/frontier/frontier.py",
        "            self.steering.state,\n", "            type(self.steering.state)(),\n", (),
    ),
    Bug(
        "revisits: a refresh moves a price that no commit has", "engine/revisit/revisits.py",
        "        if not is_revisit or not self.is_watching:\n", "        if not is_revisit:\n", (),
    ),
    Bug(
        "resize: patterns that people gave are lost", "collection/resizing.py",
        "            steering=frontier.steering,\n", "", (),
    ),
    Bug(
        "budgets: the order of a domain is that of its last page", "engine/frontier/domains.py",
        "            if domain.fetched + 1 >= domain.until:\n", "            if domain.fetched >= domain.until:\n", (),
    ),
    Bug(
        "forms: a crawl ends while forms are submitted", "engine/machine.py",
        "self.sitemaps.is_idle(now) and not self._is_due(now + LONG_REST)\n", "self.sitemaps.is_idle(now)\n", (),
    ),
    Bug(
        "sitemaps: the first file of a site is read, and those that arrived meanwhile are dropped",
        "engine/sitemaps/scheduler.py",
        "            if files:\n", "            if files and not file.is_over:\n", (),
    ),
    Bug(
        "dust: a URL that is renamed while it waits is dropped", "engine/frontier/selection.py",
        "                self.renamed.append(replace(discovery, url=verdict.url))\n", "", (),
    ),
    Bug(
        "mirrors: URLs of a mirror are renamed and not passed on", "parts/mirrors/part.py",
        "desk.renamed.append(hosts.drain_renamed)\n", "desk.renamed.append(lambda: hosts.drain_renamed()[:0])\n", (),
    ),
    Bug(
        "revisits: those that wait are not committed", "engine/frontier/frontier.py",
        "            self._selector.revisits_waiting,\n            list(self._leases),\n",
        "            0,\n            list(self._leases),\n", (),
    ),
    Bug(
        "preflight: a site whose robots.txt was elsewhere is not woken", "engine/frontier/preflight.py",
        "            self._schedule.place(active, max(record.ready_at, rested_at))\n        else:\n"
        "            self._wake(active, now)\n",
        "            self._schedule.place(active, max(record.ready_at, rested_at))\n", (),
    ),
    Bug(
        "reports: the rest of a site is forgotten while others of its requests are under way",
        "engine/frontier/schedule.py",
        "            active.not_before = max(active.not_before, until)\n            return\n",
        "            return\n", (),
    ),
    Bug(
        "resize: postponed URLs stay behind", "store/state/moving.py",
        '        self._copy_timed()\n        self._copy_named()\n', "        self._copy_named()\n", (),
    ),
)  # fmt: skip
"""Bugs that a few seeds with the features they concern have not found yet: what this property is blind to."""


def found_by(sources: Path) -> str:
    """How many seeds it took, and what the last of them found; empty: none found anything."""
    command = [sys.executable, "-m", "tests.meeting.soak", "--until-failure", "--count", str(MAX_SEEDS)]
    command += ["--before", *map(str, [*QUICK, *FOUND])]
    environment = os.environ | {"PYTHONPATH": f"{sources}{os.pathsep}{ROOT}"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return "a seed hangs"
    if done.returncode == 0:
        return ""
    lines = done.stdout.splitlines()
    return " ".join(line[:200] for line in (lines[-1:] + lines[:1])) or done.stderr[-300:]


def main() -> int:
    """Plant each bug that was asked for; print what found it."""
    wanted = sys.argv[1:] or [""]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="periplus-planted-") as folder:
        sources = Path(folder) / "src"
        shutil.copytree(ROOT / "src", sources)
        for bug in (*BUGS, *(MISSED if sys.argv[1:] else ())):
            if any(name in bug.name for name in wanted):
                with planted(bug, sources):
                    found = found_by(sources)
                missed += not found
                print(f"{bug.name}: {found or 'MISSED'}", flush=True)  # noqa: T201
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
