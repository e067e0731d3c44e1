"""The page Ask: a request as cards, whether it fits, where, and why not."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.console import clouds
from tests.support.names import uid

NOVA_LINE = (
    "2026-01-02 03:04:05.678 7 DEBUG nova.scheduler.client.report [None req-1] "
    '10.0.0.1 "GET /placement/allocation_candidates?limit=1000&resources=MEMORY_MB%3A4096%2C'
    'VCPU%3A64&root_required=COMPUTE_NODE%2C%21COMPUTE_STATUS_DISABLED HTTP/1.1" status: 200'
)
CLIPBOARD = ["clipboard-read", "clipboard-write"]
# In the cloud of all shapes: ten trees, of which eight have VCPU, and three have 32 in one piece.
MUCH = "resources=VCPU:24,MEMORY_MB:4096"


def ask(server, query: str = "") -> str:
    return f"{server.console}ask{query and '?'}{query}"


def asked(page: Page) -> list[tuple[str, str]]:
    """The request in the address."""
    return [pair for pair in parse_qsl(urlsplit(page.url).query) if pair[0] != "show"]


def card(page: Page, suffix: str) -> Locator:
    name = f"group {suffix}" if suffix else "group without a suffix"
    return page.get_by_role("region", name=name, exact=True)


def drawer(page: Page) -> Locator:
    return page.get_by_role("complementary", name="details")


def verdict(page: Page, word: str) -> None:
    expect(page.locator(".headline .verdict")).to_have_text(re.compile(rf"\b{word}$"))


def stage(page: Page, text: str) -> Locator:
    return page.locator(".funnel-stage").filter(has_text=text)


def put_on_clipboard(page: Page, text: str) -> None:
    page.evaluate("text => navigator.clipboard.writeText(text)", text)


# ---------------------------------------------------------------------------------------------
# Why is there no valid host?


def test_three_clicks_from_the_cloud_to_the_reason(open_page, shapes, axe):
    page = open_page(f"{shapes.console}cloud")
    page.get_by_role("navigation").get_by_role("link", name="Ask").click()
    expect(page.get_by_role("heading", name="Why is there no valid host?")).to_be_visible()
    assert axe(page) == []
    page.get_by_role("link", name="as much VCPU as an average provider has in all").click()
    verdict(page, "never")
    page.get_by_role("link", name=re.compile("VCPU 59")).click()
    expect(drawer(page)).to_contain_text("10 trees lost at")
    expect(drawer(page)).to_contain_text("The nearest 5 of 10, each with its first reason")
    expect(drawer(page)).to_contain_text("VCPU 59 asked, 60 free of 64; more than max_unit 32")
    page.get_by_role("button", name="more trees").click()
    expect(drawer(page)).to_contain_text("All of 10")
    expect(drawer(page)).to_contain_text("VCPU 59 asked, 0 free of 64")
    assert axe(page) == []


def test_the_examples_are_requests_that_the_service_understands(open_page, shapes):
    page = open_page(ask(shapes))
    examples = page.locator(".examples a")
    expect(examples).to_have_count(3)
    for number in range(3):
        page.goto(ask(shapes))
        examples.nth(number).click()
        expect(page.locator(".headline .verdict")).to_be_visible()


def test_a_line_of_novas_log_is_pasted_anywhere(open_page, shapes):
    page = open_page(ask(shapes), permissions=CLIPBOARD)
    expect(page.get_by_role("heading", name="Why is there no valid host?")).to_be_visible()
    put_on_clipboard(page, NOVA_LINE)
    page.keyboard.press("Control+V")
    verdict(page, "never")
    expect(card(page, "").get_by_label("amount of VCPU")).to_have_value("64")
    assert sorted(asked(page)) == [
        ("limit", "1000"),
        ("resources", "MEMORY_MB:4096,VCPU:64"),
        ("root_required", "COMPUTE_NODE,!COMPUTE_STATUS_DISABLED"),
    ]
    page.go_back()
    expect(page.get_by_role("heading", name="Why is there no valid host?")).to_be_visible()


def test_the_box_takes_json_and_refuses_what_is_no_request(open_page, shapes):
    page = open_page(ask(shapes), permissions=CLIPBOARD)
    box = page.get_by_label("paste a query")
    put_on_clipboard(page, "good morning")
    box.press("Control+V")
    expect(page.get_by_role("alert")).to_have_text("there is no request in what was pasted")
    put_on_clipboard(page, '{\n "groups": {"_A": {"resources": {"VCPU": 2}}},\n "limit": 3\n}')
    box.press("Control+V")
    expect(card(page, "_A").get_by_label("amount of VCPU")).to_have_value("2")
    expect(box).to_have_value("")
    verdict(page, "fits")


def test_a_stage_lists_the_trees_that_it_lost_though_others_met_it(open_page, shapes):
    page = open_page(ask(shapes, MUCH))
    verdict(page, "fits")
    expect(stage(page, "VCPU 24")).to_contain_text("−8")  # noqa: RUF001
    stage(page, "VCPU 24").click()
    expect(drawer(page)).to_contain_text("10 came to this rule, 2 met it. All of 8")
    rows = drawer(page).locator(".reasons li")
    expect(rows).to_have_count(8)
    expect(rows.filter(has_text="plain-host-0")).to_contain_text("VCPU 24 asked, 0 free of 64")
    expect(rows.filter(has_text="numa-host-3")).to_contain_text("more than max_unit 16")
    expect(rows.filter(has_text="storage")).to_contain_text("no provider that is left has VCPU")
    rows.get_by_role("link", name="numa-host-3").click()
    expect(drawer(page).get_by_role("heading", name="numa-host-3", exact=True)).to_be_visible()
    expect(drawer(page).get_by_role("treeitem")).to_have_count(7)
    row = drawer(page).get_by_role("row").filter(has_text="numa-host-3-numa0")
    expect(row).to_contain_text("max_unit 16")
    page.keyboard.press("Escape")
    expect(drawer(page)).to_have_count(0)


def test_a_rule_of_the_root_lists_its_trees(open_page, shapes):
    page = open_page(ask(shapes, f"{MUCH}&root_required=CUSTOM_PLAIN&show=stage:0"))
    rows = drawer(page).locator(".reasons li")
    expect(rows).to_have_count(7)
    expect(rows.filter(has_text="numa-host-0")).to_contain_text("lacks CUSTOM_PLAIN")


def test_one_tree_is_asked_about_by_name(open_page, shapes, axe):
    page = open_page(ask(shapes, MUCH))
    page.get_by_label("a provider of the tree to ask about").fill("plain-host-0")
    page.keyboard.press("Enter")
    expect(drawer(page)).to_contain_text("plain-host-0 does not fit now: it fails at VCPU 24")
    expect(drawer(page).locator(".verdict")).to_have_text(re.compile("not now"))
    assert axe(page) == []
    page.get_by_label("a provider of the tree to ask about").fill("nobody")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("no provider has the name nobody")


def test_a_query_of_an_explanation_shows_its_tree(open_page, shapes):
    page = open_page(ask(shapes, f"{MUCH}&tree={uid('plain-host-0')}"))
    expect(drawer(page)).to_contain_text("plain-host-0 does not fit now")


def test_a_relaxation_changes_the_cards_and_the_address(open_page, shapes):
    page = open_page(ask(shapes, "resources=VCPU:100&required=COMPUTE_NODE"))
    verdict(page, "never")
    page.get_by_role("button", name="with 68 less VCPU (VCPU:32)").click()
    verdict(page, "fits")
    assert asked(page) == [("resources", "VCPU:32"), ("required", "COMPUTE_NODE")]
    expect(card(page, "").get_by_label("amount of VCPU")).to_have_value("32")
    page.go_back()
    verdict(page, "never")


def test_verdicts_are_words_and_signs(open_page, shapes):
    page = open_page(ask(shapes, f"resources=VCPU:32&in_tree={uid('plain-host-0')}"))
    verdict(page, "not now")
    expect(page.locator(".headline")).to_contain_text("◑")
    expect(page.locator(".headline")).to_contain_text("0 trees fit now")


# ---------------------------------------------------------------------------------------------
# Cards


def test_a_request_is_built_with_the_keyboard(open_page, shapes):
    page = open_page(ask(shapes))
    card(page, "").get_by_label("add resource class").focus()
    page.keyboard.type("VCPU")
    page.keyboard.press("Enter")
    # The amount is selected, to be typed over.
    expect(page.get_by_label("amount of VCPU")).to_be_focused()
    page.keyboard.type("4")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("amount of VCPU")).to_have_value("5")
    card(page, "").get_by_label("add resource class").focus()
    page.keyboard.type("MEMORY_MB 1024")
    page.keyboard.press("Enter")
    card(page, "").get_by_label("add trait").focus()
    page.keyboard.type("HW_NUMA_ROOT")
    page.keyboard.press("Enter")
    page.keyboard.type("!CUSTOM_PLAIN")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="+ group").press("Enter")
    expect(card(page, "_1").get_by_label("add resource class")).to_be_focused()
    page.keyboard.type("SRIOV_NET_VF")
    page.keyboard.press("Enter")
    expect(card(page, "_1").get_by_label("amount of SRIOV_NET_VF")).to_be_focused()
    suffix = card(page, "_1").get_by_label("suffix of the group")
    suffix.fill("_NET")
    suffix.press("Enter")
    expect(card(page, "_NET")).to_be_visible()
    verdict(page, "fits")
    assert asked(page) == [
        ("resources", "VCPU:5,MEMORY_MB:1024"),
        ("required", "HW_NUMA_ROOT,!CUSTOM_PLAIN"),
        ("resources_NET", "SRIOV_NET_VF:1"),
    ]


def test_traits_count_as_chosen_and_can_be_removed(open_page, shapes):
    page = open_page(ask(shapes, "resources=VCPU:1&required=COMPUTE_NODE"))
    how = card(page, "").get_by_label("how the next trait counts")
    add = card(page, "").get_by_label("add trait")
    how.select_option("any of")
    for name in ("HW_NUMA_ROOT", "CUSTOM_PLAIN"):
        add.fill(name)
        add.press("Enter")
    expect(card(page, "")).to_contain_text("HW_NUMA_ROOT or CUSTOM_PLAIN")
    how.select_option("not")
    add.fill("HW_CPU_X86_AVX512F")
    add.press("Enter")
    card(page, "").get_by_role("button", name="remove trait COMPUTE_NODE").click()
    verdict(page, "fits")
    assert asked(page) == [
        ("resources", "VCPU:1"),
        ("required", "!HW_CPU_X86_AVX512F"),
        ("required", "in:HW_NUMA_ROOT,CUSTOM_PLAIN"),
    ]


def test_trees_are_chosen_by_name(open_page, shapes):
    page = open_page(ask(shapes, "resources=VCPU:1"))
    card(page, "").get_by_role("button", name="+ in_tree").click()
    field = card(page, "").get_by_label("in_tree: name or UUID")
    field.fill("numa-host-2")
    field.press("Enter")
    expect(card(page, "").get_by_role("link", name="numa-host-2")).to_be_visible()
    expect(page.locator(".candidates li")).to_have_count(2)
    assert ("in_tree", uid("numa-host-2")) in asked(page)


def test_rules_between_groups_are_picked(open_page, shapes, refusals):
    page = open_page(ask(shapes, "resources_A=SRIOV_NET_VF:1&resources_B=SRIOV_NET_VF:1"))
    whole = page.get_by_role("region", name="the whole request")
    # As Placement does, the service wants to know the policy, and says so.
    expect(page.get_by_role("alert")).to_contain_text("group_policy")
    whole.get_by_role("button", name="+ isolate").click()
    for suffix in ("_A", "_B"):
        whole.get_by_role("button", name=suffix, exact=True).click()
    whole.get_by_role("button", name="add", exact=True).click()
    verdict(page, "fits")
    assert ("isolate", "_A,_B") in asked(page)
    card(page, "_B").get_by_role("button", name="remove the group _B").click()
    expect(card(page, "_B")).to_have_count(0)
    assert asked(page) == [("resources_A", "SRIOV_NET_VF:1")]


def test_an_amount_may_be_split(open_page, shapes):
    query = f"resources=PCPU:12&in_tree={uid('numa-host-2')}"
    page = open_page(ask(shapes, query))
    verdict(page, "never")
    card(page, "").get_by_role("button", name="PCPU may be split").click()
    verdict(page, "fits")
    assert ("can_split", "PCPU") in asked(page)


def test_keys_typed_into_one_field_are_one_step_back(open_page, shapes):
    page = open_page(ask(shapes, "resources=VCPU:1"))
    amount = page.get_by_label("amount of VCPU")
    amount.fill("")
    amount.press_sequentially("123")
    expect(page).to_have_url(re.compile("VCPU:123$"))
    page.go_back()
    expect(page).to_have_url(re.compile("VCPU:1$"))
    expect(amount).to_have_value("1")


def test_what_has_no_card_is_kept_and_shown(open_page, shapes, refusals):
    page = open_page(ask(shapes, "resources=VCPU:1&colour=red&resources=VCPU:2&in_tree="))
    whole = page.get_by_role("region", name="the whole request")
    expect(whole).to_contain_text("colour=red")
    expect(page.get_by_role("alert")).to_contain_text("colour")
    page.get_by_label("amount of VCPU").fill("3")
    expect(page).to_have_url(re.compile(r"VCPU:3&colour=red&resources=VCPU:2&in_tree=$"))
    whole.get_by_role("button", name="remove parameter colour=red").click()
    expect(page.get_by_role("alert")).to_contain_text("may be specified only once")
    whole.get_by_role("button", name="remove parameter resources=VCPU:2").click()
    whole.get_by_role("button", name="remove parameter in_tree=").click()
    verdict(page, "fits")


@pytest.fixture
def refusals(watch):
    """The service refuses requests of this test."""
    watch.allow("status of 400")


@pytest.mark.parametrize(
    ("query", "suffix", "said"),
    [
        (
            "resources=VCPU:1&resources_A=CUSTOM_NOTHING:1",
            "_A",
            "No such resource class",
        ),
        ("resources=VCPU:1&required=CUSTOM_LONLY&order=root", "", "did you mean CUSTOM_LONELY?"),
        ("resources=VCPU:1&resources_A=VGPU:none", "_A", "expected positive integer amount"),
        ("resources=VCPU:1&member_of_A=rack&resources_A=VGPU:1", "_A", "valid UUID"),
    ],
)
def test_a_refusal_stands_beside_its_card(open_page, shapes, refusals, query, suffix, said):
    page = open_page(ask(shapes, query))
    expect(card(page, suffix).get_by_role("alert")).to_contain_text(said)
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(page.locator(".funnel")).to_have_count(0)


# ---------------------------------------------------------------------------------------------
# Candidates


def test_a_candidate_is_drawn_on_its_trees(open_page, shapes, axe, take_pictures):
    query = (
        f"resources=VCPU:2,DISK_GB:10&resources_NET=SRIOV_NET_VF:1&in_tree_NET={uid('numa-host-2')}"
    )
    page = open_page(ask(shapes, query))
    verdict(page, "fits")
    expect(page.locator(".headline")).to_contain_text("1 tree fits now")
    line = page.locator(".candidates li").first
    expect(line).to_contain_text("numa-host-2")
    expect(line).to_contain_text("(shared)")
    line.get_by_role("link").click()
    expect(drawer(page).get_by_role("tree")).to_have_count(2)
    expect(drawer(page)).to_contain_text("Shared with it")
    expect(drawer(page).locator(".is-marked")).to_have_count(3)
    assert axe(page) == []
    take_pictures(page, "ask-candidate")


def test_more_candidates_come_in_order_and_without(open_page, large):
    page = open_page(ask(large, "resources_A=VCPU:1&order=pack"))
    lines = page.locator(".candidates li")
    expect(lines).to_have_count(20)
    # Not the names of hosts, which come later than the lines.
    candidates = "(links) => links.map((link) => link.href)"
    first = page.locator("a.candidate").evaluate_all(candidates)
    page.get_by_role("button", name="more candidates").click()
    expect(lines).to_have_count(40)
    assert page.locator("a.candidate").evaluate_all(candidates)[:20] == first
    page.goto(ask(large, "resources_A=VCPU:1&limit=25"))
    expect(lines).to_have_count(20)
    page.get_by_role("button", name="more candidates").click()
    expect(lines).to_have_count(25)
    expect(page.get_by_role("button", name="more candidates")).to_have_count(0)


def test_ten_thousand_hosts(open_page, large):
    page = open_page(ask(large, "resources_A=VCPU:17"))
    expect(page.locator(".funnel")).to_contain_text("10,000")
    page.locator("a.funnel-stage").first.click()
    expect(drawer(page)).to_contain_text("trees lost at")
    expect(drawer(page).locator(".reasons li").first).to_be_visible()
    page.get_by_role("button", name="more trees").click()
    expect(drawer(page).locator(".reasons li").nth(9)).to_be_visible()


def test_a_request_that_is_too_long_for_a_url_is_posted(open_page, shapes):
    racks = ",".join(uid(f"rack-{number}") for number in range(150))
    methods = set()
    page = open_page()
    page.on("request", lambda sent: "candidates" in sent.url and methods.add(sent.method))
    page.goto(ask(shapes, f"resources=VCPU:1&member_of=in:{racks}"))
    verdict(page, "fits")
    assert "POST" in methods


# ---------------------------------------------------------------------------------------------
# Copies


def copied(page: Page, form: str) -> str:
    page.get_by_role("button", name=form, exact=True).click()
    expect(page.get_by_role("status").filter(has_text=f"copied as {form}")).to_be_attached()
    return page.evaluate("navigator.clipboard.readText()")


def test_copies_run_and_find_the_same(open_page, shapes, tmp_path):
    query = "resources=VCPU:24&required=!CUSTOM_LONELY&resources_L=CUSTOM_LICENSE:2&order=root"
    page = open_page(ask(shapes, query), permissions=CLIPBOARD)
    verdict(page, "fits")
    program = tmp_path / "ask.py"
    program.write_text(copied(page, "Python"))
    assert run([sys.executable, program], shapes) == "2 trees fit.\n"
    command = copied(page, "roost")
    assert command.startswith("roost candidates ")
    assert uid("plain-host-1") in run(["sh", "-c", f"{command} --json"], shapes)
    if shutil.which("curl"):
        assert uid("plain-host-1") in run(["sh", "-c", copied(page, "curl")], shapes)


def run(command: list[str | Path], server) -> str:
    scripts = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "ROOST_URL": server.url,
    }
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


# ---------------------------------------------------------------------------------------------
# The page


def test_an_empty_service_says_what_to_do(open_page, empty, axe):
    page = open_page(ask(empty))
    expect(page.get_by_role("heading", name="There is no provider yet")).to_be_visible()
    expect(page.get_by_text("roost demo")).to_be_visible()
    assert axe(page) == []


def test_hostile_names_are_text(open_page, hostile):
    page = open_page(ask(hostile, "resources=VCPU:2&resources_G=VGPU:1&order=root"))
    verdict(page, "fits")
    for name in clouds.HOSTILE_NAMES:
        expect(page.locator(".candidate-root").filter(has_text=name)).to_have_count(1)
    page.goto(ask(hostile, "resources=VCPU:7&show=stage:0"))
    page.get_by_role("button", name="more trees").click()
    for name in clouds.HOSTILE_NAMES:
        expect(drawer(page).locator(".reasons a").filter(has_text=name)).to_have_count(1)
    drawer(page).locator(".reasons a").filter(has_text=clouds.QUOTES).click()
    expect(drawer(page).get_by_role("heading", name=clouds.QUOTES)).to_be_visible()


def test_a_claim_of_another_client_shows_without_a_reload(open_page, serve, shapes):
    server = serve(like=shapes)
    with server.client() as client:
        page = open_page(ask(server, f"resources=VCPU:20&in_tree={uid('plain-host-2')}"))
        verdict(page, "fits")
        body = {
            "allocations": {uid("plain-host-2"): {"resources": {"VCPU": 30}}},
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
            "consumer_generation": None,
        }
        for consumer in ("first", "second"):
            client.put(f"/allocations/{uid(consumer)}", json=body).raise_for_status()
    verdict(page, "not now")


def test_it_fits_a_phone_and_the_dark(open_page, shapes, axe, take_pictures):
    query = (
        "resources=VCPU:24,MEMORY_MB:4096&required=HW_CPU_X86_AVX512F"
        "&resources_NET=SRIOV_NET_VF:1&required_NET=CUSTOM_PHYSNET_0&order=pack&limit=10"
    )
    page = open_page(ask(shapes, f"{query}&show=stage:0"))
    expect(drawer(page).locator(".reasons li")).to_have_count(8)
    take_pictures(page, "ask")
    page.set_viewport_size({"width": 390, "height": 844})
    content = page.locator(".content")
    assert content.evaluate("element => element.scrollWidth <= element.clientWidth")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert axe(page) == []
    page.keyboard.press("Escape")
    expect(drawer(page)).to_have_count(0)
    assert axe(page) == []
