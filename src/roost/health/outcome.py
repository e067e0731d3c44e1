"""The outcome of one check of `roost status`."""

from enum import IntEnum

from roost.model import Value


class Level(IntEnum):
    """The exit codes of OpenStack's upgrade checks."""

    SUCCESS = 0
    WARNING = 1
    FAILURE = 2


class Outcome(Value, frozen=True, kw_only=True):
    """The result of one check."""

    name: str
    level: Level
    detail: str


def success(name: str, detail: str) -> Outcome:
    return Outcome(name=name, level=Level.SUCCESS, detail=detail)


def warning(name: str, detail: str) -> Outcome:
    return Outcome(name=name, level=Level.WARNING, detail=detail)


def failure(name: str, detail: str) -> Outcome:
    return Outcome(name=name, level=Level.FAILURE, detail=detail)
