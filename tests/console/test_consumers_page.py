"""The page Consumers: who holds what, in groups, on their trees; and the orphans of an audit."""

import json
import re
import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect

from tests.support.console import clouds
from tests.support.names import uid

PLAIN = "plain-host-2"


def rows(page: Page):
    return page.locator("table.consumers tr.selectable")


def row(page: Page, consumer: str):
    return rows(page).filter(has=page.locator(f'a.consumer[title="{uid(consumer)}"]'))


def details(page: Page):
    return page.get_by_role("complementary", name="details")


def choice(page: Page, label: str):
    return page.locator(f"#choice-{label}")


def claim(client, consumer: str, amounts, project: str = "shop") -> None:
    body = {
        "allocations": {uid(name): {"resources": taken} for name, taken in amounts.items()},
        "consumer_generation": None,
        "project_id": project,
        "user_id": "ada",
        "consumer_type": "INSTANCE",
    }
    client.put(f"/allocations/{uid(consumer)}", json=body).raise_for_status()


class TestList:
    def test_consumers_with_what_they_hold_and_where(self, open_page, shapes, axe, take_pictures):
        page = open_page(f"{shapes.console}consumers")
        expect(rows(page)).to_have_count(5)
        first = row(page, "server-1")
        for text in ("INSTANCE", "shop", "ada", "16 GB", "200 GB"):
            expect(first).to_contain_text(text)
        expect(first.get_by_role("link", name="numa-host-0")).to_be_visible()
        expect(first.get_by_role("link", name="storage")).to_be_visible()
        assert axe(page) == []
        take_pictures(page, "consumers")

    def test_choices_are_in_the_address(self, open_page, shapes):
        page = open_page(f"{shapes.console}consumers")
        choice(page, "project").fill("research")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("project=research"))
        expect(rows(page)).to_have_count(2)
        choice(page, "user").fill("grace")
        page.keyboard.press("Enter")
        expect(rows(page)).to_have_count(1)
        page.go_back()
        expect(rows(page)).to_have_count(2)
        page.goto(f"{shapes.console}consumers?type=MIGRATION")
        expect(rows(page)).to_have_count(1)
        page.goto(f"{shapes.console}consumers?class=VGPU")
        expect(rows(page)).to_have_count(1)
        page.goto(f"{shapes.console}consumers?age=1d")
        expect(page.get_by_role("heading", name="No consumer is like this")).to_be_visible()
        page.get_by_role("button", name="drop all choices").click()
        expect(rows(page)).to_have_count(5)

    def test_groups_have_sums(self, open_page, shapes, axe, take_pictures):
        page = open_page(f"{shapes.console}consumers?group=project")
        groups = page.locator("tr.group")
        expect(groups).to_have_count(2)
        expect(groups.first).to_contain_text(re.compile(r"shop\s*3"))
        expect(groups.first).to_contain_text("44")  # VCPU: 8 + 32 + 4
        expect(groups.first).to_contain_text("540 GB")  # DISK_GB: 200 + 300 + 40
        assert axe(page) == []
        take_pictures(page, "consumers-grouped")
        groups.last.get_by_role("link", name="research").click()
        expect(page).to_have_url(re.compile("project=research"))
        expect(rows(page)).to_have_count(2)

    def test_more_are_read_on_demand(self, open_page, serve, shapes):
        server = serve(like=shapes)
        with server.client() as client:
            inventory = {"inventories": {"CUSTOM_DEVICE": {"total": 1000}}}
            body = {**inventory, "resource_provider_generation": 0}
            url = f"/resource_providers/{uid('empty-host')}/inventories"
            client.put(url, json=body).raise_for_status()
            for number in range(230):
                claim(client, f"small-{number}", {"empty-host": {"CUSTOM_DEVICE": 1}})
        page = open_page(f"{server.console}consumers")
        expect(rows(page)).to_have_count(200)
        expect(page.get_by_text("the first 200 consumers")).to_be_visible()
        page.get_by_role("button", name="read 200 more").click()
        expect(rows(page)).to_have_count(235)
        page.reload()
        expect(rows(page)).to_have_count(235)

    def test_hostile_names_are_text(self, open_page, hostile, axe):
        page = open_page(f"{hostile.console}consumers?group=user")
        expect(rows(page)).to_have_count(len(clouds.HOSTILE_NAMES))
        for name in clouds.HOSTILE_NAMES:
            expect(page.locator("tr.group a").get_by_text(name, exact=True)).to_be_visible()
        row(page, f"user of {clouds.SCRIPT}").get_by_role("link").first.click()
        expect(details(page)).to_contain_text(clouds.SCRIPT)
        assert axe(page) == []


