"""The form of the log: for each event a line of text, or a JSON object.

Each line names the request during which it was logged. The JSON fields have the names of oslo.log,
so tools that read the logs of OpenStack services can read these.
"""

import errno
import json
import logging
import os
import re
import stat
import sys
import traceback
from contextvars import ContextVar
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

from roost.settings import Settings, SettingsError, bad_value

# The id that roost gave to the request of this thread, and the id that the client sent along, of
# the request which the client itself is serving.
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
global_request_id: ContextVar[str | None] = ContextVar("global_request_id", default=None)

PLAIN_FORMAT = "%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s [%(ids)s] %(message)s"
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"

# What could end a line, move the cursor of a terminal, reverse the direction of a text, or is no
# text in UTF-8. Clients choose paths, names and headers, which are in many messages.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROL_IN_LINES = re.compile(_CONTROL.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))


def configure(settings: Settings) -> None:
    """Set up the logging of this process according to the settings."""
    handler = handler_of(settings)
    handler.setFormatter(JsonFormatter() if settings.use_json else PlainFormatter())
    handler.set_name(__name__)
    root = logging.getLogger()
    for previous in [each for each in root.handlers if each.get_name() == __name__]:
        root.removeHandler(previous)
        previous.close()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if settings.debug else logging.INFO)
    for name, level in levels_of(settings):
        logging.getLogger(name).setLevel(level)


def levels_of(settings: Settings) -> list[tuple[str, int]]:
    """The configured level of each logger; raises `SettingsError` for one that is malformed."""
    return [_name_and_level(text) for text in settings.log_levels]


def _name_and_level(text: str) -> tuple[str, int]:
    name, _, level_name = text.partition("=")
    level = logging.getLevelNamesMapping().get(level_name.strip().upper())
    if level is None:
        raise bad_value(
            "DEFAULT", "default_log_levels", text, "logger=LEVEL, such as roost.requests=WARNING"
        )
    return name.strip(), level


def handler_of(settings: Settings) -> logging.Handler:
    """The handler for the log file or stderr; raises `SettingsError` if the file is unusable."""
    path = _path_of(settings)
    if path is None:
        return logging.StreamHandler(sys.stderr)
    try:
        # Reopens the file after logrotate has moved it away.
        return WatchedFileHandler(path, encoding="utf-8")
    except OSError as error:
        raise _unusable(path, error) from error


def check_file(settings: Settings) -> None:
    """Raise `SettingsError` if the log file cannot be written.

    It is not created: if root did that, the user of the service could not write it any more.
    """
    path = _path_of(settings)
    if path is None:
        return
    try:
        _refuse_unwritable(path)
    except OSError as error:
        raise _unusable(path, error) from error


def _path_of(settings: Settings) -> Path | None:
    # An empty option is one that is not set, as with oslo.log.
    return Path(settings.log_dir or "") / settings.log_file if settings.log_file else None


def _refuse_unwritable(path: Path) -> None:
    try:
        is_folder, needed = stat.S_ISDIR(path.stat().st_mode), os.W_OK
    except FileNotFoundError:
        # It would be created, where a link points to if it is one.
        path = path.resolve().parent
        if not stat.S_ISDIR(path.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
        is_folder, needed = False, os.W_OK | os.X_OK
    if is_folder:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(path, needed, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _unusable(path: Path, error: OSError) -> SettingsError:
    return bad_value(
        "DEFAULT", "log_file", str(path), f"a file that can be written ({error.strerror})"
    )


class PlainFormatter(logging.Formatter):
    """A line of text. A traceback follows on further lines, which are indented.

    So a line that is not indented is an entry, whatever clients have sent.
    """

    def __init__(self) -> None:
        super().__init__(PLAIN_FORMAT, TIME_FORMAT)

    def format(self, record: logging.LogRecord) -> str:
        # Another handler may have left the traceback there, in a form of its own.
        found, record.exc_text = record.exc_text, None
        try:
            return super().format(record)
        finally:
            record.exc_text = found

    def formatMessage(self, record: logging.LogRecord) -> str:
        ids = filter(None, (global_request_id.get(), request_id.get()))
        record.ids = " ".join(ids) or "-"
        return _CONTROL.sub(_escape, super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return _indent(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indent(super().formatStack(stack_info))


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _escape_in_json(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _indent(text: str) -> str:
    escaped = _CONTROL_IN_LINES.sub(_escape, text)
    return "\n".join(f"  {line}" for line in escaped.split("\n"))


class JsonFormatter(logging.Formatter):
    """A JSON object on one line, which includes the traceback."""

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
        # JSON escapes only those below 32.
        return _CONTROL.sub(_escape_in_json, json.dumps(fields, ensure_ascii=False))
