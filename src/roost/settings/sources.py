"""The files and variables of a configuration, as they are written.

oslo.config converts values and forgets where it found them. What is read here serves the messages
about them, and knows the names that nobody asks for.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from oslo_config import cfg, iniparser

from roost.settings.values import SettingsError

CONFIG_FOLDER_VARIABLE = "OS_PLACEMENT_CONFIG_DIR"
CONFIG_FOLDER_DEFAULT = "/etc/placement"

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
            if (given.section, given.option) in variables:
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
        raise SettingsError(f"no such configuration file: {path}") from None
    except OSError as error:
        raise SettingsError(
            f"the configuration file {path} cannot be read: {error.strerror}"
        ) from error
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


def _variables() -> Iterator[Given]:
    for variable, value in os.environ.items():
        match = _VARIABLE.fullmatch(variable)
        if match is not None:
            yield Given(match[1].lower(), match[2].lower(), value, variable)


def default_config_files() -> list[Path]:
    """`placement.conf` and the files of `placement.conf.d`, where there are any."""
    named = os.environ.get(CONFIG_FOLDER_VARIABLE)
    folder = Path(named or CONFIG_FOLDER_DEFAULT)
    try:
        if named and not folder.is_dir():
            # Without any file roost would go on with its defaults, on another database.
            raise SettingsError(f"{CONFIG_FOLDER_VARIABLE} is {named}, expected a folder")
        main = folder / "placement.conf"
        return [
            *([main] if main.is_file() else []),
            *sorted((folder / "placement.conf.d").glob("*.conf")),
        ]
    except OSError as error:
        raise SettingsError(f"the folder {folder} cannot be read: {error.strerror}") from error


def files_of_folder(folder: Path) -> list[Path]:
    """The files that `--config-dir` names, in the order in which they are read."""
    if not folder.is_dir():
        raise SettingsError(f"no such configuration folder: {folder}")
    return sorted(folder.glob("*.conf"))
