"""GET /: which versions there are, and what there is beyond them."""

from roost.api.extensions import EXTENSIONS
from roost.api.http.messages import Reply, Request
from roost.api.versions import VERSION_MAX, VERSION_MIN
from roost.service.service import Roost


def get(roost: Roost, request: Request) -> Reply:
    version = {
        "id": "v1.0",
        "max_version": str(VERSION_MAX),
        "min_version": str(VERSION_MIN),
        "status": "CURRENT",
        "links": [{"rel": "self", "href": ""}],
    }
    return Reply(body={"versions": [version], "extensions": list(EXTENSIONS)}, shows_state=True)
