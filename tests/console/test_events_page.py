"""The page Events: what changes, as it changes, by kind and tree, with pause."""

import re

from playwright.sync_api import Page, expect

from tests.support.console import clouds
from tests.support.names import uid

HOST = "plain-host-2"
CONSUMER = uid("events-consumer")


def claim(client, host: str = HOST, amount: int = 2, consumer: str = CONSUMER) -> None:
    """Another client claims, in place of what the consumer had."""
    known = client.get(f"/allocations/{consumer}").json()
    body = {
        "allocations": {uid(host): {"resources": {"VCPU": amount, "MEMORY_MB": 1024 * amount}}},
        "consumer_generation": known.get("consumer_generation"),
        "project_id": "project",
        "user_id": "user",
        "consumer_type": "INSTANCE",
    }
    client.put(f"/allocations/{consumer}", json=body).raise_for_status()


def add_trait(client, host: str = HOST) -> None:
    url = f"/resource_providers/{uid(host)}/traits"
    known = client.get(url).json()
    traits = sorted({*known["traits"], "HW_CPU_X86_AVX2"})
    client.put(url, json={**known, "traits": traits}).raise_for_status()


def wait_for_stream(page: Page) -> None:
    expect(page.locator(".live.is-open")).to_be_visible()


def rows(page: Page):
    return page.locator("table.events tbody tr")


def test_nothing_has_happened_yet(open_page, empty, axe, take_pictures):
    page = open_page(f"{empty.console}events")
    heading = page.get_by_role("heading", name=re.compile(r"Nothing has changed since \d\d:\d\d"))
    expect(heading).to_be_visible()
    expect(page.get_by_text("roost demo --live")).to_be_visible()
    wait_for_stream(page)
    assert axe(page) == []
    take_pictures(page, "events-empty")


def test_a_claim_of_another_client_appears(open_page, cloud, axe, take_pictures):
    server, client = cloud
    page = open_page(f"{server.console}events")
    wait_for_stream(page)
    claim(client, amount=3)
    row = rows(page).first
    expect(row).to_contain_text("allocations")
    expect(row.get_by_role("link", name=HOST, exact=True)).to_be_visible()
    expect(row).to_contain_text("+3 VCPU")
    expect(row).to_contain_text("+3 GB MEMORY_MB")
    claim(client, amount=1)
    expect(rows(page).first).to_contain_text("\N{MINUS SIGN}2 VCPU")
    expect(rows(page)).to_have_count(2)
    add_trait(client)
    client.post("/resource_providers", json={"name": "short-lived", "uuid": uid("short-lived")})
    expect(page.get_by_role("link", name="short-lived", exact=True)).to_be_visible()
    client.delete(f"/resource_providers/{uid('short-lived')}").raise_for_status()
    # The name outlives its provider.
    expect(rows(page).first).to_contain_text("short-lived")
    expect(rows(page).first).to_contain_text("deleted")
    assert axe(page) == []
    take_pictures(page, "events")
    page.get_by_role("link", name=HOST, exact=True).first.click()
    expect(page).to_have_url(f"{server.console}tree?uuid={uid(HOST)}")


def test_what_happened_while_another_page_was_open(open_page, cloud):
    server, client = cloud
    page = open_page(f"{server.console}service")
    wait_for_stream(page)
    claim(client)
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(rows(page).first).to_contain_text("+2 VCPU")


def test_kinds_are_chosen_in_the_address(open_page, cloud):
    server, client = cloud
    page = open_page(f"{server.console}events?kind=traits")
    expect(page.get_by_role("button", name="traits")).to_have_attribute("aria-pressed", "true")
    wait_for_stream(page)
    claim(client)
    add_trait(client)
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("traits")
    page.get_by_role("button", name="allocations").click()
    expect(page).to_have_url(re.compile("kind=traits,allocations$"))
    expect(rows(page)).to_have_count(2)
    page.go_back()
    expect(rows(page)).to_have_count(1)


