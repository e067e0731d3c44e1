"""Compares everything that two sides answer about a world, at once or at different times."""

from collections.abc import Iterable

from roost.assembly import build_application
from tests.comparison.compare import Finding
from tests.comparison.comparison import Comparison
from tests.comparison.requests import Request, make_search
from tests.comparison.sides import Answer, Side, client_of, send
from tests.comparison.state import read_state
from tests.comparison.worlds import World


class RecordedSide:
    """Passes requests to a live side and records its answers, or replays them without it."""

    def __init__(self, live: Side) -> None:
        self.live: Side | None = live
        self._answers: dict[str, Answer] = {}
        self._request: Request | None = None

    def reset(self) -> None:
        raise NotImplementedError

    def start(self, request: Request) -> None:
        self._request = request
        if self.live is not None:
            self.live.start(request)

    def finish(self) -> Answer:
        assert self._request is not None
        if self.live is not None:
            self._answers[str(self._request)] = self.live.finish()
        return self._answers[str(self._request)]


class RoostSide:
    """The WSGI application of roost on an existing database."""

    def __init__(self, url: str) -> None:
        self._client = client_of(
            build_application(database_url=url, auth_strategy="noauth2", sync=False)
        )

    def reset(self) -> None:
        raise NotImplementedError

    def start(self, request: Request) -> None:
        self._answer = send(self._client, request)

    def finish(self) -> Answer:
        return self._answer


class FullComparison(Comparison):
    """Reads all parts of a world from two sides, and sends many searches to both."""

    def __init__(self, world: World, reference: Side, roost: Side) -> None:
        super().__init__(0, reference, roost)
        self._world = world

    def difference(self, searches: int) -> str:
        """How the answers differ; empty if they do not."""
        self._state = read_state(self._read, self._world.consumer_uuids)
        assert self._state.providers, "an empty cloud shows nothing"
        everything = self._names(self._world)
        for _ in range(searches):
            self._search(make_search(self._chance, self._names_of_a_tree(everything)))
        return "\n".join(self._unequal)

    def _record_unknown(self, findings: Iterable[Finding]) -> bool:
        return super()._record_unknown(finding for finding in findings if not usages_fail(finding))


def usages_fail(finding: Finding) -> bool:
    """Whether the reference failed on /usages: on PostgreSQL it does from 1.38 on; documented."""
    situation = finding.situation
    return situation.request.path == "/usages" and situation.reference.status == 500


def record(world: World, side: Side, searches: int) -> RecordedSide:
    """Everything that a side answers about a world now, to compare with another side later."""
    recorded = RecordedSide(side)
    # Each request is sent once, and its answer compared with itself.
    FullComparison(world, recorded, LastAnswer(recorded)).difference(searches)
    recorded.live = None
    return recorded


class LastAnswer:
    """Gives the answer that another side gave to the same request."""

    def __init__(self, other: RecordedSide) -> None:
        self._other = other

    def reset(self) -> None:
        raise NotImplementedError

    def start(self, request: Request) -> None:
        self._request = request

    def finish(self) -> Answer:
        return self._other._answers[str(self._request)]
