"""A minute with an installed roost, wherever that is: demo, explain, agent, and a claim."""

import json
from collections.abc import Callable

import httpx

from tests.support.headers import HEADERS
from tests.support.names import uid

# Runs `roost` with arguments where it is installed, and returns what it prints.
Run = Callable[..., str]

HOST, CONSUMER = uid("host"), uid("consumer")
REQUEST = "resources=VCPU:4,MEMORY_MB:4096"


def use_commands(roost: Run, url: str, description: str) -> None:
    """Load the demo, explain a request on it, report hosts, and remove the demo again.

    `description` is the path of docs/examples/gpu-cluster.yaml where roost is installed.
    """
    where = ("--url", url)
    roost("demo", *where)
    explanation = json.loads(roost("explain", *where, "--json", REQUEST))
    assert explanation["verdict"] == "fits", explanation
    impossible = json.loads(roost("explain", *where, "--json", "resources=VCPU:100000"))
    assert impossible["verdict"] == "never", impossible
    driver = ("--driver", "file", "-o", f"path={description}")
    *_, summary = roost("agent", "run", *where, *driver, "--once", "--json").splitlines()
    report = json.loads(summary)["summary"]
    assert (report["updated"], report["failed_nodes"]) == (2, []), report
    # This machine; nothing is sent.
    assert roost("agent", "run", *where, "--driver", "linux", "--dry-run")
    roost("demo", *where, "--remove")


def use_api(url: str) -> None:
    """Create a host, find it, and claim something of it."""
    with httpx.Client(base_url=url, headers=HEADERS, timeout=10) as client:
        host = {"name": "host", "uuid": HOST}
        assert client.post("/resource_providers", json=host).status_code == 200
        inventories = {
            "resource_provider_generation": 0,
            "inventories": {"VCPU": {"total": 4}},
        }
        path = f"/resource_providers/{HOST}/inventories"
        assert client.put(path, json=inventories).status_code == 200
        found = client.get(f"/allocation_candidates?resources=VCPU:3&in_tree={HOST}")
        [candidate] = found.json()["allocation_requests"]
        claim = {
            **candidate,
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        for consumer, status in ((CONSUMER, 204), (uid("another"), 409)):
            assert client.put(f"/allocations/{consumer}", json=claim).status_code == status
        usages = client.get(f"/resource_providers/{HOST}/usages").json()
        assert usages["usages"] == {"VCPU": 3}