def test_a_tree_is_chosen_by_name_or_uuid(open_page, cloud):
    server, client = cloud
    page = open_page(f"{server.console}events")
    wait_for_stream(page)
    claim(client)
    claim(client, "plain-host-1", 1, uid("another"))
    expect(rows(page)).to_have_count(2)
    page.get_by_label("tree").first.fill("plain-host-1")
    page.get_by_label("tree").first.press("Enter")
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("plain-host-1")
    page.goto(f"{server.console}events?tree={uid(HOST)}")
    wait_for_stream(page)
    claim(client, "plain-host-1", 2, uid("another"))
    claim(client, amount=4)
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text(HOST)
    page.get_by_role("button", name="events of all trees").click()
    expect(rows(page)).to_have_count(2)


def test_what_is_typed_stays_when_something_happens(open_page, cloud):
    """A busy cloud draws the page again between any two keys."""
    server, client = cloud
    page = open_page(f"{server.console}events")
    wait_for_stream(page)
    page.locator("#choice-tree").press_sequentially("plain-")
    claim(client, amount=1)
    expect(rows(page).first).to_contain_text("VCPU")
    page.locator("#choice-tree").press_sequentially("host-2")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("tree=plain-host-2"))
    # Nor does it stay longer: the address says what is chosen.
    page.locator("#choice-tree").fill("")
    page.go_back()
    expect(page.locator("#choice-tree")).to_have_value("")
    page.go_forward()
    expect(page.locator("#choice-tree")).to_have_value("plain-host-2")


def test_a_name_that_nobody_has(open_page, empty):
    page = open_page(f"{empty.console}events?tree=nobody")
    expect(page.get_by_role("heading", name="Nobody has this name")).to_be_visible()


def test_while_paused_the_list_stands_still(open_page, cloud):
    server, client = cloud
    page = open_page(f"{server.console}events")
    wait_for_stream(page)
    claim(client, amount=1)
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile("paused=1"))
    claim(client, amount=2)
    claim(client, amount=3)
    resume = page.get_by_role("button", name="resume: 2 wait")
    expect(resume).to_be_visible()
    expect(rows(page)).to_have_count(1)
    resume.click()
    expect(rows(page)).to_have_count(3)


def test_memory_and_elements_are_bounded(open_page, empty):
    page = open_page(f"{empty.console}events")
    wait_for_stream(page)
    count = page.evaluate(
        """async ([uuid]) => {
            const {log} = await import("./static/model/event_log.js");
            for (let batch = 0; batch < 50; batch++)
                log.add(Array.from({length: 200}, () => (
                    {kind: "allocations", resource_provider: uuid, tree: uuid, usage: {VCPU: 1}})));
            return log.matching({kinds: [], trees: null}).length;
        }""",
        [uid("nobody")],
    )
    assert count == 2000
    expect(rows(page)).to_have_count(200)
    page.get_by_role("button", name="200 more of 1,800").click()
    expect(rows(page)).to_have_count(400)


def test_missed_events_are_said(open_page, cloud):
    server, client = cloud
    page = open_page(f"{server.console}events")
    wait_for_stream(page)
    claim(client)
    expect(rows(page)).to_have_count(1)
    page.evaluate("import('./static/model/event_log.js').then(({log}) => log.addGap())")
    expect(rows(page).first).to_contain_text("events were missed here")


def test_hostile_names_are_text(open_page, serve):
    server = serve()
    page = open_page(f"{server.console}events")
    wait_for_stream(page)
    with server.client() as client:
        clouds.load_hostile_names(client)
    for name in clouds.HOSTILE_NAMES:
        expect(page.locator("table.events").get_by_text(name).first).to_be_attached()


def test_the_service_stops_and_comes_back(open_page, cloud, watch):
    # Requests fail in between, in one of several ways.
    watch.allow("Failed to load resource", "net::ERR_")
    server, client = cloud
    page = open_page(f"{server.console}events")
    wait_for_stream(page)
    claim(client, amount=1)
    expect(rows(page)).to_have_count(1)
    server.stop()
    expect(page.locator(".live")).to_contain_text("reconnecting")
    expect(rows(page)).to_have_count(1)
    server.start()
    # What happens before the page is back is shown, too.
    with server.client() as another:
        claim(another, amount=3)
    expect(page.locator(".live.is-open")).to_be_visible()
    expect(rows(page).first).to_contain_text("+2 VCPU")
