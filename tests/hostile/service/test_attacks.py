"""Whatever one client sends, it gets an answer within a bound, and others are served meanwhile.

A real server of one worker with four threads is attacked while a neighbour sends ordinary requests.
That the neighbour was served shows in the order of events: its requests are sent after the attack
began and answered before it ended.
"""

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import psutil
import pytest

from roost.api.http_error import ErrorCode
from tests.hostile.service.conftest import BODY_SECONDS_MAX, SEARCH_SECONDS_MAX, STREAMS
from tests.support.hostile.attacks import ATTACKS, Target
from tests.support.hostile.neighbour import KINDS, Neighbour, Sample, served_within
from tests.support.hostile.wire import Outcome
from tests.support.roost_server import RoostServer

GAVE_UP = (400, ErrorCode.SEARCH_TOO_HARD)
TOO_LARGE = (400, ErrorCode.ANSWER_TOO_LARGE)
NO_CANDIDATES = (409, ErrorCode.NO_CANDIDATES)
SLOW_BODY_STATUS = 408
LARGE_BODY_STATUS = 413
BUSY_STATUS = 503  # too many searches that take long, or answers that are read slowly

# How often each kind of request of the neighbour is served during an attack that lasts.
ROUNDS = 3
# What comes on top of a limit on a machine that does other things as well.
SLACK_SECONDS = 10.0
SENDERS = 64
# An error that quotes something long cuts it short.
ERROR_BYTES_MAX = 4096


class Attacked(NamedTuple):
    """An attack that is over."""

    outcomes: Sequence[Outcome]
    began: float
    ended: float
    samples: Sequence[Sample]

    @property
    def outcome(self) -> Outcome:
        [only] = self.outcomes
        assert only.problem == "", only.text
        return only

    @property
    def body(self) -> Any:
        return json.loads(self.outcome.body)

    @property
    def answer(self) -> tuple[int | None, str]:
        return self.outcome.status, self.outcome.code

    @property
    def candidates(self) -> int:
        assert self.answer == (200, "")
        return len(self.body["allocation_requests"])

    def statuses(self) -> Counter[int | None]:
        return Counter(outcome.status for outcome in self.outcomes)

    def slowest(self) -> float:
        return max(outcome.seconds for outcome in self.outcomes)

    def assert_neighbour_was_served(self, rounds: int = 0) -> None:
        """No request of the neighbour failed; so many were served while the attack went on."""
        assert [one for one in self.samples if one.status not in (200, 204)] == []
        within = Counter(one.kind for one in served_within(self.samples, self.began, self.ended))
        assert {kind: within[kind] for kind in KINDS if within[kind] < rounds} == {}


def attack(server: RoostServer, key: str, **scale: Any) -> Attacked:
    # Longer than the limits of the server: it is the server that ends an attack.
    patience = {"seconds_max": 40.0, "slow_seconds_max": 20.0, "senders": SENDERS}
    target = Target(server.port, **{**patience, **scale})
    _, send = ATTACKS[key]
    with Neighbour(server.port, pace_seconds=0.05) as neighbour:
        neighbour.wait_until_served(2)
        began = time.monotonic()
        outcomes = send(target)
        ended = time.monotonic()
        # An attack whose answer was quick is felt, if at all, right after it.
        neighbour.wait_until_served(3 + max(len(neighbour.of_kind(kind)) for kind in KINDS))
    return Attacked(outcomes, began, ended, neighbour.samples)


class TestSearchesThatAreDecided:
    """They look hard, but what makes them impossible is seen before anything is tried."""

    @pytest.mark.parametrize(
        "key", ["isolated-pairs", "subtree-pairs", "equal-groups", "large-groups", "totals"]
    )
    def test_nothing_fits(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, key)
        assert result.candidates == 0
        result.assert_neighbour_was_served()

    def test_an_exact_packing(self, attacked: RoostServer) -> None:
        """Decided or given up, but never with a candidate."""
        result = attack(attacked, "exact-packing")
        assert result.answer == GAVE_UP or result.candidates == 0
        assert result.slowest() < SEARCH_SECONDS_MAX + SLACK_SECONDS
        result.assert_neighbour_was_served()

    @pytest.mark.parametrize("key", ["isolated", "equal"])
    def test_nothing_is_placed(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, f"placement-{key}")
        assert result.answer == NO_CANDIDATES
        result.assert_neighbour_was_served()

    @pytest.mark.parametrize("key", ["isolated", "equal"])
    def test_nothing_is_counted(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, f"capacity-{key}")
        assert result.body["count"] == 0
        assert result.body["complete"] is True
        result.assert_neighbour_was_served()

    @pytest.mark.parametrize("key", ["isolated", "equal"])
    def test_the_explanation_knows(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, f"explain-{key}")
        assert result.answer == (200, "")
        assert result.body["verdict"] == "never"
        result.assert_neighbour_was_served()


