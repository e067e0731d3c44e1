"""How commands that ask a service reach it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from roost.cli.failure import BadInput, Failure

if TYPE_CHECKING:
    from roost.client import Auth, Client

URL_DEFAULT = "http://127.0.0.1:8778"

Command = TypeVar("Command", bound=Callable[..., Any])


def service_options(command: Command) -> Command:
    command = click.option(
        "--url",
        envvar="ROOST_URL",
        help=f"Where the service is. Default: as Keystone's catalogue says, or {URL_DEFAULT}.",
    )(command)
    return click.option(
        "--token",
        envvar="ROOST_TOKEN",
        help="A token for a service with noauth2, such as admin. Without it, and with OS_AUTH_URL "
        "in the environment, tokens come from Keystone (OS_USERNAME, OS_PASSWORD, "
        "OS_PROJECT_NAME, ...).",
    )(command)


@contextmanager
def open_client(url: str | None, token: str | None) -> Iterator["Client"]:
    """A client of the service; what goes wrong with it is one line."""
    from keystoneauth1.exceptions import ClientException

    from roost.client import BadRequest, Client, ClientError

    try:
        auth, catalogued = _authentication(token)
        with Client(url or catalogued or URL_DEFAULT, auth=auth) as client:
            yield client
    except BadRequest as error:
        raise BadInput(" ".join(str(error).split())) from error
    except (ClientError, ClientException) as error:
        raise Failure(" ".join(str(error).split())) from error


def _authentication(token: str | None) -> tuple["Auth", str | None]:
    """Who we are, and where the service is if Keystone knows."""
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
