"""Whatever goes wrong in a page fails its test."""

import pytest
from playwright.sync_api import Page, Route

from tests.console.conftest import OpenPage
from tests.support.console.accessibility import serious_violations
from tests.support.console.watch import Watch

ADDRESS = "http://127.0.0.1:1/console/"
POLICY = "default-src 'self'"
SCRIPT = "<script src=script.js></script>"


def show(page: Page, body: str, script: str = "") -> None:
    """Answer every request: the page itself, its script, and anything else with nothing."""

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(ADDRESS)
        if path == "":
            html = f"<!doctype html><html lang=en><title>t</title>{body}{SCRIPT}"
            route.fulfill(
                body=html,
                content_type="text/html",
                headers={"content-security-policy": POLICY},
            )
        elif path == "script.js":
            route.fulfill(body=script, content_type="text/javascript")
        elif path == "failing":
            route.abort("connectionrefused")
        else:
            route.fulfill(status=204)

    page.route("**/*", answer)
    page.goto(ADDRESS)
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize(
    ("body", "script", "problem"),
    [
        ("", "console.error('oh')", "error: oh"),
        ("", "console.warn('hm')", "warning: hm"),
        ("", "setTimeout(() => { throw new Error('late') })", "uncaught: Error: late"),
        ("", "Promise.reject(new Error('lost'))", "uncaught: Error: lost"),
        ("", "alert(1)", "alert: 1"),
        ("", "open('/console/other')", "a window was opened"),
        ("<p onclick='x()' style='color: red'>", "", "Content-Security-Policy: style-src-attr"),
        ("<script>1</script>", "", "Content-Security-Policy: script-src-elem"),
        ("", "try { eval('1') } catch {}", "Content-Security-Policy: script-src forbids eval"),
        ("", "fetch('http://127.0.0.2/x', {mode: 'no-cors'}).catch(() => 0)", "forbids http"),
        ("", "fetch('/failing-write', {method: 'DELETE'})", "a request that writes: DELETE"),
        ("", "fetch('/resource_providers', {method: 'POST'})", "a request that writes: POST"),
        ("", "fetch('failing').catch(() => 0)", "net::ERR_CONNECTION_REFUSED: GET"),
    ],
    ids=lambda value: value.replace("/", ""),
)
def test_problems_are_found(
    open_page: OpenPage, watch: Watch, body: str, script: str, problem: str
) -> None:
    show(open_page(), body, script)
    found = watch.unexpected()
    assert any(problem in one for one in found), found
    watch.allow(".")


def test_a_request_to_elsewhere_is_found(open_page: OpenPage, watch: Watch) -> None:
    page = open_page(bypass_csp=True)
    show(page, "", "fetch('http://127.0.0.2/x', {mode: 'no-cors'}).catch(() => 0)")
    assert watch.unexpected() == ["a request to elsewhere: GET http://127.0.0.2/x"]
    watch.allow("127.0.0.2")


def test_reading_is_no_problem(page: Page) -> None:
    script = """
        fetch("/resource_providers");
        fetch("/allocation_candidates/explain", {method: "POST"});
        fetch("/prefix/capacity", {method: "POST"});
        document.body.style.color = "red";
        const ending = new AbortController();
        fetch("/events", {signal: ending.signal}).catch(() => 0);
        ending.abort();
    """
    show(page, "<p>fine</p>", script)


def test_what_is_expected_is_allowed(page: Page, watch: Watch) -> None:
    watch.allow("status of 4..")
    show(page, "", "console.error('a status of 404')")


def test_axe_finds_what_is_serious(page: Page) -> None:
    show(page, "<main><h1>A picture</h1><input type=text></main>")
    [violation] = serious_violations(page)
    assert violation.startswith("critical: Form elements must have labels (label)\n  <input")
