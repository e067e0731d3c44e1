"""Values that cannot be used: each is one line with section, option, value and what is expected."""

import math
from collections.abc import Iterable, Mapping, Sequence

from oslo_config import cfg, types

from roost.settings.sources import Sources
from roost.settings.values import SettingsError

HIDDEN = "***"
# Of a value that is shown, in characters.
SHOWN_MAX = 100


def bad_value(
    section: str, option: str, value: str, expected: str, place: str | None = None
) -> SettingsError:
    """The error for one value. `place` is the file or the variable that has it."""
    shown = " ".join(value.split())
    if len(shown) > SHOWN_MAX:
        shown = f"{shown[:SHOWN_MAX]}..."
    where = f" (in {place})" if place else ""
    return SettingsError(f"[{section}]{option} = {shown}: expected {expected}{where}")


def check_values(
    configuration: cfg.ConfigOpts, options: Mapping[str, Sequence[cfg.Opt]], sources: Sources
) -> None:
    """Raise `SettingsError` for the first of these options whose value cannot be used."""
    for section, some in options.items():
        for option in some:
            values = configuration if section == "DEFAULT" else configuration[section]
            try:
                value = values[option.dest]
            except (cfg.Error, ValueError) as error:
                raise _as_written(section, option, sources) from error
            # oslo.config takes `nan` and `inf` for numbers, and `nan` is within all bounds.
            if isinstance(value, float) and not math.isfinite(value):
                raise _as_written(section, option, sources)


def _as_written(section: str, option: cfg.Opt, sources: Sources) -> SettingsError:
    given = sources.find(section, names_of(option))
    value, place = (given.value, given.place) if given else ("", None)
    expected = expectation(option)
    if "$" in value:
        expected += "; $ begins the name of another option, and $$ is a dollar sign"
    return bad_value(section, option.name, HIDDEN if option.secret else value, expected, place)


def names_of(option: cfg.Opt) -> list[str]:
    """All names under which a file may set this option."""
    former = [each.name for each in option.deprecated_opts if each.name]
    names = [option.dest, option.name, *former, *(name.replace("-", "_") for name in former)]
    return list(dict.fromkeys(names))


def expectation(option: cfg.Opt) -> str:
    """What this option takes, as the end of a sentence with "expected"."""
    return _expectation(option.type)


def _expectation(kind: object) -> str:
    match kind:
        case types.Boolean():
            return "true or false"
        case types.Port():
            return f"a port{_bounds(kind.min, kind.max)}"
        case types.Integer():
            return f"an integer{_bounds(kind.min, kind.max)}"
        case types.Float() | types.Number():
            return f"a number{_bounds(kind.min, kind.max)}"
        case types.List():
            return f"a list with commas, each {_expectation(kind.item_type)}"
        case types.Dict():
            return "name:value pairs with commas"
        case types.URI():
            return "a URL"
        case types.IPAddress():
            return "an IP address"
        case types.HostAddress() | types.HostDomain() | types.Hostname():
            return "the name or address of a host"
        case types.String() if kind.choices:
            return f"one of {_list(kind.choices)}"
        case types.String() if kind.max_length:
            return f"a text of at most {kind.max_length} characters"
        case _:
            return "a text"


def _bounds(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f", at least {least}"
    return f", at most {most}" if most is not None else ""


def _list(choices: Iterable[object]) -> str:
    # oslo.config also takes pairs of a choice and its description.
    names = [each[0] if isinstance(each, tuple) else each for each in choices]
    return ", ".join(str(name) or "nothing" for name in names)
