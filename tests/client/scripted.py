"""Services that answer as a test tells them."""

import httpx

VERSIONS = [{"max_version": "1.39", "min_version": "1.0"}]


class Script(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Gives the answers in order, then the last one again and again.

    GET / is answered with the versions, and does not count.
    """

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.versions: list[dict[str, str]] = VERSIONS
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.url.path == "/":
            return httpx.Response(200, json={"versions": self.versions})
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        # The same answer may be given twice, and each can be read once.
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.handle_request(request)

    @property
    def sent(self) -> int:
        return sum(request.url.path != "/" for request in self.requests)


def refused(status: int, code: str = "", detail: str = "why", **headers: str) -> httpx.Response:
    error = {"status": status, "detail": f"Explanation.\n\n {detail}  ", "code": code}
    return httpx.Response(status, json={"errors": [error]}, headers=headers)


OK = httpx.Response(200, json={"resource_providers": []})
DONE = httpx.Response(204)
