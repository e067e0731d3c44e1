"""The `roost` command: its groups, shell completion, and how a failure ends it."""

import io
import os
import sys

import click
from click.shell_completion import get_completion_class

from roost.cli.agent.command import agent
from roost.cli.audit.command import audit
from roost.cli.commands.aggregate import aggregate
from roost.cli.commands.allocation import allocation
from roost.cli.commands.events import events
from roost.cli.commands.inventory import inventory
from roost.cli.commands.place import place
from roost.cli.commands.provider import provider
from roost.cli.commands.resource_class import resource_class
from roost.cli.commands.search import candidates, capacity, explain
from roost.cli.commands.summary import summary, usages
from roost.cli.commands.trait import trait
from roost.cli.database import database
from roost.cli.demo.command import demo
from roost.cli.output import BadInput, Failure, one_line
from roost.cli.serve import serve
from roost.cli.status import status
from roost.cli.tree.command import tree

SHELLS = ("bash", "zsh", "fish")

# The commands as `roost --help` lists them.
SECTIONS = {
    "The service": ("serve", "demo", "db", "status"),
    "The cloud": (
        *("tree", "summary", "usages"),
        *("provider", "inventory", "trait", "class", "aggregate"),
    ),
    "Requests": ("candidates", "explain", "capacity", "place", "allocation"),
    "Operation": ("events", "audit", "agent", "completion"),
}


class Program(click.Group):
    """A group whose help lists commands by what they are about."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        listed = [name for names in SECTIONS.values() for name in names if name in self.commands]
        return [*listed, *sorted({*self.commands} - {*listed})]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        room = formatter.width - 6 - width
        for title, names in SECTIONS.items():
            known = [(name, self.commands[name]) for name in names if name in self.commands]
            rows = [(name.ljust(width), each.get_short_help_str(room)) for name, each in known]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="roost", prog_name="roost")
def roost() -> None:
    """A placement service: where does this request fit?

    Exit code 0: done; 1: failed; 2: wrong usage or input; 3: the answer is no, of `roost place` and
    with --exit-code. `roost status`, `roost db check` and `roost audit` have codes of their own.

    \b
    Environment:
      ROOST_URL     the service, for commands that talk to one (--url)
      ROOST_TOKEN   a token for it (--token)
      OS_AUTH_URL and the other OS_* variables: a user of Keystone instead

    \b
    Try it:
      roost serve                             # in one terminal
      roost demo                              # in another: load a data centre
      roost tree                              # and show it
      roost agent run --driver linux --once   # or report this machine
    """


@roost.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    Install it with one of:
      roost completion bash > ~/.local/share/bash-completion/completions/roost
      roost completion zsh > "${fpath[1]}/_roost"
      roost completion fish > ~/.config/fish/completions/roost.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise BadInput(f"no completion for {shell}")
    click.echo(kind(roost, {}, "roost", "_ROOST_COMPLETE").source())


for command in (
    serve,
    demo,
    database,
    status,
    tree,
    summary,
    usages,
    provider,
    inventory,
    trait,
    resource_class,
    aggregate,
    candidates,
    explain,
    capacity,
    place,
    allocation,
    events,
    audit,
    agent,
):
    roost.add_command(command)


def main() -> None:
    """Run the command. A failure is one line on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show must not end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        # click itself ends wrong usage with exit code 2.
        roost(prog_name="roost")
    except Failure as failure:
        click.echo(f"roost: {failure}", err=True)
        sys.exit(failure.exit_code)
    except OSError as error:
        # What is printed goes to a disk that is full, for example.
        click.echo(f"roost: {one_line(error)}", err=True)
        _forget_output()
        sys.exit(1)


def _forget_output() -> None:
    """What stdout has not taken is lost. Otherwise Python tries again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
