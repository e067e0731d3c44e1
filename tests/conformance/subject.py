"""A server under test: runs the files one after the other, each on an empty database.

Every answer is also compared with the OpenAPI document of its version.
"""

import copy
import http.client
import unittest
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
import pytest
import sqlalchemy as sa
from gabbi import handlers, suitemaker
from gabbi.suite import GabbiSuite

from tests.conformance import fixtures, selection
from tests.conformance.selection import Case
from tests.support import answer_schemas, tables


class Subject:
    """A database, and the server for each file."""

    def __init__(self, server_url: Callable[[str], str], database_url: str) -> None:
        self._server_url = server_url
        self._engine = sa.create_engine(database_url)
        self._file: str | None = None
        self._suite: GabbiSuite | None = None
        self._world_error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close_file()
        self._engine.dispose()

    def run(self, case: Case) -> None:
        """Send one request and check the answer.

        If the requests before it in the file have not been sent, because only some tests were
        selected, gabbi sends them first.
        """
        if case.file != self._file:
            self._close_file()
            self._open_file(case.file)
        if self._world_error is not None:
            pytest.fail(f"no world for {case.file}: {self._world_error}", pytrace=False)
        assert self._suite is not None
        test = self._suite._tests[case.position]
        result = unittest.TestResult()
        test.run(result)
        test.http.client.close()
        report(result)

    def _open_file(self, file: str) -> None:
        self._file = file
        self._world_error = None
        try:
            url = self._server_url(file)
            tables.empty(self._engine)
            self._suite = build_suite(file, url)
            self._suite.start(unittest.TestResult())
        except Exception as error:
            # Saved, so that each test of the file fails with the actual reason.
            self._world_error = error

    def _close_file(self) -> None:
        if self._suite is not None:
            self._suite.stop()
            self._suite = None


def build_suite(file: str, server_url: str) -> GabbiSuite:
    """The tests of one file, as gabbi makes them."""
    address = urlsplit(server_url)
    content = copy.deepcopy(selection.content(file))
    # Each test has its own client, and loading certificates for it would take longer than the test.
    content.setdefault("defaults", {})["cert_validate"] = False
    suite = suitemaker.test_suite_from_dict(
        loader=unittest.TestLoader(),
        test_base_name=file.removesuffix(".yaml"),
        suite_dict=content,
        test_directory=str(selection.FOLDER),
        host=address.hostname,
        port=address.port,
        fixture_module=fixtures.for_server(server_url),
        intercept=None,
        handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
    )
    for test in suite:
        test.http.client.event_hooks = answer_schemas.HOOKS
        if (file, test.test_data["name"]) in selection.REFUSED_BY_HTTP_SERVER:
            type(test).http = UncheckedHttp()
            test.test_data["response_strings"] = []
    return suite


def report(result: unittest.TestResult) -> None:
    """Report to pytest what unittest has recorded."""
    for _, text in (*result.errors, *result.failures):
        pytest.fail(text, pytrace=False)
    if result.unexpectedSuccesses:
        pytest.fail("passed, although the file expects a failure", pytrace=False)
    for _, reason in result.skipped:
        pytest.skip(reason)
    for _, text in result.expectedFailures:
        pytest.xfail(text)


class UncheckedHttp:
    """Replaces gabbi's client, and sends headers that httpx refuses to send."""

    def __init__(self) -> None:
        # Sends nothing, and exists only to be closed.
        self.client = httpx.Client(verify=False)

    def request(
        self,
        absolute_uri: str,
        method: str,
        body: bytes | None,
        headers: Mapping[str, str],
        redirect: bool,
        timeout: float,
    ) -> tuple[httpx.Headers, bytes]:
        address = urlsplit(absolute_uri)
        assert address.hostname is not None
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=timeout)
        try:
            connection.request(method, address.path, body=body, headers=dict(headers))
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        answer: dict[str, Any] = dict(response.getheaders())
        return httpx.Headers({**answer, "status": str(response.status)}), content
