"""Runs commands of Placement, or of roost-placement, many times in one process.

Reads a module of `placement.cmd` and its arguments as a JSON list, and answers each with
[exit code, output, errors]. Which of the two it runs depends on the environment of its Python.
"""

import contextlib
import importlib
import io
import json
import sys
import traceback


def run(name: str, arguments: list[str]) -> tuple[int, str, str]:
    module = importlib.import_module(f"placement.cmd.{name}")
    sys.argv = [f"placement-{name}", *arguments]
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            code = module.main()
        except SystemExit as end:
            code = end.code
        except Exception:
            # What the interpreter does.
            traceback.print_exc()
            code = 1
    return int(code or 0), output.getvalue(), errors.getvalue()


if __name__ == "__main__":
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(run(name, arguments)), flush=True)
