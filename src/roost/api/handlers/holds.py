"""POST /holds and DELETE /holds/{hold_id}: claims in a tree wait for a reshape."""

from roost.api.http.error_wording import ErrorWording, ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.http_error import ErrorCode
from roost.api.parsing import bodies
from roost.errors import ProviderNotFound
from roost.operations.holds import hold_tree, release_hold
from roost.service.service import Roost
from roost.uuids import canonical_uuid

# The tree is in the body and not in the path, so an unknown one is a 400 and not a 404.
WORDINGS: ErrorWordings = {
    ProviderNotFound: ErrorWording(
        sentence="tree: {error}", status=400, code=ErrorCode.PROVIDER_NOT_FOUND
    )
}


def post(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, request.body_schema)
    with reword_errors(WORDINGS):
        hold = hold_tree(
            roost,
            provider_uuid=roost.as_stored(canonical_uuid(body["tree"])),
            seconds=float(body["seconds"]),
            sender=request.sender,
        )
    return Reply(body={"id": hold.id, "seconds": hold.seconds})


def delete(roost: Roost, request: Request, hold_id: str) -> Reply:
    release_hold(roost, id=hold_id)
    return Reply(status=204)
