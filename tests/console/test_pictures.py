"""The pictures of docs/reference/console.md, of the data centre of `roost demo`.

`scripts/console-pictures` runs these tests and puts the pictures into docs/images.
"""

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from roost.cli.demo.data_centre import BY_NAME
from roost.cli.demo.printing import NO_PLACE
from tests.support.console import pictures
from tests.support.console.server import ConsoleServer
from tests.support.roost_server import command

# How long the plots of the page Service are filled. For the documents, it is longer.
TRAFFIC_SECONDS = float(os.environ.get("ROOST_TRAFFIC_SECONDS") or 6)
# Changes of other kinds are still visible then, among the claims.
CHANGES_SECONDS = 3

REQUEST = "&".join(quote(word, safe="=:,") for words in NO_PLACE for word in words)
GPU_HOST = BY_NAME["r3-gpu-01"].uuid


@pytest.fixture(scope="module")
def busy(console_folder) -> Iterator[ConsoleServer]:
    """A service with the demo, where claims come and go and clients search."""
    with ConsoleServer(console_folder("busy")) as server, contextlib.ExitStack() as stack:
        options = ("--url", server.url, "--token", "admin")
        subprocess.run(command("demo", *options), capture_output=True, check=True)
        live = subprocess.Popen(
            command("demo", "--live", *options),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(live.wait, 30)
        stack.callback(live.terminate)
        stop = threading.Event()
        searches = threading.Thread(target=search, args=(server, stop))
        searches.start()
        stack.callback(searches.join)
        stack.callback(stop.set)
        yield server


def search(server: ConsoleServer, stop: threading.Event) -> None:
    """As a scheduler does, of a few sizes in turn."""
    with server.client() as client:
        number = 0
        while not stop.wait(0.05 + 0.04 * (number % 7)):
            number += 1
            resources = f"VCPU:{1 + number % 4},MEMORY_MB:{1024 << number % 4}"
            client.get("/allocation_candidates", params={"resources": resources, "limit": 10})
            if number % 9 == 0:
                client.get("/resource_providers")


def change_other_things(client: httpx.Client) -> None:
    """A custom trait, a host that has it, and one that comes and goes."""
    client.put("/traits/CUSTOM_BURN_IN").raise_for_status()
    traits = f"/resource_providers/{BY_NAME['r4-compute-08'].uuid}/traits"
    known = client.get(traits).json()
    client.put(traits, json={**known, "traits": [*known["traits"], "CUSTOM_BURN_IN"]})
    made = client.post("/resource_providers", json={"name": "r4-compute-09"}).json()
    client.delete(f"/resource_providers/{made['uuid']}").raise_for_status()


def take(page: Page, name: str, *, shown: Locator) -> None:
    expect(shown).to_be_visible()
    expect(page.locator(".live.is-open")).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)
    page.evaluate(pictures.NEXT_FRAMES)
    page.screenshot(path=pictures.folder() / f"console-{name}.png", animations="disabled")


@pytest.mark.parametrize(("scheme", "name"), [("light", "cloud"), ("dark", "cloud-dark")])
def test_cloud(scheme: Literal["light", "dark"], name: str, open_page, demo):
    page = open_page(f"{demo.console}cloud", color_scheme=scheme)
    take(page, name, shown=page.get_by_text("44 of 44 trees").first)


def test_tree(open_page, demo):
    with demo.client() as client:
        holders = client.get(
            f"/resource_providers/{BY_NAME['r3-gpu-01-numa0-gpu0'].uuid}/allocations"
        )
    (consumer_uuid,) = holders.json()["allocations"]
    page = open_page(f"{demo.console}tree?uuid={GPU_HOST}&consumer={consumer_uuid}")
    consumer = page.get_by_role("complementary").get_by_text("demo-research").first
    expect(consumer).to_be_visible()
    take(page, "tree", shown=page.get_by_text("CUSTOM_A100").first)


def test_ask(open_page, demo):
    page = open_page(f"{demo.console}ask?{REQUEST}")
    take(page, "ask", shown=page.get_by_text("same_subtree").first)


def test_consumers(open_page, demo):
    page = open_page(f"{demo.console}consumers")
    take(page, "consumers", shown=page.get_by_role("link", name="r1-compute-01").first)


def test_events(open_page, busy):
    page = open_page(f"{busy.console}events")
    rows = page.locator("table.events tbody tr")
    page.wait_for_timeout(1000 * (TRAFFIC_SECONDS - CHANGES_SECONDS))
    with busy.client() as client:
        change_other_things(client)
    page.wait_for_timeout(1000 * CHANGES_SECONDS)
    # Their names are there as well.
    expect(rows.first.get_by_role("link").first).not_to_have_text("")
    take(page, "events", shown=rows.first)


def test_service(open_page, busy):
    page = open_page(f"{busy.console}service")
    searches = page.get_by_role("img", name="searches over")
    page.wait_for_timeout(1000 * TRAFFIC_SECONDS)
    take(page, "service", shown=searches.locator("canvas"))
