"""Each request of the reference's files, on each database."""

import pytest

from tests.conformance import selection
from tests.conformance.selection import Case
from tests.conformance.subject import Subject


@pytest.mark.parametrize("case", selection.cases(), ids=str)
def test_the_answer_is_as_expected(subject: Subject, case: Case) -> None:
    subject.run(case)
