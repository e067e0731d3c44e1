"""What the reference is made of is complete: everything that exists describes itself."""

import click
import pytest

from roost.api.http.error_table import ERROR_TABLE
from roost.api.http_error import ERROR_HELP, ErrorCode
from roost.api.probes import OPEN_ROUTES
from roost.api.routes import ROUTES
from roost.cli.main import roost as program
from roost.observe import metrics
from roost.settings import OPTIONS
from website import catalog, client, commands, http_api


@pytest.mark.parametrize("code", sorted(ErrorCode))
def test_every_error_code_has_cause_and_remedy(code: ErrorCode) -> None:
    found = ERROR_HELP[code]
    for text in (found.cause, found.remedy):
        assert text[0].isupper() or text.startswith("`")
        assert text.endswith(".")


def test_error_codes_have_the_status_that_errors_have() -> None:
    for entry in ERROR_TABLE.values():
        assert ERROR_HELP[entry.code].status in (None, entry.status), entry


@pytest.mark.parametrize(
    "option",
    [each for options in OPTIONS.values() for each in options],
    ids=lambda option: option.name,
)
def test_every_option_says_what_it_does(option: object) -> None:
    assert (getattr(option, "help", None) or "").endswith(".")


@pytest.mark.parametrize("family", list(metrics.REGISTRY.collect()), ids=lambda family: family.name)
def test_every_metric_says_what_it_counts(family: object) -> None:
    assert getattr(family, "documentation", "").endswith(".")


def all_commands(group: click.Group, path: str) -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name, command in group.commands.items():
        found.append((f"{path} {name}", command))
        if isinstance(command, click.Group):
            found += all_commands(command, f"{path} {name}")
    return found


COMMANDS = dict(all_commands(program, "roost"))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_has_a_help(path: str) -> None:
    command = COMMANDS[path]
    assert command.help
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert [each.name for each in options if not each.hidden and not each.help] == []


class TestPages:
    """They contain what the code has."""

    def test_every_route_is_there_with_an_example(self) -> None:
        text = "".join(page for _, page in http_api.pages())
        sections = {part.partition(" {#")[0]: part for part in text.split("\n## ")}
        for route in (*ROUTES, *OPEN_ROUTES):
            section = sections[f"{getattr(route, 'method', 'GET')} {route.path}"]
            assert "**Example.**" in section
            assert "HTTP/1.1 20" in section

    def test_every_error_code_is_there(self) -> None:
        page = dict(catalog.pages())["reference/error-codes.md"]
        for code in ErrorCode:
            assert f"\n## {code}\n" in page

    def test_every_option_is_there(self) -> None:
        page = dict(catalog.pages())["reference/options.md"]
        for section, options in OPTIONS.items():
            assert f"\n## {section}\n" in page
            for option in options:
                assert f"\n| `{option.name}` |" in page

    def test_every_metric_is_there(self) -> None:
        page = dict(catalog.pages())["reference/metrics.md"]
        for family in metrics.REGISTRY.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            assert f"\n| `{name}` | {family.type} |" in page
        assert "\n| `roost_http_requests_total` | counter | route, method, status |" in page
        assert page.count("\n| `roost_summary_") == 13

    def test_every_command_is_there(self) -> None:
        page = dict(commands.pages())["reference/commands.md"]
        for path in COMMANDS:
            assert f"# {path} {{#" in page
        assert "| `--url` | `TEXT` |" in page

    def test_every_class_of_the_client_is_there_once(self) -> None:
        import roost.client

        page = dict(client.pages())["reference/client-classes.md"]
        for name in roost.client.__all__:
            assert page.count(f"\n::: roost.client.{name}\n") == 1, name
