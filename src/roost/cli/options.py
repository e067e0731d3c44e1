"""Options that several commands take, and what they lead to: settings, and a client."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from roost.cli.output import BadInput, Failure, one_line

if TYPE_CHECKING:
    from roost.client import Auth, Client
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
        help=f"The service. Default: its endpoint in Keystone's catalogue, or {URL_DEFAULT}.",
    )(command)
    return click.option(
        "--token",
        envvar="ROOST_TOKEN",
        show_envvar=True,
        help="A token for a service with noauth2, such as admin. Without this option, tokens come "
        "from Keystone if OS_AUTH_URL is set (with OS_USERNAME, OS_PASSWORD, OS_PROJECT_NAME, "
        "...).",
    )(command)


@contextmanager
def open_client(url: str | None, token: str | None) -> Iterator["Client"]:
    """A client of the service. Its errors end the command with one line."""
    from keystoneauth1.exceptions import ClientException

    from roost.client import BadRequest, Client, ClientError

    try:
        auth, endpoint = _authentication(token)
        with Client(url or endpoint or URL_DEFAULT, auth=auth) as client:
            yield client
    except BadRequest as error:
        raise BadInput(one_line(error)) from error
    except (ClientError, ClientException) as error:
        raise Failure(one_line(error)) from error


def _authentication(token: str | None) -> tuple["Auth", str | None]:
    """How to authenticate, and the endpoint of the service if Keystone knows it."""
    from roost.client import KeystoneAuth, NoAuth

    environment = os.environ
    if token is not None or "OS_AUTH_URL" not in environment:
        return NoAuth(token or "admin"), None
    try:
        auth = KeystoneAuth.password(
            environment["OS_AUTH_URL"],
            username=environment["OS_USERNAME"],
            password=environment["OS_PASSWORD"],
            project_name=environment["OS_PROJECT_NAME"],
            user_domain_name=environment.get("OS_USER_DOMAIN_NAME", "Default"),
            project_domain_name=environment.get("OS_PROJECT_DOMAIN_NAME", "Default"),
        )
    except KeyError as error:
        raise BadInput(f"OS_AUTH_URL is set, and {error.args[0]} is not") from None
    region = environment.get("OS_REGION_NAME")
    return auth, auth.endpoint(region=region, interface=environment.get("OS_INTERFACE", "public"))
