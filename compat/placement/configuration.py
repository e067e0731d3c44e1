"""The settings of roost, read as Placement reads its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roost.settings import Settings, SettingsError, default_config_files, load_settings

FOLDER_NAME = "placement.conf.d"


class Source:
    """A `--config-file` or a `--config-dir` of a command line."""

    def __init__(self, text: str, *, is_folder: bool) -> None:
        self.path = Path(text)
        self.is_folder = is_folder

    def files(self) -> Sequence[Path]:
        if not self.is_folder:
            return [self.path]
        if not self.path.is_dir():
            raise SettingsError(f"no such configuration folder: {self.path}")
        return sorted(self.path.glob("*.conf"))


def read_settings(
    sources: Sequence[Source] = (), overrides: Mapping[tuple[str, str], Any] | None = None
) -> Settings:
    """The settings. As with Placement, there has to be a database in them.

    A given file is read instead of placement.conf, a given folder instead of placement.conf.d. The
    given ones are read in their order, and later ones win.
    """
    given = {source.is_folder for source in sources}
    settings = load_settings(
        default_files=[
            path
            for path in default_config_files()
            if (path.parent.name == FOLDER_NAME) not in given
        ],
        config_files=[path for source in sources for path in source.files()],
        overrides=overrides,
    )
    if settings.database.connection is None:
        # roost itself would use a SQLite file in the home folder, which no deployment wants.
        raise SettingsError("[placement_database]connection is not set; expected a database URL")
    return settings
