"""/capacity: how many more of a request fit."""

from roost.api.handlers import candidates
from roost.api.http.error_wording import worded
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies, query_string
from roost.api.parsing.candidates_body import parameters_of
from roost.api.schemas import candidates as schema
from roost.api.versions import VERSION_MAX
from roost.operations.candidates import count_capacity
from roost.service.service import Roost


def get(roost: Roost, request: Request) -> Reply:
    return _answer(roost, query_string.split(request.query_string))


def post(roost: Roost, request: Request) -> Reply:
    return _answer(roost, parameters_of(bodies.read(request.body, schema.POST)))


def _answer(roost: Roost, parameters: query_string.Parameters) -> Reply:
    query = candidates.parse_parameters(parameters, VERSION_MAX, extended=True)
    with worded(candidates.WORDINGS):
        found = count_capacity(roost, query=query)
    return Reply(body=found, shows_state=True)
