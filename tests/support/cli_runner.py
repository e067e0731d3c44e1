"""The command line as a user runs it, against a service."""

import os
import subprocess

from tests.support.roost_server import command


def roost(*arguments: str, url: str = "", status: int = 0) -> str:
    """What the command prints; on stderr if it fails."""
    done = subprocess.run(
        command(*arguments),
        env={**os.environ, "ROOST_URL": url, "ROOST_TOKEN": "admin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if status == 0 else done.stderr
