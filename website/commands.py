"""The page of the command line, made from click."""

import re
from collections.abc import Iterator

import click

from roost.cli.main import roost
from website.markdown import code, span, table

_EXAMPLES = "Examples:"
# What every command has is said once.
_HELP = "help"


PAGE = "reference/commands.md"


def pages() -> Iterator[tuple[str, str]]:
    yield PAGE, "\n".join(_page())


def _page() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "Every command with its arguments and options, as `--help` (or `-h`) shows them. [The"
    yield "command line](command-line.md) says what they have in common: how they find the service,"
    yield "how requests are written, exit codes."
    yield ""
    context = click.Context(roost, info_name="roost")
    yield from table(["command", ""], _summaries(context, roost))
    for name in roost.list_commands(context):
        yield from _command(roost.commands[name], context, name, 2)


def _summaries(context: click.Context, group: click.Group) -> Iterator[list[str]]:
    for name in group.list_commands(context):
        command = group.commands[name]
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _summaries(inner, command)
        else:
            path = inner.command_path
            yield [f"[`{path}`](#{_anchor(path)})", command.get_short_help_str(limit=200)]


def _command(command: click.Command, parent: click.Context, name: str, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    yield f"{'#' * level} {context.command_path} {{#{_anchor(context.command_path)}}}"
    yield ""
    yield from _help(command)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _command(command.commands[below], context, below, level + 1)
        return
    pieces = command.collect_usage_pieces(context)
    yield from code(" ".join([context.command_path, *pieces]))
    options = [each for each in command.params if isinstance(each, click.Option)]
    rows = [_row(each, context) for each in options if each.name != _HELP and not each.hidden]
    yield from table(["option", "", "meaning"], rows)


def _help(command: click.Command) -> Iterator[str]:
    """The help as Markdown: `\\b` begins a paragraph whose lines stay as they are."""
    paragraphs = (command.help or "").split("\n\n")
    for paragraph in paragraphs:
        text = paragraph.strip("\n")
        if text.startswith("\b"):
            lines = text.removeprefix("\b").strip("\n").splitlines()
            if lines[0] == _EXAMPLES:
                yield from ["Examples:", ""]
                lines = lines[1:]
            yield from code("\n".join(line.removeprefix("  ") for line in lines), "console")
        else:
            yield _escape(" ".join(text.split()))
            yield ""


def _row(option: click.Option, context: click.Context) -> list[str]:
    _, meaning = option.get_help_record(context) or ("", "")
    names = ", ".join(map(span, [*option.opts, *option.secondary_opts]))
    kind = "" if option.is_flag else span(option.make_metavar(context))
    return [names, kind, _escape(" ".join(meaning.split()))]


def _escape(text: str) -> str:
    """The text with the letters that Markdown would read, outside of its code."""
    parts = text.split("`")
    return "`".join(
        part if place % 2 else re.sub(r"[\\*_<\[]", r"\\\g<0>", part)
        for place, part in enumerate(parts)
    )


def _anchor(path: str) -> str:
    return path.replace(" ", "-")
