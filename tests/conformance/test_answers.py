"""Every answer of the run is compared with the OpenAPI document, and a wrong one is noticed."""

import unittest

import httpx
import pytest

from tests.conformance import selection
from tests.conformance.subject import build_suite
from tests.support import answer_schemas

URL = "http://placement.example"
# Not one that is on the way to another, and no form of it has so few fields.
WRONG = {"resource_providers": [{"name": "without a uuid"}]}
HEADERS = {
    "openstack-api-version": "placement 1.39",
    "vary": "openstack-api-version",
    "x-openstack-request-id": "req-00000000-0000-4000-8000-000000000000",
    "last-modified": "Wed, 01 Jan 2020 00:00:00 GMT",
    "cache-control": "no-cache",
}


@pytest.mark.parametrize("file", selection.files())
def test_every_request_is_watched(file: str) -> None:
    for test in build_suite(file, URL):
        if (file, test.test_data["name"]) in selection.REFUSED_BY_HTTP_SERVER:
            continue
        assert test.http.client.event_hooks["response"] == answer_schemas.HOOKS["response"]
        test.http.client.close()


def test_a_wrong_answer_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = build_suite("resource-provider.yaml", URL)
    (test, *_) = (each for each in suite if each.test_data["url"] == "/resource_providers")
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=HEADERS, json=WRONG))
    test.http.client._transport = transport
    monkeypatch.setattr(test, "prior", None)
    result = unittest.TestResult()
    test.run(result)
    [(_, text)] = [*result.errors, *result.failures]
    assert "WrongAnswer: GET /resource_providers (placement 1.39) was answered with 200" in text
    assert '"uuid" is a required property' in text