class TestSearchesThatGiveUp:
    """No insight ends them, so they end when their time is over, and say so."""

    @pytest.mark.parametrize("key", ["puzzle", "puzzle-limit", "placement-puzzle"])
    def test_one(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, key)
        assert result.answer == GAVE_UP
        assert result.slowest() < SEARCH_SECONDS_MAX + SLACK_SECONDS
        result.assert_neighbour_was_served(ROUNDS)

    def test_with_a_limit_what_was_found_is_returned(self, attacked: RoostServer) -> None:
        result = attack(attacked, "puzzle-found")
        assert result.candidates == 1
        assert result.slowest() < SEARCH_SECONDS_MAX + SLACK_SECONDS
        result.assert_neighbour_was_served(ROUNDS)

    def test_the_explanation_says_what_it_knows(self, attacked: RoostServer) -> None:
        result = attack(attacked, "explain-puzzle")
        assert result.answer == (200, "")
        assert result.body["complete"] is False
        assert result.slowest() < SEARCH_SECONDS_MAX + SLACK_SECONDS
        result.assert_neighbour_was_served(ROUNDS)

    def test_the_count_says_that_it_is_not_complete(self, attacked: RoostServer) -> None:
        result = attack(attacked, "capacity-puzzle")
        assert result.answer == (200, "")
        assert result.body["complete"] is False
        assert result.slowest() < SEARCH_SECONDS_MAX + SLACK_SECONDS
        result.assert_neighbour_was_served(ROUNDS)

    def test_many_at_once(self, attacked: RoostServer) -> None:
        result = attack(attacked, "puzzles")
        assert [one.problem for one in result.outcomes if one.problem] == []
        answers = {(one.status, one.code) for one in result.outcomes if one.status != BUSY_STATUS}
        assert answers == {GAVE_UP}
        result.assert_neighbour_was_served(ROUNDS)


class TestSplits:
    def test_what_fits_is_found(self, attacked: RoostServer) -> None:
        result = attack(attacked, "split")
        assert result.candidates > 0
        result.assert_neighbour_was_served()

    def test_it_is_placed(self, attacked: RoostServer) -> None:
        result = attack(attacked, "placement-split")
        assert result.answer == (200, "")
        result.assert_neighbour_was_served()

    def test_it_is_counted(self, attacked: RoostServer) -> None:
        result = attack(attacked, "capacity-split")
        assert result.answer == (200, "")
        assert result.body["count"] >= 1
        result.assert_neighbour_was_served()

    def test_the_explanation_does_not_deny_it(self, attacked: RoostServer) -> None:
        result = attack(attacked, "explain-split")
        assert result.answer == (200, "")
        assert result.body["verdict"] == "fits"
        result.assert_neighbour_was_served()

    def test_without_a_limit(self, attacked: RoostServer) -> None:
        """Either all of them, or an error; never a part that looks like all."""
        result = attack(attacked, "split-unlimited")
        assert result.answer in ((200, ""), GAVE_UP)
        assert result.slowest() < SEARCH_SECONDS_MAX + SLACK_SECONDS
        result.assert_neighbour_was_served()


class TestLargeAnswers:
    def test_memory_does_not_grow_with_the_answer(self, patient: RoostServer) -> None:
        before = resident_peak(patient)
        result = attack(patient, "unlimited")
        assert result.outcome.status == 200
        assert result.outcome.bytes_read > 150_000_000
        assert resident_peak(patient) - before < 100_000_000
        result.assert_neighbour_was_served(ROUNDS)

    def test_a_slow_reader_delays_nobody(self, patient: RoostServer) -> None:
        result = attack(patient, "unlimited-slow", seconds_max=3)
        [outcome] = result.outcomes
        assert outcome.status == 200
        result.assert_neighbour_was_served(ROUNDS)

    def test_many_slow_readers_share_a_bound(self, patient: RoostServer) -> None:
        before = resident_peak(patient)
        # 20 MB each; what a search of their size takes is for the test before.
        result = attack(patient, "unlimited-slow-many", seconds_max=8, senders=16, groups_many=5)
        assert set(result.statuses()) <= {200, BUSY_STATUS}
        assert result.statuses()[200] > 0
        assert resident_peak(patient) - before < 200_000_000
        result.assert_neighbour_was_served(ROUNDS)

    def test_what_nobody_can_read_is_refused(self, patient: RoostServer) -> None:
        before = resident_peak(patient)
        result = attack(patient, "unlimited-endless")
        assert result.answer in (TOO_LARGE, GAVE_UP)
        assert result.outcome.bytes_read < ERROR_BYTES_MAX
        assert resident_peak(patient) - before < 400_000_000
        # It is refused so soon that few requests fall into that time.
        result.assert_neighbour_was_served()


