"""Options that several commands take, and what they lead to: settings, and a client."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from roost.cli.output import BadInput

if TYPE_CHECKING:
    from roost.client import Client
    from roost.settings import Settings, Values

URL_DEFAULT = "http://127.0.0.1:8778"

Command = TypeVar("Command", bound=Callable[..., Any])


# ---------------------------------------------------------------------------------------------
# Commands that work on a database


def config_file_option(command: Command) -> Command:
    """Adds --config-file and --config-dir. The command gets all files, as `config_files`."""

    @functools.wraps(command)
    def with_all_files(
        *arguments: Any,
        config_files: tuple[Path, ...],
        config_folders: tuple[Path, ...],
        **named: Any,
    ) -> Any:
        files = _all_files(config_files, config_folders)
        return command(*arguments, config_files=files, **named)

    wrapped = click.option(
        "--config-dir",
        "config_folders",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        multiple=True,
        help="A folder whose *.conf files are read last, in the order of their names. May be "
        "repeated.",
    )(with_all_files)
    wrapped = click.option(
        "--config-file",
        "config_files",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        multiple=True,
        help="A configuration file, read after placement.conf. May be repeated.",
    )(wrapped)
    return cast(Command, wrapped)


def _all_files(files: tuple[Path, ...], folders: tuple[Path, ...]) -> tuple[Path, ...]:
    from roost.settings import SettingsError, default_config_files, files_of_folder

    try:
        found = [path for folder in folders for path in files_of_folder(folder)]
        if folders and not files and not found and not default_config_files():
            # Somebody meant to configure roost, so its defaults are not what they want.
            raise BadInput(f"no *.conf file in {', '.join(map(str, folders))}")
    except SettingsError as error:
        raise BadInput(str(error)) from error
    return (*files, *found)


def database_option(command: Command) -> Command:
    return click.option(
        "--database",
        metavar="URL",
        help="The database, such as postgresql://roost:secret@db/roost. "
        "Default: the configured one, or an embedded SQLite file.",
    )(command)


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(
        command
    )


def read_settings(
    config_files: tuple[Path, ...], database: str | None = None, given: "Values | None" = None
) -> "Settings":
    """The settings, overridden by the command line; None in `given` overrides nothing."""
    from roost.settings import SettingsError, default_config_files, load_settings

    given = {("placement_database", "connection"): database, **(given or {})}
    try:
        # A user without any configuration is trying roost out, and needs no authentication. A
        # deployment that is configured, but does not say how to authenticate, must never be open.
        configured = bool(config_files or default_config_files())
        return load_settings(
            config_files=config_files,
            overrides={name: value for name, value in given.items() if value is not None},
            defaults={} if configured else {("api", "auth_strategy"): "noauth2"},
        )
    except SettingsError as error:
        raise BadInput(str(error)) from error


# ---------------------------------------------------------------------------------------------
# Commands that talk to a service


def service_options(command: Command) -> Command:
    command = click.option(
        "--url",
        envvar="ROOST_URL",
        show_envvar=True,
        help=f"The service. Default: its endpoint in Keystone's catalogue, if OS_AUTH_URL is set; "
        f"otherwise {URL_DEFAULT}.",
    )(command)
    return click.option(
        "--token",
        envvar="ROOST_TOKEN",
        show_envvar=True,
        help="A token. Default: one of Keystone, if OS_AUTH_URL is set (with OS_USERNAME, "
        "OS_PASSWORD, OS_PROJECT_NAME, ...); otherwise admin, for a service with noauth2.",
    )(command)


@contextmanager
def open_client(
    url: str | None, token: str | None, *, timeout: float | None = None
) -> Iterator["Client"]:
    """A client of the service. Its errors end the command with one line.

    `timeout` is how many seconds to wait for an answer, if not as long as the client does.
    """
    from roost.cli.authentication import authenticate
    from roost.cli.service_errors import check_url, keystone_failures, service_failures
    from roost.client import Client
    from roost.client.exchange import TIMEOUT_SECONDS

    if url:
        check_url(url)
    with keystone_failures():
        found = authenticate(token, find_service=not url)
        address = url or found.service_url or URL_DEFAULT
        with (
            service_failures(address, uses_keystone=found.uses_keystone),
            Client(address, auth=found.auth, timeout=timeout or TIMEOUT_SECONDS) as client,
        ):
            yield client
