"""Configuration, under the section and option names that existing deployments use.

Sources, the later ones win: built-in defaults, `placement.conf` and `placement.conf.d/*.conf` in
the folder that OS_PLACEMENT_CONFIG_DIR names (/etc/placement if unset), files given on the command
line, variables `OS_<GROUP>__<OPTION>`, options given on the command line. oslo.config ends here:
everything else sees a frozen `Settings`.

values.py      `Settings`: everything that can be configured, once, at start
options.py     the options of roost itself
sources.py     the files and variables as they are written
loading.py     reads every source into `Settings`
bad_values.py  the line that says what is wrong with a value, and what is expected
libraries.py   the options of the libraries that read the same files
names.py       options and sections that nobody knows, or that have no effect
"""

from roost.settings.bad_values import bad_value
from roost.settings.loading import Values, library_configuration, load_settings
from roost.settings.options import DATABASE, OPTIONS, list_opts
from roost.settings.sources import default_config_files, files_of_folder
from roost.settings.values import (
    DatabaseSettings,
    Settings,
    SettingsError,
    embedded_database_path,
    embedded_database_url,
)

__all__ = [
    "DATABASE",
    "OPTIONS",
    "DatabaseSettings",
    "Settings",
    "SettingsError",
    "Values",
    "bad_value",
    "default_config_files",
    "embedded_database_path",
    "embedded_database_url",
    "files_of_folder",
    "library_configuration",
    "list_opts",
    "load_settings",
]
