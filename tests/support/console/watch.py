"""What must not happen in a page of the console, whatever a test does with it."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Dialog, Error, Page, Request

READS = ("GET", "HEAD")
# Searches that take a body, and the way to a token.
READING_POSTS = (
    "/allocation_candidates",
    "/allocation_candidates/explain",
    "/capacity",
    "/console/token",
)
# The page ended the request itself, or was left.
ABORTED = "net::ERR_ABORTED"

# Chromium prints most violations itself, but not those that happen in a worker or a report.
REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => console.error(
  `Content-Security-Policy: ${event.violatedDirective} forbids ${event.blockedURI}`
  + ` (${event.sourceFile}:${event.lineNumber})`));
"""


class Watch:
    """Collects problems of all pages of a test; those that the test expects are allowed first."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._allowed: list[re.Pattern[str]] = []
        self.pages: list[Page] = []

    def allow(self, *patterns: str) -> None:
        """Expect problems in whose text one of these regular expressions is found."""
        self._allowed += map(re.compile, patterns)

    def add(self, page: Page) -> None:
        self.pages.append(page)
        page.add_init_script(REPORT_VIOLATIONS)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._report(f"uncaught: {error.stack or error}"))
        page.on("dialog", self._on_dialog)
        page.on("crash", lambda _: self._report("the page crashed"))
        page.on("popup", lambda popup: self._report(f"a window was opened: {popup.url}"))
        page.on("request", self._on_request)
        page.on("requestfailed", self._on_failure)

    def unexpected(self) -> list[str]:
        for page in self.pages:
            if not page.is_closed():
                # Problems are reported in order, so all that happened so far are known after this.
                page.evaluate("1")
        return [
            problem
            for problem in self.problems
            if not any(pattern.search(problem) for pattern in self._allowed)
        ]

    def check(self) -> None:
        problems = self.unexpected()
        if problems:
            raise AssertionError("problems in the browser:\n" + "\n".join(problems))

    def _report(self, problem: str) -> None:
        self.problems.append(problem)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            place = message.location
            where = f"{place.get('url', '')}:{place.get('lineNumber', '')}"
            self._report(f"{message.type}: {message.text} ({where})")

    def _on_dialog(self, dialog: Dialog) -> None:
        self._report(f"{dialog.type}: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("data", "blob"):
            return
        if request.method not in READS and not (
            request.method == "POST" and address.path.endswith(READING_POSTS)
        ):
            self._report(f"a request that writes: {request.method} {request.url}")
        if request.is_navigation_request():
            return
        try:
            page = urlsplit(request.frame.url)
        except Error:  # of a worker, or of a page that is gone
            return
        if (address.scheme, address.netloc) != (page.scheme, page.netloc):
            self._report(f"a request to elsewhere: {request.method} {request.url}")

    def _on_failure(self, request: Request) -> None:
        if request.failure != ABORTED:
            self._report(f"{request.failure}: {request.method} {request.url}")