class TestDetails:
    def test_what_it_holds_is_drawn_on_its_trees(self, open_page, shapes, axe, take_pictures):
        page = open_page(f"{shapes.console}consumers")
        row(page, "server-1").locator("td").nth(1).click()
        expect(page).to_have_url(re.compile(f"consumer={uid('server-1')}"))
        shown = details(page)
        trees = shown.get_by_role("tree")
        expect(trees).to_have_count(2)
        expect(trees.first.locator(".strip-mark")).to_have_count(4)
        expect(shown).to_contain_text("without 4 of which it holds nothing")
        expect(shown).to_contain_text(f"roost allocation show {uid('server-1')}")
        expect(shown).to_contain_text(f"{shapes.url}/allocations/{uid('server-1')}")
        assert axe(page) == []
        take_pictures(page, "consumers-details")
        shown.get_by_role("link", name="numa-host-0", exact=True).click()
        expect(page).to_have_url(re.compile(rf"tree\?uuid=.*consumer={uid('server-1')}"))

    def test_one_that_is_not_in_the_list_has_its_times(self, open_page, shapes):
        page = open_page(f"{shapes.console}consumers?project=research&consumer={uid('server-1')}")
        expect(rows(page)).to_have_count(2)
        expect(details(page)).to_contain_text(re.compile(r"created\s*20\d\d-\d\d-\d\dT"))

    def test_one_that_holds_nothing(self, open_page, shapes):
        page = open_page(f"{shapes.console}consumers?consumer={uid('nobody')}")
        expect(details(page)).to_contain_text("It holds nothing now.")

    def test_keys(self, open_page, shapes):
        page = open_page(f"{shapes.console}consumers")
        expect(rows(page)).to_have_count(5)
        page.locator("a.consumer").first.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator("a.consumer").nth(1)).to_be_focused()
        page.keyboard.press("Enter")
        expect(details(page)).to_be_visible()
        page.keyboard.press("Escape")
        expect(details(page)).to_be_hidden()


class TestLive:
    def test_a_claim_of_another_client_appears(self, open_page, cloud):
        server, client = cloud
        page = open_page(f"{server.console}consumers")
        expect(rows(page)).to_have_count(5)
        expect(page.locator(".live.is-open")).to_be_visible()
        claim(client, "newcomer", {PLAIN: {"VCPU": 3}})
        expect(row(page, "newcomer")).to_contain_text(PLAIN)
        client.delete(f"/allocations/{uid('server-3')}").raise_for_status()
        expect(row(page, "server-3")).to_have_count(0)