@pytest.mark.parametrize("key", ["all-providers", "all-consumers", "summaries"])
def test_lists_of_everything(attacked: RoostServer, key: str) -> None:
    result = attack(attacked, key)
    assert [one.problem for one in result.outcomes if one.problem] == []
    assert {one.status for one in result.outcomes} <= {200, BUSY_STATUS}
    assert 200 in {one.status for one in result.outcomes}
    result.assert_neighbour_was_served()


class TestBodies:
    @pytest.mark.parametrize("key", ["slow-length", "slow-chunked"])
    def test_slow_senders_are_cut_off(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, key)
        assert result.statuses() == {SLOW_BODY_STATUS: SENDERS}
        assert result.slowest() < BODY_SECONDS_MAX + SLACK_SECONDS
        result.assert_neighbour_was_served(ROUNDS)

    @pytest.mark.parametrize("key", ["slow-length-anonymous", "slow-chunked-anonymous"])
    def test_slow_senders_without_a_token(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, key)
        assert result.statuses() in ({401: SENDERS}, {SLOW_BODY_STATUS: SENDERS})
        assert result.slowest() < BODY_SECONDS_MAX + SLACK_SECONDS
        result.assert_neighbour_was_served()

    @pytest.mark.parametrize("key", ["slow-get", "slow-open"])
    def test_no_body_is_read_where_none_belongs(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, key)
        assert result.statuses() == {200: SENDERS}
        result.assert_neighbour_was_served()

    @pytest.mark.parametrize("key", ["large-body", "large-name"])
    def test_large_bodies_are_refused(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, key)
        assert result.outcome.status == LARGE_BODY_STATUS
        assert result.outcome.bytes_read < ERROR_BYTES_MAX
        result.assert_neighbour_was_served()

    @pytest.mark.parametrize("key", ["large-key", "many-keys", "deep-nesting"])
    def test_bodies_that_are_not_refused_by_size(self, attacked: RoostServer, key: str) -> None:
        result = attack(attacked, key)
        assert result.outcome.status == 400
        assert result.outcome.bytes_read < ERROR_BYTES_MAX
        result.assert_neighbour_was_served()

    def test_long_query_strings_are_refused(self, attacked: RoostServer) -> None:
        result = attack(attacked, "query")
        assert result.outcome.status in (400, 414, 431)
        assert result.outcome.bytes_read < ERROR_BYTES_MAX
        result.assert_neighbour_was_served()


class TestEvents:
    def test_a_thousand_streams(self, attacked: RoostServer) -> None:
        result = attack(attacked, "event-streams", streams=STREAMS)
        assert result.statuses() == {200: STREAMS}
        assert [one.problem for one in result.outcomes if one.problem] == []
        result.assert_neighbour_was_served()

    def test_long_polls(self, attacked: RoostServer) -> None:
        result = attack(attacked, "long-polls", wait_seconds=2)
        assert result.statuses() == {200: SENDERS}
        result.assert_neighbour_was_served(ROUNDS)


def test_nothing_was_an_error_of_the_server(attacked: RoostServer, patient: RoostServer) -> None:
    """The last test of this module: no attack left a traceback or ended a worker."""
    for server in (attacked, patient):
        assert "Traceback" not in server.output
        assert server.process.poll() is None


def resident_peak(server: RoostServer) -> int:
    """The largest memory that a process of the server ever had, in bytes."""
    peaks = []
    for process in psutil.Process(server.process.pid).children(recursive=True):
        with open(f"/proc/{process.pid}/status") as file:
            [line] = [line for line in file if line.startswith("VmHWM:")]
        peaks.append(int(line.split()[1]) * 1024)
    return max(peaks)
