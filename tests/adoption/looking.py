"""Asking one side for everything, and another for the same, earlier or later."""

from collections.abc import Iterable

from comparison.both import Comparison
from comparison.compare import Finding
from comparison.requests import Request, make_search
from comparison.sides import Answer, Side, client_of, send
from comparison.state import read_state
from comparison.worlds import World
from roost.assembly import build_application


class Recorded:
    """What a side said: passes requests on and remembers the answers, or repeats them."""

    def __init__(self, live: Side) -> None:
        self.live: Side | None = live
        self._answers: dict[str, Answer] = {}
        self._asked: Request | None = None

    def fresh(self) -> None:
        raise NotImplementedError

    def start(self, request: Request) -> None:
        self._asked = request
        if self.live is not None:
            self.live.start(request)

    def finish(self) -> Answer:
        assert self._asked is not None
        if self.live is not None:
            self._answers[str(self._asked)] = self.live.finish()
        return self._answers[str(self._asked)]


class RoostOn:
    """The WSGI application of roost on a database that is there."""

    def __init__(self, url: str) -> None:
        self._client = client_of(
            build_application(database_url=url, auth_strategy="noauth2", sync=False)
        )

    def fresh(self) -> None:
        raise NotImplementedError

    def start(self, request: Request) -> None:
        self._answer = send(self._client, request)

    def finish(self) -> Answer:
        return self._answer


class Look(Comparison):
    """Everything that two sides tell about a world: all its parts, and many searches."""

    def __init__(self, world: World, reference: Side, roost: Side) -> None:
        super().__init__(0, reference, roost)
        self._world = world

    def difference(self, searches: int) -> str:
        """In what they differ; empty if in nothing."""
        self._state = read_state(self._read, self._world.consumer_uuids)
        assert self._state.providers, "an empty cloud shows nothing"
        everything = self._names(self._world)
        for _ in range(searches):
            self._search(make_search(self._chance, self._names_of_a_tree(everything)))
        return "\n".join(self._unequal)

    def _settle(self, findings: Iterable[Finding]) -> bool:
        return super()._settle(finding for finding in findings if not usages_fail(finding))


def usages_fail(finding: Finding) -> bool:
    """On PostgreSQL the reference fails on this one, at 1.38 and later; documented."""
    situation = finding.situation
    return situation.request.path == "/usages" and situation.reference.status == 500


def record(world: World, side: Side, searches: int) -> Recorded:
    """All that a side tells about a world now, to be compared with another later."""
    recorded = Recorded(side)
    # Each question is asked once, and the answer compared with itself.
    Look(world, recorded, Echo(recorded)).difference(searches)
    recorded.live = None
    return recorded


class Echo:
    """Says what another has said to the last question."""

    def __init__(self, other: Recorded) -> None:
        self._other = other

    def fresh(self) -> None:
        raise NotImplementedError

    def start(self, request: Request) -> None:
        self._request = request

    def finish(self) -> Answer:
        return self._other._answers[str(self._request)]
