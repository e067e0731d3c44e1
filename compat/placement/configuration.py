"""The settings of roost, read as Placement reads its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roost.settings import (
    Settings,
    SettingsError,
    default_config_files,
    files_of_folder,
    load_settings,
)


class Source:
    """A `--config-file` or a `--config-dir` of a command line."""

    def __init__(self, text: str, *, is_folder: bool) -> None:
        self.path = Path(text)
        self.is_folder = is_folder

    def files(self) -> Sequence[Path]:
        if not self.is_folder:
            return [self.path]
        return files_of_folder(self.path)


def read_settings(
    sources: Sequence[Source] = (), overrides: Mapping[tuple[str, str], Any] | None = None
) -> Settings:
    """The settings. As with Placement, there has to be a database in them.

    A given file is read instead of placement.conf, a given folder instead of placement.conf.d. The
    given ones are read in their order, and later ones win. With them, the folder that
    OS_PLACEMENT_CONFIG_DIR names need not exist.
    """
    given = {source.is_folder for source in sources}
    settings = load_settings(
        default_files=default_config_files(
            main=False not in given, drop_ins=True not in given, must_exist=not sources
        ),
        config_files=[path for source in sources for path in source.files()],
        overrides=overrides,
    )
    if settings.database.connection is None:
        # roost itself would use a SQLite file in the home folder, which no deployment wants.
        raise SettingsError("[placement_database]connection is not set; expected a database URL")
    return settings
