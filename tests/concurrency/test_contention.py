"""Fifty clients that claim from one provider, such as the storage that all hosts share."""

from collections.abc import Callable
from functools import partial

from roost.errors import CapacityExceeded
from roost.operations.providers import read_provider
from roost.service.service import Roost
from tests.concurrency.races import add_provider, claim, put, refusals, run_concurrently, used
from tests.concurrency.transactions import Transactions
from tests.support.names import uid

OpenRoost = Callable[[], Roost]

CLIENTS = 50
ROUNDS = 3
# How many transactions a claim may take on average. If the writers of a contended provider did
# not queue, it would grow with their number.
TRANSACTIONS_PER_CLAIM_MAX = 3


def test_claims_succeed_until_a_contended_provider_is_full(open_roost: OpenRoost) -> None:
    services = [open_roost() for _ in range(2)]
    add_provider(services[0], "storage", DISK_GB=CLIENTS * ROUNDS - 10)
    for number in range(5):
        add_provider(services[0], f"host{number}", VCPU=CLIENTS * ROUNDS)
    for service in services:
        read_provider(service, uuid=uid("storage"))
    counters = [Transactions(service) for service in services]
    results = []
    for turn in range(ROUNDS):
        results += run_concurrently(
            [
                partial(
                    put,
                    services[number % 2],
                    claim(
                        f"{turn}-{number}",
                        {"storage": {"DISK_GB": 1}, f"host{number % 5}": {"VCPU": 1}},
                    ),
                )
                for number in range(CLIENTS)
            ]
        )
    assert used(services[0], "storage", "DISK_GB") == CLIENTS * ROUNDS - 10
    assert results.count(None) == CLIENTS * ROUNDS - 10
    # No client hears of a race that the server can settle by itself.
    assert {type(refusal) for refusal in refusals(results)} == {CapacityExceeded}
    transactions = sum(counter.count for counter in counters)
    assert transactions <= TRANSACTIONS_PER_CLAIM_MAX * CLIENTS * ROUNDS
