"""Sentences that one route puts around an error.

An error says what is wrong. Some routes also say what they were about to do, and clients match on
those sentences. A handler wraps its operation in `reword_errors`; status and code come from the
table of errors unless the wording has its own.
"""

import functools
from collections.abc import Mapping

from roost.api.http import error_table
from roost.api.http_error import ErrorCode, HttpError
from roost.converting import Converting
from roost.errors import RoostError
from roost.model import Value
from roost.quoting import quote


class ErrorWording(Value, frozen=True, kw_only=True):
    """How one route words one kind of error; `{error}` in the sentence is the error itself."""

    sentence: str
    status: int | None = None  # None: as in the table of errors
    code: ErrorCode | None = None


ErrorWordings = Mapping[type[RoostError], ErrorWording | str]


def reword_errors(wordings: ErrorWordings, **values: str) -> Converting:
    """Turn errors that have a wording into an `HttpError`; let all others pass."""
    return Converting(functools.partial(_reworded, wordings, values))


def _reworded(
    wordings: ErrorWordings, values: Mapping[str, str], error: BaseException
) -> HttpError | None:
    if not (isinstance(error, RoostError) and isinstance(error, tuple(wordings))):
        return None
    found = next(wordings[kind] for kind in type(error).__mro__ if kind in wordings)
    wording = ErrorWording(sentence=found) if isinstance(found, str) else found
    entry = error_table.entry_for(error)
    quoted = {name: quote(value) for name, value in values.items()}
    return HttpError(
        wording.status or entry.status,
        wording.sentence.format(error=error, **quoted),
        wording.code or entry.code,
    )
