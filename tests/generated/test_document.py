"""Requests that are generated from the OpenAPI document, valid ones and invalid ones."""

import schemathesis
from schemathesis import Case
from schemathesis.checks import not_a_server_error

from tests.generated.document import make_document
from tests.generated.examples import DETERMINISTIC, LONG, example_settings
from tests.generated.subject import Subject, check_error, check_schema
from tests.generated.wire import Answer
from tests.support.headers import ADMIN

DOCUMENT = schemathesis.openapi.from_dict(make_document())
DOCUMENT.config.generation.update(deterministic=DETERMINISTIC)
# Every boundary of every schema: thousands of requests, so only in a long run.
DOCUMENT.config.phases.coverage.enabled = LONG


@DOCUMENT.parametrize()
@example_settings(share=1 / 40)
def test_requests_from_the_document(case: Case, subject: Subject) -> None:
    response = case.call(base_url=subject.server.url, headers=ADMIN)
    case.validate_response(response, checks=[not_a_server_error])
    headers = {name.lower(): values[0] for name, values in response.headers.items()}
    answer = Answer(response.status_code, headers, response.content)
    check_schema(case.method.encode(), response.request.path_url.encode(), answer)
    if answer.status >= 400 and answer.is_from_roost:
        check_error(answer)
    subject.check_tables_and_restore(case.method.encode(), answer.status)
