"""The `roost` command: its groups, shell completion, and how a failure ends it."""

import sys

import click
from click.shell_completion import get_completion_class

from roost import __version__
from roost.cli.agent import agent
from roost.cli.database import database
from roost.cli.output import BadInput, Failure
from roost.cli.queries import capacity, explain, tree
from roost.cli.serve import serve
from roost.cli.status import status

SHELLS = ("bash", "zsh", "fish")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roost")
def roost() -> None:
    """A placement service: where does this request fit?

    Exit code 0: done; 1: failed; 2: wrong usage or input. `roost status` and `roost db check` have
    codes of their own.

    \b
    Try it:
      roost serve                             # in one terminal
      roost agent run --driver linux --once   # in another: report this machine
      roost tree                              # and show it
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


roost.add_command(serve)
roost.add_command(database)
roost.add_command(tree)
roost.add_command(explain)
roost.add_command(capacity)
roost.add_command(agent)
roost.add_command(status)


def main() -> None:
    """Run the command. A failure is one line on stderr and an exit code."""
    try:
        # click itself ends wrong usage with exit code 2.
        roost(prog_name="roost")
    except Failure as failure:
        click.echo(f"roost: {failure}", err=True)
        sys.exit(failure.exit_code)
