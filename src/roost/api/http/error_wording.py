"""Sentences that one verb puts around a refusal.

A refusal says what is wrong; some verbs say in addition what they were about to do, and clients
match on those sentences. A handler names them in front of its operation; status and code stay
with the table of errors unless this verb is known to answer otherwise.
"""

import contextlib
from collections.abc import Iterator, Mapping

from roost.api.http import error_table
from roost.api.http.error_response import HttpError
from roost.errors import RoostError
from roost.model import Value


class Wording(Value, frozen=True, kw_only=True):
    """How one verb words one kind of refusal; `{error}` in the sentence is the refusal itself."""

    sentence: str
    status: int | None = None  # None: as the table says
    code: str | None = None


Wordings = Mapping[type[RoostError], Wording | str]


@contextlib.contextmanager
def worded(wordings: Wordings, **values: str) -> Iterator[None]:
    """Give refusals from within the sentences of this verb; others pass as they are."""
    try:
        yield
    except tuple(wordings) as error:
        found = next(wordings[kind] for kind in type(error).__mro__ if kind in wordings)
        wording = Wording(sentence=found) if isinstance(found, str) else found
        answer = error_table.answer_to(error)
        raise HttpError(
            wording.status or answer.status,
            wording.sentence.format(error=error, **values),
            wording.code or answer.code,
        ) from error
