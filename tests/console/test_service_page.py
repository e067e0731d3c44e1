"""The page Service: readiness, processes, rates, routes, and the API's documentation."""

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from roost import __version__

PATH = "service"


def section(page: Page, name: str):
    return page.get_by_role("region", name=name, exact=True)


def fact(page: Page, name: str):
    """A value of the strip at the top."""
    term = page.locator("dt").get_by_text(name, exact=True)
    return page.locator(".condition dl > div").filter(has=term).locator("dd")


def answer(status: int, body: str, content_type: str = "text/html"):
    def fulfill(route: Route) -> None:
        route.fulfill(status=status, body=body, content_type=content_type)

    return fulfill


def test_it_shows_how_the_service_is(open_page, shapes, axe, take_pictures):
    page = open_page(f"{shapes.console}service")
    expect(fact(page, "service")).to_have_text("ready")
    for check in ("database", "writes", "index"):
        expect(fact(page, check)).to_have_text("ok")
    expect(fact(page, "version")).to_have_text(__version__)
    expect(fact(page, "API")).to_have_text("1.0 to 1.39")
    expect(fact(page, "authentication")).to_have_text("noauth2")
    with shapes.client() as client:
        count = len(client.get("/resource_providers").json()["resource_providers"])
    process = section(page, "processes").get_by_role("row").nth(1)
    expect(process.get_by_role("cell").first).to_have_text(str(count))
    expect(section(page, "database")).to_contain_text("connections to read")
    expect(section(page, "extensions").get_by_text("explain", exact=True)).to_be_visible()
    expect(page.locator(".plot canvas")).to_have_count(6)
    assert axe(page) == []
    take_pictures(page, "service")


def test_rates_and_routes_follow_what_clients_do(open_page, shapes):
    page = open_page(f"{shapes.console}service?sort=count")
    expect(page.locator(".plot canvas")).to_have_count(6)
    with shapes.client() as client:
        for _ in range(40):
            client.get("/allocation_candidates?resources=VCPU:1").raise_for_status()
    searches = page.get_by_role("img", name=re.compile("^searches over"))
    # The largest rate of the last minutes is above 0.
    expect(searches).to_have_attribute("aria-label", re.compile(r"at most [\d.]*[1-9]"))
    routes = section(page, "routes")
    # Not those of /allocation_candidates/explain, which other tests send to the same service.
    path = re.compile(r"^GET\s*/allocation_candidates(?!/)")
    row = routes.get_by_role("row").filter(has_text=path)
    expect(row).to_be_visible()
    expect(row.get_by_role("cell").nth(1)).to_have_text(re.compile(r"^([4-9]\d|\d{3})$"))
    expect(row.get_by_role("cell").nth(2)).to_contain_text("ms")
    routes.get_by_role("button", name="p95").click()
    expect(page).to_have_url(re.compile("sort=p95"))
    expect(routes.locator("th[aria-sort]")).to_have_text("p95 ↓")


def test_a_service_that_is_not_ready_says_why(open_page, shapes, watch):
    watch.allow("status of 503")
    page = open_page()
    checks = {"database": "ok", "writes": "refused", "index": "not asked"}
    body = json.dumps({"status": "not ready", "checks": checks})
    page.route("**/readyz", answer(503, body, "application/json"))
    page.goto(f"{shapes.console}service")
    expect(fact(page, "service")).to_have_text("not ready")
    expect(fact(page, "writes")).to_have_text("refused")
    expect(fact(page, "index")).to_have_text("not asked")
    expect(page.locator(".condition .is-bad")).to_have_count(3)


@pytest.mark.parametrize("status", [401, 403, 404, 200])
def test_a_proxy_may_block_the_probes(status, open_page, shapes, watch):
    watch.allow(f"status of {status}")
    page = open_page()
    for path in ("readyz", "metrics"):
        page.route(f"**/{path}", answer(status, "<html><b>no</b></html>"))
    page.goto(f"{shapes.console}service")
    said = f"was answered with {status}, and not by roost as it seems"
    expect(page.get_by_text(re.compile(f"GET /readyz {said}"))).to_be_visible()
    expect(page.get_by_text(re.compile(f"GET /metrics {said}"))).to_be_visible()
    expect(fact(page, "service")).to_have_text("unknown")
    # The rest is there, and the token is not taken for a wrong one.
    expect(fact(page, "API")).to_have_text("1.0 to 1.39")
    expect(section(page, "extensions")).to_be_visible()


def test_metrics_may_be_few(open_page, shapes):
    page = open_page()
    page.route("**/metrics", answer(200, 'up 1\nother{a="<b>"} NaN\n', "text/plain"))
    page.goto(f"{shapes.console}service")
    expect(page.get_by_text("The metrics name no processes.")).to_be_visible()
    expect(page.locator(".plot canvas")).to_have_count(6)


def test_a_hidden_page_asks_nothing(open_page, empty):
    page = open_page(f"{empty.console}service")
    expect(page.locator(".plot canvas")).to_have_count(6)
    hide = """(hidden) => {
        Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(4500)
    assert [url for url in asked if url.endswith(("/metrics", "/readyz"))] == []
    with page.expect_request("**/metrics"):
        page.evaluate(hide, False)


def test_the_service_stops_and_comes_back(open_page, serve, watch):
    watch.allow("Failed to load resource", "net::ERR_")
    server = serve()
    page = open_page(f"{server.console}service")
    expect(fact(page, "service")).to_have_text("ready")
    expect(page.locator(".plot canvas")).to_have_count(6)
    server.stop()
    expect(fact(page, "service")).to_have_text("unknown")
    expect(page.get_by_text("The service does not answer.").first).to_be_visible()
    # What was known stays.
    expect(section(page, "processes")).to_be_visible()
    server.start()
    expect(fact(page, "service")).to_have_text("ready")
    expect(page.get_by_text("The service does not answer.")).to_have_count(0)


def test_the_api_is_documented(open_page, empty, axe, take_pictures):
    page = open_page(f"{empty.console}service")
    page.get_by_role("link", name="API", exact=True).click()
    expect(page).to_have_url(re.compile("view=api"))
    expect(page.get_by_role("status").filter(has_text="operations")).to_be_visible()
    page.get_by_label("filter").fill("explain")
    expect(page.locator(".operations li")).to_have_count(2)
    expect(page).to_have_url(re.compile("filter=explain"))
    page.get_by_role("link", name="GET /allocation_candidates/explain").click()
    details = page.get_by_role("complementary", name="details")
    expect(details).to_contain_text("placement:allocation_candidates:list")
    expect(details.get_by_role("row").filter(has_text="same_subtree")).to_be_visible()
    assert axe(page) == []
    take_pictures(page, "service-api")
    # It is the address that says what is open.
    page.reload()
    expect(details).to_contain_text("Explain why a request does not fit.")
    page.keyboard.press("Escape")
    expect(details).to_have_count(0)
    page.get_by_label("filter").fill("no such words")
    expect(page.get_by_role("heading", name="No operation matches")).to_be_visible()


def test_bodies_of_requests_are_documented(open_page, empty):
    page = open_page(f"{empty.console}service?view=api&operation=POST /resource_providers")
    details = page.get_by_role("complementary", name="details")
    # In the body, and in the answer.
    expect(details.get_by_role("row").filter(has_text="parent_provider_uuid")).to_contain_text(
        ["uuid or null", "uuid or null"]
    )
