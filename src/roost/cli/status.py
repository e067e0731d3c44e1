"""`roost status`: whether roost can work here, and keep its promises."""

from pathlib import Path

import click

from roost.cli.options import config_file_option, database_option

# OpenStack's exit code for what no check expected.
UNEXPECTED = 255


@click.command()
@click.argument("words", nargs=-1, metavar="[upgrade check]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@database_option
@config_file_option
def status(
    words: tuple[str, ...], as_json: bool, database: str | None, config_files: tuple[Path, ...]
) -> None:
    """Check configuration, tables and database server.

    The words `upgrade check` may follow, as after placement-status.

    Exit code 0: all is well; 1: there are warnings; 2: something fails, or wrong usage;
    255: the checks themselves could not be made.
    """
    from roost.cli.configuration import read_settings
    from roost.cli.failure import Failure
    from roost.cli.status_report import report

    if words not in ((), ("upgrade", "check")):
        raise click.UsageError(f"no such check: {' '.join(words)}")
    try:
        raise SystemExit(report(read_settings(config_files, database), as_json=as_json))
    except Failure as failure:
        raise Failure(str(failure), exit_code=UNEXPECTED) from failure
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise Failure(f"{type(error).__name__}: {reason}", exit_code=UNEXPECTED) from error
