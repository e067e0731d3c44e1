"""Runs the `openstack` command many times in one process, because it takes long to start.

Reads command lines as JSON lists, and answers each with [exit code, output, errors]. It has a
process to itself, since the command changes the configuration of logging.
"""

import contextlib
import io
import json
import sys

from openstackclient.shell import main


def run(arguments: list[str]) -> tuple[int, str, str]:
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            code = main(arguments)
        except SystemExit as end:
            # The argument parser refused the command line.
            code = int(end.code or 0)
    return code, output.getvalue(), errors.getvalue()


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
