"""The settings that a command works with."""

from pathlib import Path

from roost.cli.failure import BadInput
from roost.settings import Settings, SettingsError, Values, default_config_files, load_settings


def read_settings(
    config_files: tuple[Path, ...], database: str | None = None, given: Values | None = None
) -> Settings:
    """The settings, with what the command line says on top; None is not said."""
    given = {("placement_database", "connection"): database, **(given or {})}
    # Somebody who has configured nothing tries roost out. Somebody who has, and has not said how
    # to authenticate, must never get a service without authentication.
    configured = bool(config_files or default_config_files())
    try:
        return load_settings(
            config_files=config_files,
            overrides={name: value for name, value in given.items() if value is not None},
            defaults={} if configured else {("api", "auth_strategy"): "noauth2"},
        )
    except SettingsError as error:
        raise BadInput(str(error)) from error
