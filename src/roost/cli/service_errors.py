"""What the command line says if it cannot use a service: one line, with what to do about it."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from roost.cli.output import BadInput, Failure, one_line
from roost.client import (
    ApiError,
    BadRequest,
    ClientError,
    Forbidden,
    InvalidRequest,
    NotFound,
    NotUnderstood,
    Unauthorized,
    Unreachable,
)

NAME_ANOTHER = "name another with --url or ROOST_URL"

_NO_ROUTE = "The resource could not be found."

# The reason of the operating system, within whatever libraries say around it.
_SYSTEM_REASON = re.compile(r"\[Errno -?\d+\] ([^'\")]+)")


def check_url(url: str) -> None:
    """Refuse an address that is none, before anything is sent."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or " " in url:
        raise BadInput(
            f"--url {url!r}: expected http://HOST:PORT or https://HOST, such as "
            "http://127.0.0.1:8778"
        )


@contextmanager
def keystone_failures() -> Iterator[None]:
    """Errors of Keystone end the command with one line."""
    try:
        yield
    except Failure:
        raise
    except ClientError as error:
        raise _keystone_failure(error.__cause__ or error) from error
    except Exception as error:
        if not _is_of_keystone(error):
            raise
        raise _keystone_failure(error) from error


# keystoneauth1 is imported where it is needed: most commands ask no Keystone, and start sooner.


def _is_of_keystone(error: BaseException | None) -> bool:
    from keystoneauth1.exceptions import ClientException

    return isinstance(error, ClientException)


def _keystone_failure(error: BaseException) -> Failure:
    from keystoneauth1.exceptions import ConnectionError, DiscoveryFailure
    from keystoneauth1.exceptions import Unauthorized as KeystoneRefusal

    keystone = f"Keystone at {os.environ.get('OS_AUTH_URL')}"
    match error:
        case KeystoneRefusal():
            user = os.environ.get("OS_USERNAME") or os.environ.get("OS_USER_ID", "")
            return Failure(
                f"{keystone} refuses the user {user!r} (401): check OS_USERNAME, OS_PASSWORD, "
                "OS_PROJECT_NAME and the domains"
            )
        case ConnectionError() | DiscoveryFailure():
            return Failure(f"no {keystone} ({_reason(error)}): check OS_AUTH_URL")
        case _:
            return Failure(f"{keystone}: {one_line(str(error))}")


@contextmanager
def service_failures(url: str, *, uses_keystone: bool) -> Iterator[None]:
    """Errors of the service end the command with one line."""
    try:
        yield
    except ClientError as error:
        if uses_keystone and _is_of_keystone(error.__cause__):
            # Keystone gave no token: `keystone_failures` says why.
            raise
        raise _failure(error, url, uses_keystone=uses_keystone) from error


def _failure(error: ClientError, url: str, *, uses_keystone: bool) -> Failure:
    match error:
        case Unreachable(sent=False):
            reason = _reason(error.__cause__ or error)
            if "WRONG_VERSION_NUMBER" in reason:
                return Failure(
                    f"{url} does not speak TLS: write http:// for https://, or {NAME_ANOTHER}"
                )
            return Failure(
                f"no service at {url} ({reason}): start one with `roost serve`, or {NAME_ANOTHER}"
            )
        case Unreachable():
            reason = _reason(error.__cause__ or error)
            return Failure(f"no answer from {url} ({reason}): try again, or {NAME_ANOTHER}")
        case NotUnderstood():
            return Failure(f"{url} is not a placement service ({error}): {NAME_ANOTHER}")
        case ApiError() if _is_elsewhere(error):
            return Failure(
                f"{url} is not a placement service (it answers {error.status}): {NAME_ANOTHER}"
            )
        case InvalidRequest():
            return BadInput(one_line(error))
        case BadRequest():
            return BadInput(one_line(error.detail))
        case Unauthorized() if uses_keystone:
            return Failure(
                f"{url} refuses the token of Keystone (401): does it use the Keystone at "
                "OS_AUTH_URL?"
            )
        case Unauthorized():
            return Failure(
                f"{url} refuses the token (401): set OS_AUTH_URL, OS_USERNAME, OS_PASSWORD and "
                "OS_PROJECT_NAME, or give a token of Keystone with --token or ROOST_TOKEN"
            )
        case Forbidden():
            why = one_line(error.detail).rstrip(".")
            return Failure(
                f"{url} does not allow this (403): {why}; use a user, project or token with "
                "another role"
            )
    return Failure(one_line(error))


def _is_elsewhere(error: ApiError) -> bool:
    """Whether no placement service answers at this path."""
    if error.detail.lstrip().startswith("<"):
        # A page for people: no placement service has any.
        return error.status < 500
    # Without a word on what is missing: there is no such route. Perhaps the prefix is another.
    return isinstance(error, NotFound) and error.detail == _NO_ROUTE


def _reason(error: BaseException) -> str:
    text = one_line(error)
    found = _SYSTEM_REASON.search(text)
    reason = (found[1] if found else text).strip().rstrip(".") or type(error).__name__
    return reason[0].lower() + reason[1:]
