"""A large host is reshaped while others claim parts of it and give them back.

`scripts/large-reshape` runs it with 300 providers, 5,000 consumers and 50 claims a second.
"""

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from roost.agent.driver import Allocations
from roost.agent.provider_tree import ProviderTree
from roost.agent.report.attempts import ATTEMPTS_MAX
from roost.agent.tracker import Tracker
from roost.client import Client, Consumer
from tests.agent.hosts import ShapeDriver, inventory
from tests.agent.transports import counting_client_of
from tests.support.long_form import choose
from tests.support.names import uid
from tests.support.roost_server import RoostServer

PROVIDERS = int(os.environ.get("ROOST_TEST_RESHAPE_PROVIDERS", choose(short="30", long="60")))
CONSUMERS = int(os.environ.get("ROOST_TEST_RESHAPE_CONSUMERS", "600"))
CLAIMS_PER_SECOND = float(os.environ.get("ROOST_TEST_RESHAPE_CLAIMS", "50"))

CARDS = PROVIDERS - 1
CONSUMERS_PER_REQUEST = 500
# Room for all consumers and the claims that come meanwhile.
VGPUS_PER_CARD = 2 * CONSUMERS // CARDS + 20

ROOT = Path(__file__).resolve().parents[2]


def flat(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
    """A host that has everything on the root."""
    tree.update_inventory(
        nodename, {"VCPU": inventory(1_000_000), "VGPU": inventory(CARDS * VGPUS_PER_CARD)}
    )


def cards(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
    """The same host with its graphics cards as providers. The agent moves what consumers hold."""
    for number in range(CARDS):
        name = f"{nodename}_card{number}"
        if not tree.exists(name):
            tree.new_child(name, nodename, uuid=uid(name))
        tree.update_inventory(name, {"VGPU": inventory(VGPUS_PER_CARD)})
    tree.update_inventory(nodename, {"VCPU": inventory(1_000_000)})


@contextmanager
def others_claiming(url: str, root: str) -> Iterator[dict[str, Any]]:
    """Other clients claim parts of the host. Afterwards, what they saw is in what this yields."""
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.agent.claiming", url, root, str(CLAIMS_PER_SECOND)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    seen: dict[str, Any] = {}
    try:
        # On a busy machine the reshape would be over before the first claim.
        assert process.stdout is not None
        assert process.stdout.readline() == "\n"
        yield seen
        output, _ = process.communicate(timeout=60)
        seen.update(json.loads(output))
    finally:
        process.kill()
        process.wait()


def fill(client: Client, root: str) -> None:
    consumers = [
        Consumer(
            uuid=uid(f"consumer {number}"),
            allocations={root: {"VCPU": 1, "VGPU": 1 + number % 2}},
            project_id="project",
            user_id="user",
            consumer_type="INSTANCE",
        )
        for number in range(CONSUMERS)
    ]
    for begin in range(0, CONSUMERS, CONSUMERS_PER_REQUEST):
        client.set_consumers(consumers[begin : begin + CONSUMERS_PER_REQUEST])


@pytest.mark.process
def test_a_large_reshape_does_not_starve(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        RoostServer(database_url, tmp_path, arguments=("--workers", "2")) as server,
        Client(server.url) as client,
        counting_client_of(server) as (own, transport),
        caplog.at_level(logging.INFO, logger="roost.agent"),
    ):
        Tracker(client, ShapeDriver(flat), "host").update(startup=True)
        [host] = client.providers()
        fill(client, host.uuid)
        with others_claiming(server.url, host.uuid) as seen:
            time.sleep(1)
            began = time.monotonic()
            plan = Tracker(own, ShapeDriver(cards), "host").update(startup=True)
            seconds = time.monotonic() - began
            time.sleep(1)
        assert plan is not None
        check_amounts(client, host.uuid)
    requests = len(transport.sent) - CARDS
    attempts = transport.sent.count("POST /reshaper")
    print(
        f"\n{database_url.partition(':')[0]}: {PROVIDERS} providers, {CONSUMERS} consumers: "
        f"{seconds:.1f} s, {attempts} attempts, {CARDS} providers created and {requests} other "
        f"requests; others: {seen}\n{caplog.messages[-1]}"
    )
    # Nobody was refused anything; who had to wait was served.
    assert seen["refusals"] == []
    assert seen["claimed"] > 0
    assert attempts <= ATTEMPTS_MAX
    # The name, the tree, and the consumers; each attempt reads the tree and what has changed,
    # and sends a reshape, and from the fourth on a hold that it ends.
    assert requests <= 2 + 5 * attempts


def check_amounts(client: Client, root: str) -> None:
    """Every consumer holds what it held, and no provider has more in use than it offers."""
    held: dict[str, int] = {}
    for found in client.bulk_providers(tree=root):
        for name, used in found.usages.items():
            assert used <= found.inventories[name].capacity
            held[name] = held.get(name, 0) + used
    granted: dict[str, int] = {}
    for each in client.consumers(tree=root):
        for resources in each.consumer.allocations.values():
            for name, amount in resources.items():
                granted[name] = granted.get(name, 0) + amount
    assert held == granted
    for number in (0, CONSUMERS // 2, CONSUMERS - 1):
        consumer = client.consumer(uid(f"consumer {number}"))
        cards_held = {uuid: each for uuid, each in consumer.allocations.items() if uuid != root}
        assert consumer.allocations[root] == {"VCPU": 1}
        assert sum(each["VGPU"] for each in cards_held.values()) == 1 + number % 2
    assert "VGPU" not in client.inventories(root).inventories
