"""What the log looks like: a line of text for each event, or a JSON object.

Each line says which request was being worked on. The names in JSON are those of oslo.log, so that
what reads the logs of OpenStack services can read these.
"""

import json
import logging
import sys
import traceback
from contextvars import ContextVar
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

from roost.settings import Settings, SettingsError

# Of the request that this thread works on: the identifier that roost gave it, and the one of the
# request that the client works on itself.
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
global_request_id: ContextVar[str | None] = ContextVar("global_request_id", default=None)

PLAIN_FORMAT = "%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s [%(ids)s] %(message)s"
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


def configure(settings: Settings) -> None:
    """Send what this process logs to where it is configured, in the form that is configured."""
    handler = handler_of(settings)
    handler.setFormatter(JsonFormatter() if settings.use_json else PlainFormatter())
    handler.set_name(__name__)
    root = logging.getLogger()
    for former in [each for each in root.handlers if each.get_name() == __name__]:
        root.removeHandler(former)
        former.close()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if settings.debug else logging.INFO)
    for name, level in levels_of(settings):
        logging.getLogger(name).setLevel(level)


def levels_of(settings: Settings) -> list[tuple[str, int]]:
    """Loggers and their levels; raises `SettingsError` where that makes no sense."""
    return [_name_and_level(text) for text in settings.log_levels]


def _name_and_level(text: str) -> tuple[str, int]:
    name, _, word = text.partition("=")
    level = logging.getLevelNamesMapping().get(word.strip().upper())
    if level is None:
        raise SettingsError(f"[DEFAULT]default_log_levels: {text!r} is not like logger=LEVEL")
    return name.strip(), level


def handler_of(settings: Settings) -> logging.Handler:
    """Where lines go; raises `SettingsError` if they cannot."""
    if settings.log_file is None:
        return logging.StreamHandler(sys.stderr)
    path = Path(settings.log_dir or "") / settings.log_file
    try:
        # Opens the file anew after somebody has moved it away, as logrotate does.
        return WatchedFileHandler(path, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write to [DEFAULT]log_file {path}: {error}") from error


class PlainFormatter(logging.Formatter):
    """A line of text; a traceback follows on lines of its own."""

    def __init__(self) -> None:
        super().__init__(PLAIN_FORMAT, TIME_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:
        ids = filter(None, (global_request_id.get(), request_id.get()))
        record.ids = " ".join(ids) or "-"
        return super().formatMessage(record)


class JsonFormatter(logging.Formatter):
    """An object on one line, a traceback included."""

    def __init__(self) -> None:
        super().__init__(datefmt=TIME_FORMAT)

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "asctime": f"{self.formatTime(record, self.datefmt)}.{int(record.msecs):03d}",
            "levelname": record.levelname,
            "name": record.name,
            "message": record.getMessage(),
            "process": record.process,
            "thread_name": record.threadName,
            "request_id": request_id.get(),
            "global_request_id": global_request_id.get(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            kind, error, trace = record.exc_info
            fields["error_summary"] = "".join(traceback.format_exception_only(error)).strip()
            lines = "".join(traceback.format_exception(kind, error, trace)).splitlines()
            fields["traceback"] = lines
        return json.dumps(fields, ensure_ascii=False)
