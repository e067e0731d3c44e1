"""The files and variables of a configuration, as they are written.

oslo.config converts values and forgets where it found them. What is read here serves the messages
about them, and knows the names that nobody asks for.
"""

import grp
import os
import pwd
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from oslo_config import cfg, iniparser

from roost.settings.values import SettingsError

CONFIG_FOLDER_VARIABLE = "OS_PLACEMENT_CONFIG_DIR"
CONFIG_FOLDER_DEFAULT = "/etc/placement"
MAIN_FILE = "placement.conf"
DROP_INS = "placement.conf.d"

_VARIABLE = re.compile(r"OS_([A-Z0-9_]+?)__([A-Z0-9_]+)")


class Given(NamedTuple):
    """An option as it is written somewhere."""

    section: str
    option: str
    value: str
    place: str  # a path, or the name of a variable


class Sources(NamedTuple):
    """Everything that is written: in files, in the order in which they are read, and variables."""

    in_files: Sequence[Given]
    variables: Sequence[Given]
    sections: Mapping[str, str]  # of files, each with the path of its last file

    def find(self, section: str, options: Iterable[str]) -> Given | None:
        """What applies: variables override files, and a later file overrides an earlier one."""
        names = {(section.lower(), option) for option in options}
        variables = {(group, option.lower()) for group, option in names}
        for given in reversed(self.variables):
            if (given.section.lower(), given.option) in variables:
                return given
        for given in reversed(self.in_files):
            if (given.section.lower(), given.option) in names:
                return given
        return None


def read_sources(files: Sequence[str]) -> Sources:
    """Raises `SettingsError` for a file that cannot be read."""
    in_files: list[Given] = []
    sections: dict[str, str] = {}
    for path in files:
        for section, options in _parse(path).items():
            sections[section] = path
            in_files += [
                Given(section, option, values[-1], path) for option, values in options.items()
            ]
    return Sources(in_files, list(_variables()), sections)


def _parse(path: str) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    try:
        cfg.ConfigParser(path, found).parse()
    except FileNotFoundError:
        link = ", which is a link" if os.path.islink(path) else ""
        raise SettingsError(f"no such configuration file: {path}{link}") from None
    except OSError as error:
        raise _unreadable("configuration file", Path(path), error) from error
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"the configuration file {path} is not UTF-8 text: byte {error.start}"
        ) from error
    except iniparser.ParseError as error:
        # The line itself is not shown, because it may contain a password.
        raise SettingsError(
            f"the configuration file {path} cannot be read: line {error.lineno}: expected "
            "[section] or option = value, below a section"
        ) from error
    return found


def _unreadable(kind: str, path: Path, error: OSError) -> SettingsError:
    """With what somebody can do who may not read it."""
    told = f"the {kind} {path} cannot be read: {error.strerror}"
    user = _reader(path) if isinstance(error, PermissionError) else None
    if user is not None:
        told += f"; use `sudo -u {user}`"
        folder, is_named = _config_folder()
        if path.is_relative_to(folder):
            nothing = " or to nothing" if is_named else ""
            told += f", or set {CONFIG_FOLDER_VARIABLE} to another folder{nothing}"
    return SettingsError(told)


def _reader(path: Path) -> str | None:
    """A user who may read it."""
    try:
        status = path.stat()
        if status.st_mode & stat.S_IRGRP:
            # Usually the user of the service: root alone may write what the service reads.
            return pwd.getpwnam(grp.getgrgid(status.st_gid).gr_name).pw_name
        if status.st_mode & stat.S_IRUSR:
            return pwd.getpwuid(status.st_uid).pw_name
    except (OSError, KeyError):
        pass
    return None


def _variables() -> Iterator[Given]:
    for variable, value in os.environ.items():
        match = _VARIABLE.fullmatch(variable)
        if match is not None:
            section = match[1].lower()
            section = "DEFAULT" if section == "default" else section
            yield Given(section, match[2].lower(), value, variable)


# ---------------------------------------------------------------------------------------------
# Which files there are. What is there and cannot be read is never left out: without it roost would
# work with other settings, and perhaps on another database.


def default_config_files(
    *, main: bool = True, drop_ins: bool = True, must_exist: bool = True
) -> list[Path]:
    """`placement.conf` and the files of `placement.conf.d`, where there are any.

    `must_exist`: a folder that OS_PLACEMENT_CONFIG_DIR names has to be there.
    """
    folder, is_named = _config_folder()
    if is_named and must_exist and not _is_folder(folder):
        raise SettingsError(f"{CONFIG_FOLDER_VARIABLE} is {folder}, expected a folder")
    found = []
    if main and _is_there(folder / MAIN_FILE):
        found.append(folder / MAIN_FILE)
    if drop_ins and _is_there(folder / DROP_INS):
        found += _conf_files(folder / DROP_INS)
    return found


def missing_main_file() -> Path | None:
    """`placement.conf` in the folder that OS_PLACEMENT_CONFIG_DIR names, if it is not there."""
    folder, is_named = _config_folder()
    path = folder / MAIN_FILE
    return path if is_named and not _is_there(path) else None


def files_of_folder(folder: Path) -> list[Path]:
    """The files that `--config-dir` names, in the order in which they are read."""
    if not _is_folder(folder):
        raise SettingsError(f"no such configuration folder: {folder}")
    return _conf_files(folder)


def _config_folder() -> tuple[Path, bool]:
    """The folder, and whether the variable names it."""
    named = os.environ.get(CONFIG_FOLDER_VARIABLE)
    return Path(named or CONFIG_FOLDER_DEFAULT), bool(named)


def _conf_files(folder: Path) -> list[Path]:
    """All but hidden ones, which editors and copying programs leave there, as with oslo.config."""
    with _reading(folder):
        names = os.listdir(folder)
    return [
        folder / name
        for name in sorted(names)
        if name.endswith(".conf") and not name.startswith(".")
    ]


def _is_there(path: Path) -> bool:
    """Also if it is a link to nothing: then reading it says so."""
    with _reading(path.parent):
        try:
            path.lstat()
        except FileNotFoundError:
            return False
    return True


def _is_folder(path: Path) -> bool:
    with _reading(path):
        try:
            return stat.S_ISDIR(path.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unreadable("folder", folder, error) from error
