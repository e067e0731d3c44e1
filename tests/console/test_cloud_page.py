"""The page Cloud: a cell for every tree, live, with filters, keys and the empty state."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.console import clouds
from tests.support.names import uid

CELL = 24
PITCH = 26


def cell(page: Page, number: int) -> dict[str, float]:
    """The middle of a cell, for maps with one group and cells of 24 pixels."""
    box = page.locator("#heatmap").bounding_box()
    assert box is not None
    columns = int(box["width"] // PITCH)
    x = box["x"] + (number % columns) * PITCH + CELL / 2
    return {"x": x, "y": box["y"] + (number // columns) * PITCH + CELL / 2}


def colour(page: Page, number: int) -> list[int]:
    """The colour in the middle of a cell."""
    box = page.locator("#heatmap").bounding_box()
    assert box is not None
    at = cell(page, number)
    return page.evaluate(
        "([x, y]) => [...document.querySelector('#heatmap').getContext('2d')"
        ".getImageData(x, y, 1, 1).data].slice(0, 3)",
        [at["x"] - box["x"], at["y"] - box["y"]],
    )


def by_name(server, **parameters: str) -> str:
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    return f"{server.console}cloud?group=none&sort=name&size={CELL}&{query}"


ROOTS = ["deep-0", "empty-host", *(f"numa-host-{n}" for n in range(4))]
ROOTS += [*(f"plain-host-{n}" for n in range(3)), "storage"]


def test_every_tree_has_a_cell(open_page, shapes, axe, take_pictures):
    page = open_page(f"{shapes.console}cloud")
    expect(page.get_by_role("heading", name="Cloud")).to_be_attached()
    expect(page.get_by_role("status").filter(has_text="trees")).to_have_text("10 of 10 trees")
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))
    expect(page.get_by_label("totals by class").get_by_role("listitem")).to_have_count(8)
    assert axe(page) == []
    take_pictures(page, "cloud")


def test_colours_show_how_full_a_tree_is(open_page, shapes, watch):
    watch.allow("willReadFrequently")  # only this test reads pixels
    page = open_page(by_name(shapes, **{"class": "VCPU"}))
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))
    full, used, unused = (
        colour(page, ROOTS.index(name)) for name in ("plain-host-0", "numa-host-0", "plain-host-2")
    )
    assert unused == [253, 231, 37]  # the light end of the scale
    assert sum(full) < sum(used) < sum(unused)
    # A tree without the class is hollow.
    assert colour(page, ROOTS.index("storage")) == [255, 255, 255]


def test_pointing_at_a_cell_shows_its_numbers_and_a_click_its_tree(open_page, shapes):
    page = open_page(by_name(shapes, **{"class": "VCPU"}))
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))
    at = cell(page, ROOTS.index("plain-host-0"))
    page.mouse.move(**at)
    expect(page.locator(".hover")).to_contain_text("plain-host-0")
    expect(page.locator(".hover")).to_contain_text("VCPU 100 % used")
    expect(page.locator(".hover")).to_contain_text("64 used, 0 free, 0 reserved")
    page.mouse.click(**at)
    details = page.get_by_role("complementary", name="details")
    expect(details.get_by_role("heading", name="plain-host-0")).to_be_visible()
    expect(page).to_have_url(re.compile(f"uuid={uid('plain-host-0')}"))
    # The address is the state: a reload shows the same, Escape closes it, and back opens it again.
    page.reload()
    expect(details.get_by_role("heading", name="plain-host-0")).to_be_visible()
    page.keyboard.press("Escape")
    expect(details).to_have_count(0)
    page.go_back()
    expect(details.get_by_role("heading", name="plain-host-0")).to_be_visible()
    page.keyboard.press("Escape")
    expect(details).to_have_count(0)
    page.mouse.dblclick(**at)
    expect(page).to_have_url(re.compile("/console/tree"))


def test_the_map_works_with_the_keyboard(open_page, shapes):
    page = open_page(by_name(shapes, **{"class": "VCPU"}))
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))
    page.locator("#heatmap").focus()
    for name in ROOTS[:3]:
        page.keyboard.press("ArrowRight")
        expect(page.locator(".hover")).to_contain_text(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=ROOTS[2])).to_be_visible()
    page.locator("#heatmap").focus()
    page.keyboard.press("-")
    expect(page).to_have_url(re.compile("size=23"))
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("size="))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", 3),
        ("HW_NUMA_ROOT", 4),
        ("!COMPUTE_NODE", 3),
        ("CUSTOM_PLAIN plain-host-1", 1),
        (uid("rack-1"), 3),
        ("fits: resources=VGPU:2", 1),
        ("fits: resources=VCPU:40", 0),
    ],
)
def test_filters(open_page, shapes, text, left):
    page = open_page(f"{shapes.console}cloud")
    status = page.locator(".filters").get_by_role("status")
    expect(status).to_have_text("10 of 10 trees")
    page.get_by_label("filter", exact=True).fill(text)
    page.keyboard.press("Enter")
    expect(status).to_contain_text(f"{left} of 10 trees")
    if left:
        expect(page.locator("#heatmap")).to_have_attribute(
            "aria-label", re.compile(rf"^{left} trees")
        )
    else:
        page.get_by_role("link", name="Ask why").click()
        expect(page).to_have_url(re.compile("/console/ask.resources=VCPU:40"))


def test_a_filter_that_the_service_refuses_says_so(open_page, shapes, watch):
    watch.allow("status of 400")
    page = open_page(f"{shapes.console}cloud?filter=fits:resources=NOTHING:1")
    expect(page.get_by_role("alert")).to_contain_text("NOTHING")


def test_groups(open_page, shapes):
    page = open_page(f"{shapes.console}cloud")
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))
    page.get_by_label("group by").select_option("trait")
    page.get_by_label("trait", exact=True).fill("CUSTOM_PLAIN")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("group=CUSTOM_PLAIN"))
    page.get_by_label("group by").select_option("none")
    expect(page).to_have_url(re.compile("group=none"))
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))


def test_a_claim_of_another_client_shows_up_without_a_reload(open_page, serve, shapes, watch):
    watch.allow("willReadFrequently")
    server = serve(like=shapes)
    with server.client() as client:
        page = open_page(by_name(server, **{"class": "VCPU"}))
        expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        number = ROOTS.index("plain-host-2")
        before = colour(page, number)
        client.put(
            f"/allocations/{uid('late')}",
            json={
                "allocations": {uid("plain-host-2"): {"resources": {"VCPU": 32}}},
                "project_id": "p",
                "user_id": "u",
                "consumer_type": "INSTANCE",
                "consumer_generation": None,
            },
        ).raise_for_status()
        page.mouse.move(**cell(page, number))
        expect(page.locator(".hover")).to_contain_text("VCPU 50 % used")
        page.wait_for_function(
            "([x, y, before]) => String([...document.querySelector('#heatmap').getContext('2d')"
            ".getImageData(x, y, 1, 1).data].slice(0, 3)) !== before",
            arg=[number * PITCH + CELL / 2, CELL / 2, ",".join(map(str, before))],
        )
        # A release advances no generation; the page reads the tree again.
        client.delete(f"/allocations/{uid('late')}").raise_for_status()
        page.mouse.move(**cell(page, number - 1))
        page.mouse.move(**cell(page, number))
        expect(page.locator(".hover")).to_contain_text("VCPU 0 % used")
        # A new tree has a cell, one that is deleted has none.
        client.post(
            "/resource_providers", json={"name": "new-host", "uuid": uid("new-host")}
        ).raise_for_status()
        expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^11 trees"))
        client.delete(f"/resource_providers/{uid('new-host')}").raise_for_status()
        expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))


def test_an_empty_service_says_what_to_do_first(open_page, empty, axe, take_pictures):
    page = open_page(empty.console)
    expect(page).to_have_title("Cloud · roost")
    expect(page.get_by_role("heading", name="No providers yet")).to_be_visible()
    expect(page.get_by_text("roost demo", exact=True)).to_be_visible()
    assert axe(page) == []
    take_pictures(page, "cloud-empty")


def test_hostile_names_are_text(open_page, hostile):
    page = open_page(f"{hostile.console}cloud?group=none&sort=name")
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^8 trees"))
    page.locator("#heatmap").focus()
    shown = [""]
    for _ in clouds.HOSTILE_NAMES:
        page.keyboard.press("ArrowRight")
        found = page.wait_for_function(
            "(before) => { const text = document.querySelector('.hover .name')?.textContent;"
            " return text !== before && text; }",
            arg=shown[-1],
        )
        shown.append(found.json_value())
    assert set(shown[1:]) == set(clouds.HOSTILE_NAMES)


def test_ten_thousand_hosts(open_page, large):
    page = open_page(f"{large.console}cloud?class=VCPU&group=aggregate")
    status = page.locator(".filters").get_by_role("status")
    expect(status).to_have_text("10,000 of 10,000 trees", timeout=60_000)
    expect(page.locator(".map-head")).not_to_contain_text("reading", timeout=60_000)
    page.get_by_label("filter", exact=True).fill("fits: resources=VCPU:1,MEMORY_MB:512")
    page.keyboard.press("Enter")
    expect(status).to_contain_text("trees fit", timeout=60_000)


def test_search_keys_and_theme(open_page, shapes, axe):
    page = open_page(f"{shapes.console}cloud")
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))
    page.keyboard.press("/")
    page.keyboard.type("numa-host-2-numa1")
    expect(page.get_by_role("option").first).to_contain_text("numa-host-2-numa1")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/console/tree"))
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page).to_have_url(re.compile("/console/events"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="keys")).to_be_visible()
    assert axe(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    # Until then nothing listens to keys.
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type(uid("server-1"))
    expect(page.get_by_role("option").first).to_contain_text("consumer")


def test_the_service_stops_and_starts_again_under_an_open_page(open_page, serve, shapes, watch):
    watch.allow(
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_CONNECTION_RESET",
        "ERR_EMPTY_RESPONSE",
    )
    server = serve(like=shapes)
    page = open_page(by_name(server, **{"class": "VCPU"}))
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    server.stop()
    expect(page.get_by_text(re.compile("^reconnecting: "))).to_be_visible()
    server.start()
    # Before the page has found the service again.
    with server.client() as client:
        client.post(
            "/resource_providers", json={"name": "after", "uuid": uid("after")}
        ).raise_for_status()
    expect(page.get_by_text("live", exact=True)).to_be_visible(timeout=40_000)
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^11 trees"))


def test_a_page_that_got_no_answer_reads_again_when_the_service_is_back(
    open_page, serve, shapes, watch
):
    watch.allow("ERR_FAILED", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING")
    watch.allow("ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
    server = serve(like=shapes)
    page = open_page(f"{server.console}events")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    page.route("**/resource_providers?*", lambda route: route.abort())
    page.get_by_role("link", name="Cloud", exact=True).click()
    expect(page.get_by_role("heading", name="No answer")).to_be_visible()
    page.unroute_all()
    server.stop()
    expect(page.get_by_text(re.compile("^reconnecting: "))).to_be_visible()
    server.start()
    expect(page.locator("#heatmap")).to_have_attribute(
        "aria-label", re.compile("^10 trees"), timeout=40_000
    )
