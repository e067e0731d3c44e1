"""GET /capacity: how many more of a request fit."""

from roost.api import candidates, query_string
from roost.api.explain import parse_whole
from roost.api.messages import Reply, Request
from roost.api.wording import worded
from roost.operations.count_capacity import count_capacity
from roost.service import Roost


def get(roost: Roost, request: Request) -> Reply:
    query = parse_whole(query_string.split(request.query_string))
    with worded(candidates.WORDINGS):
        found = count_capacity(roost, query=query)
    return Reply(body=found, shows_state=True)
