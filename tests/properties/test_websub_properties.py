"""WebSub under any bytes: a reader returns a value or a problem, and only the right digest is a signature."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.reference.websub_messages import read_request, sign

from periplus.formats import websub
from periplus.model import Problem

FIELDS = st.dictionaries(
    st.sampled_from(["hub.mode", "hub.topic", "hub.callback", "hub.secret", "hub.lease_seconds", "hub.challenge"]),
    st.text(max_size=20) | st.sampled_from(["subscribe", "denied", "https://e.org/"]),
).map(lambda fields: "&".join(f"{name}={value}" for name, value in fields.items()))


@given(st.binary() | FIELDS.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_request_or_a_problem(body: bytes) -> None:
    """What is read as a request can be written and read again."""
    found = read_request(body)
    if not isinstance(found, Problem):
        assert read_request(websub.write_request(found)) == found


@given(st.text() | FIELDS)
def test_any_query_is_an_intent_or_a_problem(query: str) -> None:
    """What is read as an intent can be answered: it is denied or has a challenge."""
    found = websub.read_intent(query)
    assert isinstance(found, Problem) or found.mode == "denied" or found.challenge


@given(st.text() | st.from_regex(r"sha(1|256|384|512)=[0-9a-f]{1,128}", fullmatch=True), st.binary(), st.binary())
def test_no_other_text_is_a_signature(header: str, body: bytes, secret: bytes) -> None:
    """A header is accepted only if it is what `sign` writes."""
    found = websub.check_signature(header, body, secret, accepts_sha1=True)
    if not isinstance(found, Problem):
        assert header.strip().lower() == sign(body, secret, found)


@given(st.binary(), st.binary(max_size=64), st.sampled_from(websub.METHODS))
def test_signatures_are_accepted(body: bytes, secret: bytes, method: str) -> None:
    """What is signed is accepted by the same secret."""
    signed = sign(body, secret, method)
    assert websub.check_signature(signed, body, secret, accepts_sha1=True) == method
