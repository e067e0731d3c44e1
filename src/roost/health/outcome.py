"""The outcome of one check of `roost status`."""

from enum import Enum, IntEnum

from roost.model import Value


class Level(IntEnum):
    """The exit codes of OpenStack's upgrade checks."""

    SUCCESS = 0
    WARNING = 1
    FAILURE = 2


class AtStart(Enum):
    """What the start of a service does about the outcome of a check."""

    NOTHING = "nothing"
    LOG = "log"
    STOP = "stop"


class Outcome(Value, frozen=True, kw_only=True):
    """The result of one check."""

    name: str
    level: Level
    detail: str
    at_start: AtStart = AtStart.NOTHING


def success(name: str, detail: str) -> Outcome:
    return Outcome(name=name, level=Level.SUCCESS, detail=detail)


def remark(name: str, detail: str) -> Outcome:
    """A success that operators should know about."""
    return Outcome(name=name, level=Level.SUCCESS, detail=detail, at_start=AtStart.LOG)


def warning(name: str, detail: str, *, at_start: AtStart = AtStart.NOTHING) -> Outcome:
    return Outcome(name=name, level=Level.WARNING, detail=detail, at_start=at_start)


def failure(name: str, detail: str, *, at_start: AtStart = AtStart.STOP) -> Outcome:
    return Outcome(name=name, level=Level.FAILURE, detail=detail, at_start=at_start)


def first_line(error: BaseException) -> str:
    """What an error says, as the detail of an outcome."""
    return " ".join(str(error).split("\n", maxsplit=1)[0].split())
