"""The server of surveyed domains says over HTTP what its plan says."""

from __future__ import annotations

from http.client import HTTPConnection, RemoteDisconnected

import pytest
from tests.lab.surveyed_server import HOME, ServedDomains


@pytest.mark.parametrize("by_proxy", [False, True])
def test_every_answer_arrives_as_it_was_planned(by_proxy: bool) -> None:
    """Status, place and body of every URL, for names with the server's port and for a proxy's client."""
    with ServedDomains(60, 3, by_proxy=by_proxy, naming=0.5) as served:
        connection = HTTPConnection(HOME, served.port, timeout=60)
        for url, said in served.plan.answers.items():
            if said.trouble == "silent":
                continue
            host, _, path = url.removeprefix("http://").partition("/")
            target = url if by_proxy else f"/{path}"
            try:
                connection.request("GET", target, headers={"Host": host})
                response = connection.getresponse()
            except RemoteDisconnected:
                assert said.trouble == "closes"
                connection.close()
                continue
            assert (response.status, response.headers.get("Location", "")) == (said.status, said.location)
            assert response.read() == said.body
        connection.close()
    assert served.requests.keys() <= served.plan.answers.keys()


def test_silence_ends_with_the_server() -> None:
    """A connection that waits for nothing does not keep the server from ending."""
    with ServedDomains(300, 1) as served:
        url = next(url for url, said in served.plan.answers.items() if said.trouble == "silent")
        host, _, path = url.removeprefix("http://").partition("/")
        connection = HTTPConnection(HOME, served.port, timeout=0.2)
        connection.request("GET", f"/{path}", headers={"Host": host})
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()
    assert not served._thread.is_alive()
