"""Searches, and what is made of them: candidates, explanations, counts and placements."""

import uuid as uuid_module
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from roost.client import wire
from roost.client.calls import EXTENSION, Call, Pages, Version, pages, request
from roost.client.errors import InvalidRequest
from roost.client.explanations import Capacity, Explanation
from roost.client.parameters import Parameter
from roost.client.request import Request
from roost.client.values import Candidate, Candidates, Consumer

# A request in any of the forms that clients write.
AnyRequest = Request | str | Mapping[str, Parameter]

# Many servers and proxies take request lines of 8190 bytes, unless they are configured otherwise.
QUERY_LENGTH_MAX = 7500

# How many candidates a page has, unless the request says it.
PAGE_LENGTH = 1000

CANDIDATES = "/allocation_candidates"

Answer = TypeVar("Answer")


def search(
    path: str,
    asked: Request,
    read: Callable[[Any], Answer],
    *,
    shape: Any = Any,
    since: Version = EXTENSION,
) -> Call[Answer]:
    """A search, by GET or, where it does not fit into a URL, by POST."""
    if asked.length_in_url <= QUERY_LENGTH_MAX:
        query = asked.query()
        return Call(method="GET", path=path, query=query, read=read, shape=shape, since=since)
    return Call(
        method="POST",
        path=path,
        body=asked.body(),
        read=read,
        shape=shape,
        since=EXTENSION,
        repeatable=True,
    )


class CandidateRequests:
    @request
    def candidates(self, request: AnyRequest) -> Call[Candidates]:
        """Where a request fits."""
        return search(CANDIDATES, Request.of(request), wire.candidates, since=(1, 29))

    @pages
    def all_candidates(self, request: AnyRequest) -> Pages[Candidate]:
        """Every way to serve a request, read a page at a time.

        They come in the order of the request, by default `root`. Its `limit` is the length of a
        page. Only roost has this request.
        """
        asked = Request.of(request)
        named = asked.query()
        if "order" not in named:
            asked = asked.order("root")
        if "limit" not in named:
            asked = asked.limit(PAGE_LENGTH)
        return Pages(search(CANDIDATES, asked, wire.candidates_page))

    @request
    def explain(self, request: AnyRequest, *, tree_uuid: str | None = None) -> Call[Explanation]:
        """Why a request fits or does not, in all trees or in the tree of a provider.

        Only roost has this request.
        """
        asked = Request.of(request, also=["tree"])
        if tree_uuid is not None:
            asked = asked.with_one("tree", tree_uuid)
        return search(f"{CANDIDATES}/explain", asked, wire.as_it_is, shape=Explanation)

    @request
    def capacity(self, request: AnyRequest) -> Call[Capacity]:
        """How many more of a request fit, in total and by tree. Only roost has this request."""
        return search("/capacity", Request.of(request), wire.as_it_is, shape=Capacity)

    @request
    def place(
        self,
        request: AnyRequest,
        consumers: int | Iterable[Consumer | str] = 1,
        *,
        project_id: str | None = None,
        user_id: str | None = None,
        consumer_type: str = "INSTANCE",
        order: str | None = None,
        apart: bool = False,
        idempotency_key: str | None = None,
    ) -> Call[Mapping[str, Candidate]]:
        """Search and claim in one request: consumer UUID -> what it holds now.

        `consumers` are consumers or their UUIDs, or how many: then they get random UUIDs.
        `project_id`, `user_id` and `consumer_type` are for consumers that do not have their own.

        Either all consumers get a place, with `apart` each on another root, or none does and this
        raises `NoCandidates`. The consumers must not hold anything yet. If an answer is lost, the
        request is sent again with the same idempotency key, a random one unless it is given.
        Only roost has this request.
        """
        if isinstance(consumers, int):
            consumers = [str(uuid_module.uuid4()) for _ in range(consumers)]
        body: dict[str, Any] = {
            "query": str(Request.of(request)),
            "consumers": dict(
                _placed(each, project_id, user_id, consumer_type) for each in consumers
            ),
            "idempotency_key": idempotency_key or str(uuid_module.uuid4()),
        }
        if order is not None:
            body["order"] = order
        if apart:
            body["spread"] = "root"
        return Call(
            method="POST",
            path="/placements",
            body=body,
            read=wire.placements,
            since=EXTENSION,
            repeatable=True,
            races=True,
        )


def _placed(
    given: Consumer | str, project_id: str | None, user_id: str | None, consumer_type: str
) -> tuple[str, dict[str, str]]:
    """The UUID of a consumer, and what the service is told about it."""
    consumer = Consumer(uuid=given) if isinstance(given, str) else given
    project_id, user_id = consumer.project_id or project_id, consumer.user_id or user_id
    if project_id is None or user_id is None:
        raise InvalidRequest(f"consumer {consumer.uuid} needs a project_id and a user_id")
    return consumer.uuid, {
        "project_id": project_id,
        "user_id": user_id,
        "consumer_type": consumer.consumer_type or consumer_type,
    }
