"""Each request of the reference's files, on each database."""

import pytest

from conformance import selection
from conformance.selection import Case
from conformance.subject import Subject


@pytest.mark.parametrize("case", selection.cases(), ids=str)
def test_request(subject: Subject, case: Case) -> None:
    subject.run(case)
