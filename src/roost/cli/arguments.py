"""Arguments of commands: what is checked at once, and what a shell completes."""

import re
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from roost.cli.output import BadInput, quoted
from roost.cli.provider_names import all_names
from roost.uuids import is_consumer_key

if TYPE_CHECKING:
    from roost.client import Client

# How long a shell waits for names.
COMPLETION_SECONDS_MAX = 1.0
# How many names a shell is given, and of how many providers.
COMPLETIONS_MAX = 300
COMPLETION_PROVIDERS_MAX = 20_000


class CompletedName(click.ParamType[str]):
    """A name that a shell completes by asking the service."""

    name = "text"

    def __init__(
        self,
        read: "Callable[[Client], Iterable[str]]",
        *,
        pattern: str = ".*",
        expected: str = "",
    ) -> None:
        self._read = read
        self._pattern = pattern
        self._expected = expected

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(self._pattern, value, re.DOTALL):
            raise BadInput(f"expected {self._expected}, not {quoted(value)}")
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        found = [each for each in self._names(ctx) if each.startswith(incomplete)]
        # A shell would print control characters as they are.
        names = sorted(filter(str.isprintable, found))
        return [CompletionItem(each) for each in names[:COMPLETIONS_MAX]]

    def _names(self, context: click.Context) -> list[str]:
        """The names that the service gives in time; none if it does not answer."""
        # Imported before the time begins: on a busy machine that takes longer than the request.
        import roost.cli.service_errors  # noqa: F401
        from roost.cli.options import open_client

        found: list[str] = []

        def read() -> None:
            try:
                with open_client(context.params.get("url"), context.params.get("token")) as client:
                    found.extend(self._read(client))
            except Exception:
                # A shell must not print errors while somebody types.
                found.clear()

        reading = threading.Thread(target=read, daemon=True)
        reading.start()
        reading.join(COMPLETION_SECONDS_MAX)
        return list(found)


def _provider_names(client: "Client") -> Iterable[str]:
    return (name for _, name in islice(all_names(client), COMPLETION_PROVIDERS_MAX))


def _aggregates(client: "Client") -> Iterable[str]:
    return client.summary(by=["aggregates"]).aggregates


def _traits(client: "Client") -> Iterable[str]:
    return client.traits()


def _resource_classes(client: "Client") -> Iterable[str]:
    return client.resource_classes()


# Names in a URL: nothing else may get into it.
_CATALOG_NAME = "[A-Z0-9_]{1,255}"
_CUSTOM_NAME = "CUSTOM_[A-Z0-9_]{1,248}"

PROVIDER = CompletedName(_provider_names)
AGGREGATE = CompletedName(_aggregates)
TRAIT = CompletedName(
    _traits, pattern=_CATALOG_NAME, expected="a trait such as CUSTOM_RACK_7 (A to Z, 0 to 9, _)"
)
# Also `!HW_X` and `in:HW_X,HW_Y`.
TRAIT_RULE = CompletedName(_traits)
RESOURCE_CLASS = CompletedName(
    _resource_classes,
    pattern=_CATALOG_NAME,
    expected="a resource class such as CUSTOM_LICENCE (A to Z, 0 to 9, _)",
)
# Those that can be created.
CUSTOM_TRAIT = CompletedName(
    _traits, pattern=_CUSTOM_NAME, expected="a custom trait such as CUSTOM_RACK_7"
)
CUSTOM_CLASS = CompletedName(
    _resource_classes, pattern=_CUSTOM_NAME, expected="a custom class such as CUSTOM_LICENCE"
)


class ConsumerUuid(click.ParamType[str]):
    """The UUID of a consumer."""

    name = "uuid"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_consumer_key(value):
            raise BadInput(f"expected the UUID of a consumer, not {quoted(value)}")
        return value


CONSUMER = ConsumerUuid()


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Age(click.ParamType[timedelta]):
    """How long ago: a number and a unit, such as 30m, 12h, 7d or 2w."""

    name = "age"

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        if isinstance(value, timedelta):
            return value
        match = re.fullmatch(r"([0-9]{1,6})([smhdw])", value)
        if match is None:
            raise BadInput(f"expected an age such as 30m, 12h, 7d or 2w, not {quoted(value)}")
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


AGE = Age()


def provider_argument(**settings: Any) -> Callable[..., Any]:
    return click.argument("provider", type=PROVIDER, **settings)
