"""The `roost` command."""

import sys

import click
from click.shell_completion import get_completion_class

from roost import __version__
from roost.cli.agent import agent
from roost.cli.database import database
from roost.cli.explain import capacity, explain
from roost.cli.failure import BadInput, Failure
from roost.cli.serve import serve
from roost.cli.status import status
from roost.cli.tree import tree

SHELLS = ("bash", "zsh", "fish")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roost")
def roost() -> None:
    """A placement service: where does this request fit?"""


@roost.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes SHELL complete `roost`.

    \b
    bash:  roost completion bash > ~/.local/share/bash-completion/completions/roost
    zsh:   roost completion zsh > "${fpath[1]}/_roost"
    fish:  roost completion fish > ~/.config/fish/completions/roost.fish
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
    """Run the command; what cannot be done is one line on stderr and an exit code."""
    try:
        # Bad usage ends here with exit code 2, as click does it.
        roost(prog_name="roost")
    except Failure as failure:
        click.echo(f"roost: {failure}", err=True)
        sys.exit(failure.exit_code)
