"""Tokens that nobody has accepted yet do not make a client many senders."""

import pytest

from roost.server import senders
from roost.server.senders import Senders

PATH = "/resource_providers"


def request(token: str | None = None, *, address: str = "10.0.0.1", method: str = "GET"):
    environ = {"REQUEST_METHOD": method, "REMOTE_ADDR": address}
    if token is not None:
        environ["HTTP_X_AUTH_TOKEN"] = token
    return environ


def test_invented_tokens_are_one_sender() -> None:
    known = Senders()
    for number in range(100):
        invented = request(f"invented {number}")
        assert known.sender_of(invented) == known.sender_of(request())
        known.note(invented, PATH, 401)


def test_accepted_tokens_are_senders_behind_one_proxy() -> None:
    known = Senders()
    first, second = request("first"), request("second")
    for each in (first, second):
        known.note(each, PATH, 200)
    assert len({known.sender_of(each) for each in (first, second, request())}) == 3
    assert known.sender_of(request("first", address="10.0.0.2")) == known.sender_of(first)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 200), ("GET", "/livez", 200), ("OPTIONS", PATH, 200), ("GET", PATH, 503)],
)
def test_an_answer_without_a_look_at_the_token_says_nothing(
    method: str, path: str, status: int
) -> None:
    known = Senders()
    known.note(request("invented", method=method), path, status)
    assert known.sender_of(request("invented")) == known.sender_of(request())


def test_only_so_many_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(senders, "TOKENS_MAX", 2)
    known = Senders()
    for token in ("first", "second"):
        known.note(request(token), PATH, 200)
    known.sender_of(request("first"))
    known.note(request("third"), PATH, 200)
    unknown = known.sender_of(request())
    assert known.sender_of(request("first")) != unknown
    assert known.sender_of(request("second")) == unknown