class TestAudit:
    @pytest.fixture
    def report(self, shapes, tmp_path):
        """What an audit prints that knows some of the servers."""
        text = {
            "totals": {"consumers": 5, "orphans": 2},
            "names": {uid("plain-host-0"): "plain-host-0"},
            "orphans": [orphan("server-3", "shop"), orphan("given-back", "research")],
        }
        path = tmp_path / "audit.json"
        path.write_text(json.dumps(text))
        return path

    def test_orphans_of_a_report(self, open_page, shapes, report, axe, take_pictures):
        page = open_page(f"{shapes.console}consumers")
        page.set_input_files("input[type=file]", report)
        expect(page).to_have_url(re.compile("orphans=1"))
        expect(rows(page)).to_have_count(2)
        expect(page.get_by_text("2 orphans")).to_be_visible()
        expect(row(page, "server-3")).to_contain_text("plain-host-0")
        expect(row(page, "server-3")).to_contain_text(" d")  # its age
        assert axe(page) == []
        take_pictures(page, "consumers-orphans")
        row(page, "given-back").locator("td").first.click()
        expect(details(page)).to_contain_text("given back")
        choice(page, "project").fill("shop")
        page.keyboard.press("Enter")
        expect(rows(page)).to_have_count(1)
        choice(page, "project").fill("")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="orphans only (2)").click()
        expect(rows(page)).to_have_count(5)
        expect(row(page, "server-3")).to_contain_text("orphan")
        page.get_by_role("button", name="forget the audit report").click()
        expect(row(page, "server-3")).not_to_contain_text("orphan")

    def test_the_report_is_not_kept_and_the_page_says_so(self, open_page, shapes, report):
        page = open_page(f"{shapes.console}consumers")
        page.set_input_files("input[type=file]", report)
        expect(rows(page)).to_have_count(2)
        page.reload()
        expect(page.get_by_role("heading", name="Which audit?")).to_be_visible()
        expect(page.get_by_text("loading the page again forgets it")).to_be_visible()
        page.get_by_role("button", name="show all consumers").click()
        expect(rows(page)).to_have_count(5)

    def test_a_report_is_dropped_on_the_page(self, open_page, shapes, report):
        page = open_page(f"{shapes.console}consumers")
        expect(rows(page)).to_have_count(5)
        page.evaluate(
            """(text) => {
              const dataTransfer = new DataTransfer();
              dataTransfer.items.add(new File([text], "audit.json"));
              const options = {dataTransfer, bubbles: true, cancelable: true};
              for (const kind of ["dragover", "drop"]) {
                document.body.dispatchEvent(new DragEvent(kind, options));
              }
            }""",
            report.read_text(),
        )
        expect(rows(page)).to_have_count(2)

    def test_another_file_is_refused_in_a_sentence(self, open_page, shapes, tmp_path):
        path = tmp_path / "servers.csv"
        path.write_text("ID,Name\n")
        page = open_page(f"{shapes.console}consumers")
        page.set_input_files("input[type=file]", path)
        expect(page.get_by_role("alert")).to_contain_text("servers.csv is no JSON")
        expect(rows(page)).to_have_count(5)

    def test_what_the_command_prints_is_understood(self, open_page, cloud, tmp_path):
        server, _ = cloud
        known = tmp_path / "known.txt"
        known.write_text(uid("server-1"))
        command = [sys.executable, "-m", "roost", "audit", "--url", server.url, "--token", "admin"]
        options = ["--known", str(known), "--older-than", "0m", "--type", "INSTANCE", "--json"]
        printed = subprocess.run([*command, *options], capture_output=True, check=False)
        assert printed.returncode == 3, printed.stderr
        path = tmp_path / "audit.json"
        path.write_bytes(printed.stdout)
        page = open_page(f"{server.console}consumers")
        page.set_input_files("input[type=file]", path)
        count = len(json.loads(printed.stdout)["orphans"])
        assert count
        expect(rows(page)).to_have_count(count)


def orphan(consumer: str, project: str):
    return {
        "uuid": uid(consumer),
        "consumer_type": "INSTANCE",
        "project_id": project,
        "user_id": "ada",
        "consumer_generation": 1,
        "changed_at": "2025-01-02T03:04:05Z",
        "age_seconds": 1_000_000,
        "allocations": {uid("plain-host-0"): {"VCPU": 32, "MEMORY_MB": 64_512}},
    }


class TestConditions:
    def test_an_empty_service(self, open_page, empty, axe, take_pictures):
        page = open_page(f"{empty.console}consumers")
        expect(page.get_by_role("heading", name="Nobody holds anything yet")).to_be_visible()
        expect(page.get_by_text("roost demo")).to_be_visible()
        assert axe(page) == []
        take_pictures(page, "consumers-empty")

    def test_a_choice_that_the_service_refuses(self, open_page, shapes, watch):
        watch.allow("status of 400")
        page = open_page(f"{shapes.console}consumers?class=CUSTOM_NOT_THERE")
        expect(page.get_by_role("alert")).to_contain_text("CUSTOM_NOT_THERE")
        choice(page, "class").fill("VGPU")
        page.keyboard.press("Enter")
        expect(rows(page)).to_have_count(1)

    def test_who_may_not_list_consumers_sees_the_rule(self, open_page, serve, watch, tmp_path):
        watch.allow("status of 403")
        rules = tmp_path / "policy.yaml"
        rules.write_text('"placement:allocations:list": "!"\n')
        server = serve(environment={"OS_OSLO_POLICY__POLICY_FILE": str(rules)})
        page = open_page(f"{server.console}consumers")
        expect(page.get_by_role("alert")).to_contain_text("placement:allocations:list")

    def test_on_a_phone_nothing_overflows(self, open_page, shapes):
        phone = {"width": 390, "height": 844}
        page = open_page(f"{shapes.console}consumers?group=project", viewport=phone)
        expect(rows(page)).to_have_count(5)
        for element in ("html", ".content"):
            assert page.locator(element).evaluate("each => each.scrollWidth") <= 390
