"""Refusals as exceptions: by status, and by code where a program acts on it."""

import inspect
import re
import uuid

import pytest

from roost.api.http_error import ErrorCode
from roost.client import (
    ApiError,
    BadRequest,
    Client,
    ClientError,
    ConcurrentUpdate,
    Conflict,
    Consumer,
    DuplicateName,
    Forbidden,
    IdempotencyKeyReused,
    Inventory,
    InventoryInUse,
    NoAuth,
    NoCandidates,
    NotFound,
    ProviderHasChildren,
    ProviderInUse,
    Unauthorized,
    errors,
)
from roost.client.errors import api_error
from tests.client.conftest import Scripted
from tests.client.scripted import refused
from tests.support.roost_server import RoostServer

# Codes on which a program acts as it does on the status.
BY_STATUS = {
    ErrorCode.UNDEFINED,
    ErrorCode.POSITION_GONE,
    ErrorCode.PROVIDER_NOT_FOUND,
    ErrorCode.QUERY_BAD_VALUE,
    ErrorCode.QUERY_DUPLICATE_KEY,
    ErrorCode.QUERY_MISSING_VALUE,
    ErrorCode.TOO_MANY_LONG_REQUESTS,
}


def test_a_refusal_is_the_exception_of_its_code(client: Client) -> None:
    host = client.create_provider(f"host-{uuid.uuid4()}")
    with pytest.raises(DuplicateName) as duplicate:
        client.create_provider(host.name)
    assert (duplicate.value.status, duplicate.value.code) == (409, "placement.duplicate_name")
    with pytest.raises(ConcurrentUpdate):
        client.set_inventories(host.uuid, {}, host.generation + 5)
    child = client.create_provider(f"child-{uuid.uuid4()}", parent_uuid=host.uuid)
    with pytest.raises(ProviderHasChildren):
        client.delete_provider(host.uuid)
    one = Inventory(total=1)
    written = client.set_inventories(child.uuid, {"VCPU": one}, child.generation)
    consumer = Consumer(uuid=str(uuid.uuid4()), project_id="project", user_id="user")
    request, key = f"resources=VCPU:1&in_tree={host.uuid}", str(uuid.uuid4())
    client.place(request, [consumer], idempotency_key=key)
    with pytest.raises(InventoryInUse):
        client.set_inventories(child.uuid, {}, written.generation + 1)
    with pytest.raises(ProviderInUse):
        client.delete_provider(child.uuid)
    with pytest.raises(NoCandidates):
        client.place(request, project_id="project", user_id="user")
    with pytest.raises(IdempotencyKeyReused):
        client.place(request, 2, project_id="project", user_id="user", idempotency_key=key)


def test_a_refusal_without_a_code_is_the_exception_of_its_status(client: Client) -> None:
    with pytest.raises(NotFound) as not_found:
        client.provider(str(uuid.uuid4()))
    assert not_found.value.request_id is not None
    assert not_found.value.request_id.startswith("req-")
    host = client.create_provider(f"host-{uuid.uuid4()}")
    with pytest.raises(BadRequest, match="VCPUS"):
        client.set_inventories(host.uuid, {"VCPUS": Inventory(total=1)}, host.generation)


@pytest.mark.process
def test_a_client_without_rights_or_credentials_is_refused(server: RoostServer) -> None:
    with Client(server.url, auth=NoAuth("user", roles=())) as client, pytest.raises(Forbidden):
        client.providers()

    class NoCredentials:
        def headers(self, *, renewed: bool = False) -> dict[str, str]:
            return {}

    with Client(server.url, auth=NoCredentials()) as client, pytest.raises(Unauthorized):
        client.providers()


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code_is_known(code: ErrorCode) -> None:
    statuses = (400, 404, 409, 410, 503)
    special = {type(api_error(status, "", code=code)) for status in statuses} - {
        type(api_error(status, "")) for status in statuses
    }
    assert len(special) == (code not in BY_STATUS)


def test_a_code_with_another_status_is_the_exception_of_the_status(scripted: Scripted) -> None:
    """A program that catches the exception of a status gets it."""
    client, _ = scripted(refused(404, "placement.no_candidates"))
    with pytest.raises(NotFound) as found:
        client.providers()
    assert not isinstance(found.value, Conflict)
    client, _ = scripted(refused(418, "placement.no_candidates"))
    with pytest.raises(ApiError) as other:
        client.providers()
    assert other.value.status == 418


def test_the_tree_of_errors_is_true() -> None:
    """The docstring of the module draws it."""
    drawn: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^([│├└─ ]*)([A-Z][A-Za-z]+)", line)
        if found and (found[1] or found[2] == "ClientError"):
            depth = len(found[1]) // 4
            path[depth:] = [found[2]]
            drawn[found[2]] = path[depth - 1] if depth else ""
    defined = dict(inspect.getmembers(errors, inspect.isclass))
    assert drawn.keys() == {name for name, kind in defined.items() if issubclass(kind, ClientError)}
    for name, base in drawn.items():
        assert base == "" or defined[base] in defined[name].__bases__, name
        assert defined[name].__doc__
